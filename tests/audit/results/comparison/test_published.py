"""Two published results compared: the range of a difference holds it for all figures within the ranges of both runs."""

import itertools

import pytest
from support.results.filled_published import published

from clinaudit.audit.results.comparison.disclosure import PAIRED_METRICS
from clinaudit.audit.results.comparison.published import (
    compare_estimates,
    compare_published_disclosure,
    compare_published_memorization,
    compare_rules,
)
from clinaudit.reports.schema.comparison import PairedPatients
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit, RuleStatus
from clinaudit.reports.schema.numbers import NOBODY, CountRange, EstimateRange
from clinaudit.reports.schema.results import RunResults

FEW = CountRange(low=1, high=10)


def test_a_difference_reaches_from_the_near_end_of_one_to_the_far_end_of_the_other() -> None:
    a = EstimateRange(low=0.5, high=0.6, confidence_low=0.4, confidence_high=0.7)
    b = EstimateRange(value=0.2, low=0.195, high=0.205, confidence_low=0.1, confidence_high=0.3)
    difference = compare_estimates(a, b).difference
    assert difference.value is None
    assert (difference.low, difference.high) == (pytest.approx(-0.405), pytest.approx(-0.295))
    assert (difference.confidence_low, difference.confidence_high) == (pytest.approx(-0.6), pytest.approx(-0.1))


@pytest.mark.parametrize("chance", [0.0, 0.05])
def test_whatever_the_figures_within_their_ranges_their_difference_is_within_its_range(chance: float) -> None:
    a = EstimateRange(low=0.31, high=0.42, confidence_low=0.31 - chance, confidence_high=0.42 + chance)
    b = EstimateRange(low=0.40, high=0.48, confidence_low=0.40 - chance, confidence_high=0.48 + chance)
    difference = compare_estimates(a, b).difference
    for was, now in itertools.product((0.31, 0.36, 0.42), (0.40, 0.44, 0.48)):
        assert difference.low - 1e-9 <= now - was <= difference.high + 1e-9
        assert difference.confidence_low <= difference.low
        assert difference.high <= difference.confidence_high


def test_two_whole_percents_differ_by_a_range_alone() -> None:
    a = EstimateRange(value=0.71, low=0.705, high=0.715)
    b = EstimateRange(value=0.01, low=0.005, high=0.015)
    difference = compare_estimates(a, b).difference
    assert difference.value is None
    assert (difference.low, difference.high) == (pytest.approx(-0.71), pytest.approx(-0.69))
    assert difference.confidence_low is None


def test_a_missing_figure_leaves_its_reason() -> None:
    known = EstimateRange(low=0.1, high=0.2)
    missing = EstimateRange(reason="every patient was excluded")
    for pair in ((known, missing), (missing, known)):
        assert compare_estimates(*pair).difference == missing
    # Half an interval is none: the other end would be made up.
    half = EstimateRange(low=0.1, high=0.2, confidence_low=0.05)
    assert compare_estimates(half, known).difference.confidence_high is None


def test_what_both_runs_published_is_compared_and_pairs_stand_where_they_were_counted() -> None:
    a, b = published(), published(leaks_from=6)
    b = b.model_copy(update={"memorization": {tier: b.memorization[tier] for tier in ("public", "encounter")}})
    pairs = PairedPatients(both=NOBODY, a_only=FEW, b_only=NOBODY, neither=FEW, unpaired_a=FEW, unpaired_b=NOBODY)
    compared = compare_published_memorization(a, b, {"encounter": {"train": pairs}})
    assert list(compared) == ["public", "encounter"]
    assert compared["encounter"]["train"].patients == pairs
    assert compared["encounter"]["nontrain"].patients is compared["public"]["train"].patients is None
    figure = compared["encounter"]["train"].attributable_fraction
    assert figure.a == a.memorization["encounter"]["train"].attributable_fraction.mean
    assert figure.difference.value == pytest.approx(-0.7)


def test_identifiers_are_compared_where_both_runs_looked_for_them() -> None:
    a, b = published(), published(leaks_from=6)
    assert a.identifiers is not None
    assert b.identifiers is not None
    own = compare_published_memorization(a, b, {})["encounter"]["train"].own_identifiers
    assert own is not None
    assert (own.a, own.b) == tuple(run.tiers["encounter"]["train"].own for run in (a.identifiers, b.identifiers))
    # 81 to 100 of 122 to 140, then 1 to 20.
    assert own.difference.high is not None
    assert own.difference.high < -0.5
    older = b.model_copy(update={"identifiers": None})
    assert compare_published_memorization(a, older, {})["encounter"]["train"].own_identifiers is None


def test_deltas_are_those_of_metrics_over_all_patients() -> None:
    compared = compare_published_disclosure(published(), published(leaks_from=6))
    assert set(compared["hiv"]["encounter"]) == set(PAIRED_METRICS)
    difference = compared["hiv"]["encounter"]["auroc_all"].difference
    assert difference.high is not None
    assert difference.high < 0
    none = compare_published_disclosure(published(nontrain=False), published())
    assert none["hiv"]["encounter"]["auroc_all"].difference.reason
    assert none["hiv"]["encounter"]["auroc_all"].difference.low is None


def decided(statuses: dict[str, RuleStatus], *, maximum: float = 0.05) -> RunResults:
    rules = [
        DecidedRule(
            id=name,
            question="Is it?",
            metric="attributable_fraction",
            tier=name,
            limit=Limit(max=maximum),
            status=status,
            observed=EstimateRange(),
            reason="",
        )
        for name, status in statuses.items()
    ]
    status = "fail" if "fail" in statuses.values() else "pass"
    return RunResults(decision=GateDecision(status=status, policy="x", reason="", rules=rules))


def test_rules_are_mended_new_still_failing_or_open() -> None:
    a = decided({"public": "fail", "public_name": "fail", "encounter": "pass", "encounter_cc": "fail"})
    b = decided({"public": "pass", "public_name": "fail", "encounter": "fail", "encounter_cc": "inconclusive"})
    found = compare_rules(a, b)
    assert found is not None
    assert (found.a, found.b) == ("fail", "fail")
    assert found.mended == ["Own text · Public facts"]
    assert found.failing == ["Own text · + name"]
    assert found.new == ["Own text · Appointment reminder"]
    assert found.open == ["Own text · + chief complaint"]


def test_a_looser_limit_mends_nothing_and_a_run_without_a_verdict_has_none() -> None:
    a, b = decided({"public": "fail"}), decided({"public": "pass"}, maximum=0.5)
    found, first = compare_rules(a, b), compare_rules(RunResults(), a)
    assert found is not None
    assert (found.mended, found.new) == ([], [])
    assert first is not None
    assert (first.a, first.b, first.new) == (None, "fail", ["Own text · Public facts"])
    assert compare_rules(RunResults(), RunResults()) is None
