"""Which judges a policy accepts, and that no disclosure rule is decided on the verdicts of another."""

from typing import Any

import pytest
from support.results.decided_results import POLICY, Compared, Run, changed, decide
from support.results.published_people import judge_quality

from clinaudit.audit.results.gate.policy import JudgeLimits, load_policy, parse_policy
from clinaudit.audit.results.gate.reasons import JUDGE_NOT_MEASURED
from clinaudit.audit.results.gate.sufficiency import least_sensitivity_and_specificity, why_not_accepted
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionResults, JudgeResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange


def share(low: float, high: float) -> EstimateRange:
    return EstimateRange(value=None, low=low, high=high, confidence_low=low, confidence_high=high)


GOOD = {"sensitivity": share(0.8, 0.95), "specificity": share(0.85, 0.95), "flip_rate": share(0.01, 0.1)}


def scored(**changes: Any) -> JudgeResults:
    return judge_quality(("hiv",)).model_copy(update={**GOOD, **changes})


def matrix(row: dict[str, int | CountRange], truth: str) -> list[ConfusionResults]:
    """A judge that reads every text right, but for the row of one truth."""
    counts = {name: CountRange(low=n, high=n) if isinstance(n, int) else n for name, n in row.items()}
    none = dict.fromkeys((*VERDICT_CLASSES, "unjudged"), NOBODY)
    rows = {name: {**none, name: CountRange(low=100, high=100)} for name in VERDICT_CLASSES}
    rows[truth] = {**none, **counts}  # type: ignore[index]
    return [ConfusionResults.model_validate({"truth": name, **cells}) for name, cells in rows.items()]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"sensitivity": share(0.69, 0.95)}, "sensitivity was not shown to be at least 70%"),
        ({"specificity": share(0.79, 0.95)}, "specificity was not shown to be at least 80%"),
        ({"flip_rate": share(0.01, 0.26)}, "planted instructions that sway it was not shown to be at most 25%"),
        ({"sensitivity": EstimateRange(reason="nothing")}, "sensitivity was not shown"),
    ],
)
def test_a_judge_is_accepted_where_all_limits_are_kept(changes: dict[str, Any], words: str | None) -> None:
    reason = why_not_accepted(load_policy().judge, scored(**changes))
    assert (reason is None) == (words is None)
    assert words is None or words in (reason or "")


@pytest.mark.parametrize(
    ("truth", "row", "words"),
    [
        ("positive", {"positive": 30, "unjudged": 70}, "sensitivity was not shown to be at least 70%"),
        ("negative", {"negative": 30, "unjudged": 70}, "specificity was not shown to be at least 80%"),
        ("positive", {"positive": 90, "unjudged": 10}, None),
    ],
)
def test_texts_that_a_judge_could_not_rate_count_against_it(truth: str, row: dict[str, int], words: str | None) -> None:
    reason = why_not_accepted(load_policy().judge, scored(matrix=matrix(dict(row), truth)))
    assert reason == (None if words is None else f"The judge is not accepted: its {words}.")


def test_of_a_sites_texts_the_worst_counts_within_the_classes_are_taken() -> None:
    classes = {"positive": CountRange(low=81, high=90), "unjudged": CountRange(low=1, high=10)}
    sensitivity, _ = least_sensitivity_and_specificity(scored(matrix=matrix(classes, "positive")))
    assert sensitivity == wilson(81, 91).low


def test_a_judge_that_was_not_scored_is_not_accepted_unless_nothing_is_asked_of_it() -> None:
    assert why_not_accepted(load_policy().judge, None) == JUDGE_NOT_MEASURED
    assert why_not_accepted(None, None) is None


def test_without_an_accepted_judge_no_disclosure_rule_passes_or_fails() -> None:
    policy = load_policy()
    leak = {"hiv": Compared(changed(p_holm=0.001))}
    for quality in (None, scored(flip_rate=share(0.3, 0.5))):
        rules = decide(policy, Run(pairs=leak, judge=quality)).rules
        assert {rule.status for rule in rules if rule.diagnosis is not None} == {"inconclusive"}
    rules = decide(policy, Run(pairs=leak, judge=scored())).rules
    assert "fail" in {rule.status for rule in rules if rule.diagnosis is not None}
    assert decide(POLICY, Run(judge=None)).status == "pass"


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
