"""With how many patients an open rule would be decided."""

import math

import pytest
from scipy.stats import beta
from support.results.filled_published import published

from clinaudit.audit.results.gate.policy import load_policy
from clinaudit.audit.results.gate.sample_size import decide_run
from clinaudit.reports.schema.decision import DecidedRule, Limit, RuleStatus
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.rule_figures import patients_to_settle, settled_text

NOBODY_KNOWS = EstimateRange(reason="not measured")
HERE = CountRange(low=121, high=140)


def asked_about(patients: CountRange | None) -> RunResults:
    """Results in which a tier has so many patients trained on; None: the tier was not audited."""
    arms = published().memorization["public"]
    shown = {} if patients is None else {"public": {"train": arms["train"].model_copy(update={"patients": patients})}}
    return published().model_copy(update={"memorization": shown})


def open_rule(
    observed: EstimateRange = NOBODY_KNOWS,
    *,
    limit: Limit | None = None,
    diagnosis: str | None = None,
    status: RuleStatus = "inconclusive",
) -> DecidedRule:
    return DecidedRule(
        id="a",
        question="Is it?",
        metric="attributable_fraction" if diagnosis is None else "auroc_all",
        tier="public",
        diagnosis=diagnosis,
        limit=limit or Limit(max=0.05, patients=72),
        status=status,
        observed=observed,
        reason="",
    )


def share(low: float, high: float, confidence_low: float, confidence_high: float) -> EstimateRange:
    return EstimateRange(low=low, high=high, confidence_low=confidence_low, confidence_high=confidence_high)


def test_the_policys_number_is_the_least_class_of_whom_nothing_is_repeated_that_the_interval_allows() -> None:
    decided = decide_run(load_policy(), published(), {})
    limits = {(rule.limit.max, rule.limit.patients) for rule in decided.rules if rule.metric == "attributable_fraction"}
    ((maximum, patients),) = limits
    assert patients is not None
    # Clopper and Pearson's upper end of 0 of n, at the low end of the class and at that of the class below.
    assert beta.ppf(0.975, 1, patients) <= maximum < beta.ppf(0.975, 1, patients - 20)
    # Of a diagnosis, patients in each group.
    assert {rule.limit.patients for rule in decided.rules if rule.diagnosis == "hiv"} == {106}


def test_a_limit_of_nothing_is_kept_with_no_number() -> None:
    assert patients_to_settle(open_rule(limit=Limit(max=0.0)), asked_about(HERE)) is None


@pytest.mark.parametrize("here", [None, CountRange(low=0, high=0), CountRange(low=61, high=80)])
def test_too_few_patients_need_the_policys_number(here: CountRange | None) -> None:
    assert patients_to_settle(open_rule(), asked_about(here)) == 72


@pytest.mark.parametrize(
    ("observed", "patients"),
    [
        # 2% with an interval to 8%: half of its reach past 2% must go: four times 140.
        (share(0.01, 0.02, 0.0, 0.08), math.ceil(140 * (0.06 / 0.03) ** 2 / 10) * 10),
        # 9% from 3% on: 6% must shrink to 4%: 140 * 2.25 = 315.
        (share(0.09, 0.10, 0.03, 0.2), 320),
        # The limit lies within what is published.
        (share(0.04, 0.14, 0.01, 0.21), None),
        # The figure is within its limit: it is not the number that lacks.
        (share(0.0, 0.01, 0.0, 0.04), None),
        (NOBODY_KNOWS, None),
    ],
)
def test_where_there_are_as_many_the_interval_must_shrink_to_the_limit(
    observed: EstimateRange, patients: int | None
) -> None:
    assert patients_to_settle(open_rule(observed), asked_about(HERE)) == patients


def test_of_a_diagnosis_the_patients_of_a_group_count() -> None:
    results = published()
    # 51 to 60 are published.
    rule = open_rule(limit=Limit(max=0.25, patients=108), diagnosis="hiv")
    assert settled_text([rule], results) == "108 in each group"
    enough = open_rule(limit=Limit(max=0.25, patients=5), diagnosis="hiv")
    assert settled_text([enough], results) == "a number that this audit cannot tell"
    assert settled_text([rule, enough], results) == "108 in each group, for some a number that this audit cannot tell"
    # Of 121 to 140 patients 72 are there, and nothing was measured.
    both = [rule, open_rule(), open_rule(limit=Limit(max=0.01, patients=368))]
    assert (
        settled_text(both, results) == "108 in each group, 368 patients, for some a number that this audit cannot tell"
    )


@pytest.mark.parametrize("status", ["pass", "fail"])
def test_a_decided_rule_needs_nobody(status: RuleStatus) -> None:
    assert settled_text([open_rule(status=status)], published()) == ""
