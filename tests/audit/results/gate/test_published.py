"""What the published ranges settle: only what every table within them decides alike."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.results.decided_results import (
    ONLY_DISCLOSURE,
    POLICY,
    STRICT,
    Compared,
    Matched,
    Run,
    Text,
    changed,
    decide,
    unfinished,
)

from clinaudit.audit.results.gate import evaluation, reasons
from clinaudit.audit.results.gate.evaluation import Comparison
from clinaudit.audit.results.gate.policy import Policy
from clinaudit.audit.results.ranges.tests import RangeOfTest, agreed_outcomes
from clinaudit.audit.statistics.intervals import holm
from clinaudit.reports.schema.decision import GateDecision
from clinaudit.reports.schema.numbers import EstimateRange

HIV: Comparison = ("hiv", "public", None)


def range_of_test(p: tuple[float, float], upper: tuple[float, float]) -> RangeOfTest:
    return RangeOfTest(*p, *upper)


def settled(
    policy: Policy, run: Run, tests: dict[Comparison, RangeOfTest], *, planned_missing: bool = False
) -> GateDecision:
    published = unfinished(run.published()) if planned_missing else run.published()
    return evaluation.decide(policy, published, agreed_outcomes(tests))


@pytest.mark.parametrize(
    ("p", "upper", "status", "reason"),
    [
        ((1e-6, 1e-4), (0.3, 0.4), "fail", reasons.BETTER_THAN_CHANCE),
        ((0.04, 0.05), (0.1, 0.2), "fail", reasons.BETTER_THAN_CHANCE),
        ((0.04, 0.06), (0.1, 0.2), "inconclusive", reasons.UNSETTLED),
        ((0.06, 0.9), (0.1, 0.25), "pass", reasons.NO_ADVANTAGE),
        ((0.06, 0.9), (0.1, 0.26), "inconclusive", reasons.UNSETTLED),
        ((0.06, 0.9), (0.26, 0.4), "inconclusive", reasons.ADVANTAGE_POSSIBLE),
    ],
)
def test_a_comparison_is_settled_where_both_ends_agree(
    p: tuple[float, float], upper: tuple[float, float], status: str, reason: str
) -> None:
    decision = settled(ONLY_DISCLOSURE, Run(), {HIV: range_of_test(p, upper)})
    assert (decision.rules[0].status, decision.rules[0].reason) == (status, reason)


def test_holms_adjustment_counts_the_largest_p_of_every_comparison_for_a_failure() -> None:
    alone = {HIV: range_of_test((0.01, 0.02), (0.3, 0.4))}
    assert settled(ONLY_DISCLOSURE, Run(), alone).status == "fail"
    # Of three comparisons the smallest p is held against 0.05 / 3, whether or not the others stand in the policy.
    others = {
        ("ptsd", "public", None): range_of_test((0.5, 0.9), (0.1, 0.2)),
        ("hiv", "encounter", "facts"): alone[HIV],
    }
    assert settled(ONLY_DISCLOSURE, Run(), {**alone, **others}).rules[0].reason == reasons.UNSETTLED


def test_what_is_missing_is_said_as_it_is_in_the_exact_verdict() -> None:
    for run in (
        Run(pairs={"hiv": Compared(nontrain=False)}),
        Run(pairs={"hiv": Compared(patients=10)}),
        Run(cohorts={"hiv": Matched("poorly_matched")}),
        Run(pairs={}, cohorts={}),
    ):
        exact = decide(ONLY_DISCLOSURE, run).rules[0]
        assert settled(ONLY_DISCLOSURE, run, {}).rules[0].reason == exact.reason


def test_without_a_test_there_is_no_figure() -> None:
    rule = settled(ONLY_DISCLOSURE, Run(), {}).rules[0]
    assert (rule.status, rule.reason) == ("inconclusive", reasons.no_figure(None))


def test_the_verdict_says_what_the_ranges_leave_open() -> None:
    wide = {HIV: range_of_test((0.01, 0.2), (0.1, 0.4))}
    decision = settled(POLICY, Run(), wide)
    assert decision.status == "inconclusive"
    assert decision.reason == "The published ranges leave 1 of the policy's 2 rules open. This is not a pass."
    assert settled(POLICY, Run(), wide, planned_missing=True).status == "incomplete"
    failing = settled(POLICY, Run(train=Text(0.1, 0.2)), wide, planned_missing=True)
    assert failing.reason == "The model breaks 1 of the policy's 2 rules."
    assert settled(replace(POLICY, memorization=(), disclosure=()), Run(), {}).status == "inconclusive"


def test_what_is_observed_is_the_published_range() -> None:
    run = Run(train=Text(0.06, 0.2))
    memorization, disclosure = settled(POLICY, run, {HIV: range_of_test((0.5, 0.9), (0.1, 0.2))}).rules
    published = run.published()
    assert memorization.observed == published.memorization["public"]["train"].attributable_fraction.mean
    delta = published.disclosure.by_diagnosis["hiv"]["public"].delta
    assert delta is not None
    assert disclosure.observed == delta["auroc_all"]
    assert isinstance(disclosure.observed, EstimateRange)


P_VALUES = st.sampled_from([0.0001, 0.004, 0.01, 0.02, 0.03, 0.05, 0.06, 0.3, 0.9])
UPPERS = st.sampled_from([0.1, 0.2, 0.25, 0.26, 0.4])


def ends(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(values, values).map(lambda pair: (min(pair), max(pair)))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.lists(st.tuples(ends(P_VALUES), ends(UPPERS)), min_size=1, max_size=4), st.booleans())
def test_what_is_settled_is_what_every_table_decides(
    data: st.DataObject, ranges: list[tuple[tuple[float, float], tuple[float, float]]], asking: bool
) -> None:
    """Draws a table within the ranges, and decides it exactly."""
    policy = replace(STRICT if asking else POLICY, memorization=())
    names = [f"d{i}" for i in range(len(ranges))]
    exact_p = [data.draw(st.sampled_from(p) | st.floats(*p)) for p, _ in ranges]
    uppers = [data.draw(st.sampled_from(upper) | st.floats(*upper)) for _, upper in ranges]
    run = Run(
        pairs={
            name: Compared(changed(p_value=p, p_holm=adjusted, high=upper))
            for name, p, adjusted, upper in zip(names, exact_p, holm(exact_p), uppers, strict=True)
        },
        cohorts={name: Matched() for name in names},
    )
    tests: dict[Comparison, RangeOfTest] = {
        (name, "public", None): range_of_test(*ends) for name, ends in zip(names, ranges, strict=True)
    }
    decision = settled(policy, run, tests)
    for open_rule, exact in zip(decision.rules, decide(policy, run).rules, strict=True):
        if open_rule.reason != reasons.UNSETTLED:
            assert (open_rule.status, open_rule.reason) == (exact.status, exact.reason)
