"""Means and changes over answers of patients: which interval is whose, pairing by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinaudit.audit.statistics.intervals import (
    bounds_of_mean,
    clopper_pearson_of_mean,
    interval_of_resamples,
    newcombe_difference,
    paired_difference,
    resample_means,
)
from clinaudit.audit.statistics.patient_means import (
    FEWEST_PATIENTS,
    PatientColumn,
    change_of_harmonic_means,
    change_of_means,
    columns_of,
    difference_of_groups,
    harmonic_mean_of,
)
from clinaudit.reports.schema.record import Estimate


def scores_of(count: int, *, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(4, 6, count)


def columns(*values: Sequence[float] | np.ndarray, seed: int = 3) -> list[PatientColumn]:
    """Of one answer a patient, or none where it is no number."""
    stacked = np.array(values, dtype=np.float64).T
    has = np.isfinite(stacked)
    return columns_of(np.where(has, stacked, 0.0), has.astype(np.float64), seed=seed)


def mean_of(values: Sequence[float] | np.ndarray) -> Estimate:
    return columns(values)[0].mean("none")


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_from_80_patients_on_the_interval_is_the_bootstraps() -> None:
    assert FEWEST_PATIENTS == 80
    values = scores_of(80)
    # The audit's own bootstrap over patients: the same draws.
    theirs = interval_of_resamples(resample_means(values[:, None], np.ones((80, 1)), seed=3))
    enough = mean_of(values)
    assert (enough.low, enough.high) == pytest.approx(theirs, abs=1e-12)
    assert enough.n == 80
    few = mean_of(values[:79])
    assert (few.low, few.high) == bounds_of_mean(float(values[:79].sum()), 79)
    assert 3 * width(enough) < width(few)


def test_patients_are_counted_and_not_answers():
    values = scores_of(240)
    for patients, is_narrow in ((60, False), (80, True)):
        sums = values.reshape(patients, -1).sum(axis=1, keepdims=True)
        counts = np.full_like(sums, 240 / patients)
        found = columns_of(sums, counts, seed=0)[0].mean("none")
        assert found.value == pytest.approx(values.mean())
        assert (width(found) < 0.1) == is_narrow
    # Who has no such score is none of them.
    assert mean_of([*values[:79], np.nan]).n == 79
    nothing = mean_of([np.nan, np.nan])
    assert (nothing.value, nothing.n, nothing.reason) == (None, 0, "none")


def test_a_resampled_figure_is_too_skewed_by_cochrans_rule():
    # Of 0 and 1 with share p skewness is (1 - 2p) / sqrt(p (1 - p)): of 100 patients 25 G² <= n from p = 0.146 on.
    for ones, is_narrow in ((8, False), (92, False), (25, True)):
        found = mean_of((np.arange(100) < ones).astype(float))
        low, high = bounds_of_mean(ones, 100)
        assert (width(found) < high - low) == is_narrow


def test_a_change_is_paired():
    # Every score falls by a twentieth of itself: of the same patients that is certain, of others it would be lost.
    before = scores_of(120)
    first, second = columns(before, 0.95 * before)
    change = change_of_means(first, second, reason="none")
    assert change.value == pytest.approx(-0.05 * before.mean())
    assert change.high is not None
    assert change.high < 0
    low, high = newcombe_difference(second.mean("none"), first.mean("none"))
    assert low < 0 < high
    assert width(change) < (high - low) / 5


def test_a_change_needs_the_same_answers() -> None:
    first, second = columns([0.5, np.nan], [np.nan, 0.5])
    assert change_of_means(first, second, reason="why").reason == "why"


def test_where_nobody_changed_there_is_still_doubt() -> None:
    first, second = columns([0.5] * 3, [0.5] * 3)
    found = change_of_means(first, second, reason="none")
    assert found.value == 0.0
    assert found.low is not None
    assert found.low < -0.3


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_of_one_answer_a_patient_it_is_the_figure_of_the_audit(values: list[float]) -> None:
    before = np.array(values)
    after = before[::-1].copy()
    first, second = columns(before, after, seed=1)
    ours, theirs = change_of_means(first, second, reason="none"), paired_difference(before, after)
    assert ours.value == pytest.approx(theirs.value)
    # Ours unites a bootstrap with rise and fall, theirs joins these by their correlation: of few patients they differ.
    for found in (ours, theirs):
        assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    mean, same = first.mean("none"), clopper_pearson_of_mean(before.sum(), before.size)
    assert mean.value == pytest.approx(same.value)
    # The interval of several answers is the wider of a bootstrap's and that of the audit.
    assert mean.low <= same.low + 1e-9
    assert mean.high >= same.high - 1e-9


def test_a_change_of_harmonic_means_by_hand_and_of_nothing() -> None:
    one, other = np.tile([0.2, 0.4], 50), np.tile([0.5, 0.7], 50)
    held = columns(one, other, one / 2, other)
    change = change_of_harmonic_means(held[:2], held[2:], is_inverted=False)
    assert change.value == pytest.approx(2 / (1 / 0.15 + 1 / 0.6) - 2 / (1 / 0.3 + 1 / 0.6))
    assert change.high is not None
    assert change.high < 0
    # Of 1 less each: the first falls, so what is forgotten rises.
    inverted = change_of_harmonic_means(held[:2], held[2:], is_inverted=True)
    assert inverted.value == pytest.approx(2 / (1 / 0.85 + 1 / 0.4) - 2 / (1 / 0.7 + 1 / 0.4))
    same = change_of_harmonic_means(held[:2], held[:2], is_inverted=False)
    assert same.value == 0.0
    # Both levels' own intervals, joined as if they were independent.
    level = harmonic_mean_of(held[:2], is_inverted=False)
    assert (same.low, same.high) == pytest.approx(newcombe_difference(level, level))


def test_a_harmonic_mean_has_the_patients_of_its_scarcest_part() -> None:
    scarce = np.where(np.arange(100) < 25, np.nan, scores_of(100))
    held = columns(scores_of(100, seed=1), scarce, scores_of(100, seed=2))
    assert harmonic_mean_of(held, is_inverted=False).n == 75
    assert harmonic_mean_of(held[::2], is_inverted=False).n == 100
    # Of equal parts the harmonic mean is the part, and so are its bounds.
    equal = columns([0.5] * 4, [0.5] * 4)
    found = harmonic_mean_of(equal, is_inverted=True)
    assert (found.low, found.high) == pytest.approx(bounds_of_mean(2.0, 4))


def test_a_difference_of_groups_is_by_square_and_add() -> None:
    large, other = mean_of(scores_of(100)), mean_of(0.5 * scores_of(90, seed=1))
    found = difference_of_groups(large, other)
    assert (found.low, found.high) == newcombe_difference(large, other)
    assert found.n == 190
    none = Estimate(value=None, n=0, reason="why")
    assert difference_of_groups(none, large).reason == "why"
