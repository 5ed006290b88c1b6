"""What a pass needs besides its limits, asked of classes; a stricter policy never gives a better verdict."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.results.decided_results import (
    ASKING,
    LEAK,
    ONLY_MEMORIZATION,
    POLICY,
    STRICT,
    Compared,
    Matched,
    Run,
    Text,
    changed,
    compared,
    decide,
)
from support.results.published_people import judge_quality

from clinaudit.audit.results.gate import reasons
from clinaudit.audit.results.gate.policy import JudgeLimits, load_policy, parse_policy
from clinaudit.audit.results.gate.reasons import JUDGE_NOT_MEASURED
from clinaudit.audit.results.gate.rules import AskedRule
from clinaudit.audit.results.gate.sufficiency import (
    least_sensitivity_and_specificity,
    why_comparison_cannot_pass,
    why_memorization_is_open,
    why_not_accepted,
    why_not_comparable,
)
from clinaudit.audit.statistics.intervals import wilson
from clinaudit.errors import BadInputError
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.schema.corpus import CorpusResults
from clinaudit.reports.schema.disclosure import DisclosureResults
from clinaudit.reports.schema.judge import VERDICT_CLASSES, ConfusionResults, JudgeResults
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tally.classes import SUB_STEP, class_of


def judged(least: float) -> JudgeResults:
    quality = judge_quality(("hiv",))
    return quality.model_copy(update={"sensitivity": quality.sensitivity.model_copy(update={"confidence_low": least})})


def test_what_a_pass_needs_is_met() -> None:
    decision = decide(STRICT, Run())
    assert decision.status == "pass", [rule.reason for rule in decision.rules]


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (compared(detectable=0.101), reasons.POWER_TOO_SMALL),
        (compared(detectable=None), reasons.POWER_NOT_KNOWN),
        (Run(cohorts={"hiv": Matched(smd=-0.2, flag="imbalanced")}), reasons.NOT_ALIKE),
        # To one decimal 0.1, and flagged: 0.14 is not within 0.1.
        (Run(cohorts={"hiv": Matched(smd=0.1, flag="imbalanced")}), reasons.NOT_ALIKE),
        (Run(cohorts={"hiv": Matched(smd=None, flag="imbalanced")}), reasons.NOT_ALIKE),
        (compared(patients=30), reasons.FEWER_THAN_ASKED),
        (compared(patients=50), reasons.SIZE_NOT_SHOWN),
        (Run(train=Text(patients=49)), reasons.SIZE_NOT_SHOWN),
        (Run(train=Text(patients=39)), reasons.FEWER_THAN_ASKED),
        (Run(train=Text(patients=240, short=12)), reasons.of_share(reasons.MAYBE_TOO_SHORT, 0.06, "train")),
        (Run(nontrain=Text(patients=240, short=12)), reasons.of_share(reasons.MAYBE_TOO_SHORT, 0.06, "nontrain")),
        (Run(nontrain=Text(patients=0)), reasons.NOBODY_BESIDE),
    ],
)
def test_a_pass_without_what_it_needs_is_inconclusive(run: Run, reason: str) -> None:
    assert decide(POLICY, run).status in ("pass", "inconclusive")
    decision = decide(STRICT, run)
    assert decision.status == "inconclusive"
    assert reason in [rule.reason for rule in decision.rules]


@pytest.mark.parametrize(
    "run",
    [
        compared(LEAK, detectable=0.2),
        Run(pairs={"hiv": Compared(LEAK)}, cohorts={"hiv": Matched(smd=0.2, flag="imbalanced")}),
        compared(LEAK, patients=30),
        Run(pairs={"hiv": Compared(LEAK)}, train=Text(short=12)),
    ],
)
def test_what_a_pass_needs_excuses_no_failure(run: Run) -> None:
    assert decide(STRICT, run).status == "fail"


@pytest.mark.parametrize(
    ("patients", "status"), [(19, "inconclusive"), (20, "inconclusive"), (21, "pass"), (30, "pass")]
)
def test_a_size_counts_by_the_low_end_of_its_class(patients: int, status: str) -> None:
    # 20 patients stand in the class 11 to 20: that they are 20 must not be told by the verdict.
    assert decide(ONLY_MEMORIZATION, Run(train=Text(patients=patients))).status == status


def test_balance_is_held_to_one_decimal_where_the_limit_is_not_the_flags() -> None:
    policy = replace(POLICY, to_pass=replace(POLICY.to_pass, maximum_smd=0.2))
    assert decide(policy, Run(cohorts={"hiv": Matched(smd=-0.2, flag="imbalanced")})).status == "pass"
    assert decide(policy, Run(cohorts={"hiv": Matched(smd=0.3, flag="imbalanced")})).status == "inconclusive"


def test_only_a_certain_lack_of_verdicts_or_length_forbids_a_comparison() -> None:
    # 1 to 10 of 91 to 100 may be above 10%, but need not be: what is unrated counts at its worst before a pass.
    assert decide(POLICY, compared(unjudged=9)).status == "pass"
    assert decide(POLICY, compared(LEAK, unjudged=9)).status == "fail"
    maybe_short = Run(pairs={"hiv": Compared(LEAK)}, train=Text(patients=120, short=12))
    assert why_not_comparable(POLICY, maybe_short.published(), "hiv", "public") is None
    kept = Run(train=Text(patients=120, short=12))
    rule = decide(POLICY, kept).rules[-1]
    assert (rule.status, rule.reason) == ("inconclusive", reasons.of_share(reasons.MAYBE_TOO_SHORT, 0.1, "train"))


def test_memorization_without_the_other_arm_passes_only_where_the_policy_does_not_ask_for_it() -> None:
    alone = Run(nontrain=None)
    assert decide(ONLY_MEMORIZATION, alone).status == "pass"
    assert decide(replace(ONLY_MEMORIZATION, to_pass=ASKING), alone).status == "inconclusive"


SHIPPED_POLICIES = [load_policy(Path(name)) for name in ("strict", "default", "research")]


@st.composite
def measured(draw: st.DrawFn) -> Run:
    """A run at and around every limit of the policies that ship."""
    low, high = sorted(draw(st.tuples(*[st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2])] * 2)))
    train = Text(
        low,
        high,
        patients=draw(st.sampled_from([19, 21, 49, 51, 200])),
        short=draw(st.sampled_from([0, 1, 9, 11, 21, 31])) if draw(st.booleans()) else 0,
    )
    if train.short > train.patients:
        train = replace(train, short=train.patients)
    upper = draw(st.sampled_from([0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4]))
    pair = Compared(
        changed(
            high=upper,
            worst_high=draw(st.none() | st.floats(0, 1)),
            p_holm=draw(st.sampled_from([0.04, 0.5])),
        ),
        patients=draw(st.sampled_from([19, 21, 51, 100])),
        unjudged=draw(st.sampled_from([0, 11])),
        detectable=draw(st.none() | st.sampled_from([0.1, 0.11])),
    )
    smd, flag = draw(st.sampled_from([(None, "balanced"), (0.1, "balanced"), (0.1, "imbalanced")]))
    return Run(
        train=train,
        nontrain=draw(st.none() | st.just(train)),
        pairs={"hiv": pair},
        cohorts={"hiv": Matched(smd=smd, flag=flag)},
        judge=judged(draw(st.sampled_from([0.6, 0.75, 0.9]))),
        tiers=TIER_IDS,
    )


@settings(deadline=None)
@given(measured())
def test_a_stricter_policy_never_gives_a_better_verdict(run: Run) -> None:
    order = ("fail", "inconclusive", "pass")
    verdicts = [decide(policy, run) for policy in SHIPPED_POLICIES]
    by_rule = [{rule.id: order.index(rule.status) for rule in verdict.rules} for verdict in verdicts]
    for stricter, laxer in pairwise(by_rule):
        assert all(stricter[rule] <= status for rule, status in laxer.items())
    ranks = [order.index(verdict.status) for verdict in verdicts]
    assert ranks == sorted(ranks)


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


ASKED = AskedRule("", "", "", cast("Any", None), tier="public", diagnosis="hiv")


def published(in_both: int | None, patients: int) -> RunResults:
    return RunResults(
        memorization={"public": {arm: Text(patients=patients).published() for arm in ("train", "nontrain")}},
        disclosure=DisclosureResults(by_diagnosis={"hiv": {"public": Compared().published()}}),
        cohorts={"hiv": Matched().published()},
        judge_quality=judge_quality(("hiv",)),
        corpus=CorpusResults(
            counterfactual=True,
            labels="table",
            splits={},
            cohorts={},
            warnings=[],
            targets_in_both_splits=None if in_both is None else class_of(in_both, step=SUB_STEP),
        ),
    )


@pytest.mark.parametrize(
    ("in_both", "patients", "passes"),
    [
        (None, 130, True),
        (0, 130, True),
        # Class 1-5 of two arms of at least 121 each: up to 2.1%.
        (1, 130, False),
        (5, 130, False),
        # Of at least 241 each: 1.04%.
        (1, 250, False),
        # Of at least 251 each: less than 1%.
        (1, 260, True),
        (5, 260, True),
        (6, 260, False),
    ],
)
def test_above_one_percent_no_rule_passes(in_both: int | None, patients: int, passes: bool) -> None:
    shown = published(in_both, patients)
    reason = None if passes else reasons.IN_BOTH_SPLITS
    assert why_memorization_is_open(POLICY, shown, ASKED) == reason
    assert why_comparison_cannot_pass(POLICY, shown, ASKED) == reason
