"""Means and changes over answers of patients: which interval is whose, pairing by hand."""

import numpy as np
import pytest

from clinaudit.audit.statistics.intervals import (
    bootstrap_mean_over_patients,
    clopper_pearson_of_mean,
    newcombe_difference,
)
from clinaudit.audit.statistics.patient_means import (
    FEWEST_PATIENTS,
    change_of_answers,
    change_of_harmonic_means,
    columns_of,
    difference_of_groups,
    mean_of_answers,
    places_of,
)
from clinaudit.reports.schema.numbers import Estimate, PatientEstimate


def patients_of(count):
    return places_of([f"{place:03}" for place in range(count)])


def scores_of(count, *, seed=0):
    return np.random.default_rng(seed).beta(4, 6, count)


def mean_of(values):
    return mean_of_answers(values, patients_of(len(values)), seed=3, reason="none")


def test_from_80_patients_on_the_bootstrap_stands_beside_the_safe_interval():
    assert FEWEST_PATIENTS == 80
    values = scores_of(80)
    few, enough = mean_of(values[:79]), mean_of(values)
    assert few.bootstrap is None
    # The audit's own bootstrap over patients: the same draws.
    theirs = bootstrap_mean_over_patients(values, np.ones(80, dtype=np.int64), seed=3)
    assert enough.bootstrap == pytest.approx(theirs, abs=1e-12)
    bounds = clopper_pearson_of_mean(float(values.sum()), 80)
    assert (enough.low, enough.high) == (bounds.low, bounds.high)
    # Of one answer a patient; with several answers their mean varies less, and the safe interval stays as it is.
    assert 3 * (enough.bootstrap[1] - enough.bootstrap[0]) < enough.high - enough.low


def test_patients_are_counted_and_not_answers():
    values = scores_of(240)
    assert mean_of_answers(values, np.repeat(np.arange(60), 4), seed=0, reason="none").bootstrap is None
    assert mean_of_answers(values, np.repeat(np.arange(80), 3), seed=0, reason="none").bootstrap is not None
    # Who has no such score is none of them.
    lacking = np.where(np.arange(240) < 6, np.nan, values)
    assert mean_of_answers(lacking, np.repeat(np.arange(80), 3), seed=0, reason="none").bootstrap is None


def test_a_resampled_figure_is_too_skewed_by_cochrans_rule():
    # Of 0 and 1 with share p skewness is (1 - 2p) / sqrt(p (1 - p)): of 100 patients 25 G² <= n from p = 0.146 on.
    def of_share(ones):
        return mean_of((np.arange(100) < ones).astype(float))

    assert of_share(8).bootstrap is None
    assert of_share(92).bootstrap is None
    assert of_share(25).bootstrap is not None


def test_a_change_is_paired():
    # Every score falls by a twentieth of itself: of the same patients that is certain, of others it would be lost.
    before = scores_of(120)
    change = change_of_answers(before, 0.95 * before, patients_of(120), seed=0)
    assert change.value == pytest.approx(-0.05 * before.mean())
    assert change.bootstrap[1] < 0
    first, second = mean_of(0.95 * before), mean_of(before)
    low, high = newcombe_difference(
        *(Estimate(value=one.value, low=one.bootstrap[0], high=one.bootstrap[1]) for one in (first, second))
    )
    assert low < 0 < high
    assert change.bootstrap[1] - change.bootstrap[0] < (high - low) / 5


def test_a_change_of_harmonic_means_by_hand_and_of_nothing():
    patients = patients_of(100)
    one, other = np.tile([0.2, 0.4], 50), np.tile([0.5, 0.7], 50)
    columns = columns_of([one, other, one / 2, other], patients, seed=0)
    change = change_of_harmonic_means(columns[:2], columns[2:], is_inverted=False)
    assert change.value == pytest.approx(2 / (1 / 0.15 + 1 / 0.6) - 2 / (1 / 0.3 + 1 / 0.6))
    assert change.low < change.bootstrap[0] < change.value < change.bootstrap[1] < 0
    # Of 1 less each: the first falls, so what is forgotten rises.
    inverted = change_of_harmonic_means(columns[:2], columns[2:], is_inverted=True)
    assert inverted.value == pytest.approx(2 / (1 / 0.85 + 1 / 0.4) - 2 / (1 / 0.7 + 1 / 0.4))
    same = change_of_harmonic_means(columns[:2], columns[:2], is_inverted=False)
    assert (same.value, same.bootstrap) == (0.0, None)
    assert same.low < -0.05


def test_a_difference_of_groups_is_narrow_where_both_are():
    large, small = mean_of(scores_of(100)), mean_of(scores_of(20))
    assert difference_of_groups(large, small).bootstrap is None
    other = mean_of(0.5 * scores_of(90, seed=1))
    found = difference_of_groups(large, other)
    assert found.bootstrap is not None
    assert large.bootstrap is not None
    assert other.bootstrap is not None
    assert large.value is not None
    assert other.value is not None
    down = np.hypot(large.value - large.bootstrap[0], other.bootstrap[1] - other.value)
    assert found.bootstrap[0] == pytest.approx(large.value - other.value - down)
    none = PatientEstimate(value=None, n=0, reason="why")
    assert difference_of_groups(none, large).reason == "why"
