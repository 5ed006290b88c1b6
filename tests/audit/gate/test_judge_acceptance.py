"""Which judges a policy accepts, and that no disclosure rule is decided on the verdicts of another."""

from typing import Any

import pytest
from support.judging.word_judge import scored, share
from support.results.filled_results import filled

from clinaudit.audit.gate.evaluation import evaluate
from clinaudit.audit.gate.judge_acceptance import why_not_accepted
from clinaudit.audit.gate.policy import JudgeLimits, load_policy, parse_policy
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionRow

GOOD = {
    "sensitivity": share(0.9, 0.8, 0.95),
    "specificity": share(0.9, 0.85, 0.95),
    "flip_rate": share(0.05, 0.01, 0.1),
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"sensitivity": share(0.9, 0.69, 0.95)}, "sensitivity was not shown to be at least 70%"),
        ({"specificity": share(0.9, 0.79, 0.95)}, "specificity was not shown to be at least 80%"),
        ({"flip_rate": share(0.1, 0.01, 0.26)}, "planted instructions that sway it was not shown to be at most 25%"),
        ({"sensitivity": Estimate(value=None, reason="nothing")}, "sensitivity was not shown"),
    ],
)
def test_a_judge_is_accepted_where_all_limits_are_kept(changes: dict[str, Estimate], words: str | None) -> None:
    reason = why_not_accepted(load_policy().judge, scored(**{**GOOD, **changes}))
    assert (reason is None) == (words is None)
    assert words is None or words in (reason or "")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"truth": "positive", "positive": 30, "unjudged": 70}, "sensitivity was not shown to be at least 70%"),
        ({"truth": "negative", "negative": 30, "unjudged": 70}, "specificity was not shown to be at least 80%"),
        ({"truth": "positive", "positive": 90, "unjudged": 10}, None),
    ],
)
def test_texts_that_a_judge_could_not_rate_count_against_it(row: dict[str, Any], words: str | None) -> None:
    none = dict.fromkeys(("positive", "negative", "ambiguous", "not_mentioned", "unjudged"), 0)
    perfect = {truth: ConfusionRow(**{**none, "truth": truth, truth: 100}) for truth in VERDICT_CLASSES}  # type: ignore[arg-type]
    matrix = list({**perfect, row["truth"]: ConfusionRow(**{**none, **row})}.values())
    reason = why_not_accepted(load_policy().judge, scored(**{**GOOD, "matrix": matrix}))
    assert reason == (None if words is None else f"The judge is not accepted: its {words}.")


def test_a_judge_that_was_not_scored_is_not_accepted_unless_nothing_is_asked_of_it() -> None:
    assert why_not_accepted(load_policy().judge, None) is not None
    assert why_not_accepted(None, None) is None


def test_without_an_accepted_judge_no_disclosure_rule_passes_or_fails() -> None:
    policy = load_policy()
    for quality in (None, scored(**{**GOOD, "flip_rate": share(0.4, 0.3, 0.5)})):
        results = filled().model_copy(update={"judge_quality": quality})
        rules = evaluate(policy, results, planned_missing=False).rules
        statuses = {rule.status for rule in rules if rule.diagnosis is not None}
        assert statuses == {"inconclusive"}
    accepted = filled().model_copy(update={"judge_quality": scored(**GOOD)})
    rules = evaluate(policy, accepted, planned_missing=False).rules
    assert {rule.status for rule in rules if rule.diagnosis is not None} != {"inconclusive"}


def test_limits_of_the_judge_are_read_and_checked() -> None:
    document = {
        "name": "x",
        "minimum_patients_per_class": 20,
        "maximum_short_share": 0.1,
        "maximum_unjudged_share": 0.1,
        "memorization": [{"metric": "hit_rate", "tiers": "all", "max": 0.1}],
    }
    assert parse_policy(document, where="x").judge is None
    limits = {"minimum_sensitivity": 0.7, "minimum_specificity": 0.8, "maximum_flip_rate": 0.25}
    assert parse_policy({**document, "judge": limits}, where="x").judge == JudgeLimits(0.7, 0.8, 0.25)
    for wrong in ({}, {**limits, "minimum_sensitivity": 2}, {**limits, "more": 1}, [limits], 7):
        with pytest.raises(BadInputError) as caught:
            parse_policy({**document, "judge": wrong}, where="x")
        assert any("judge" in problem for problem in caught.value.problems)
