"""Means of answers and of their change: hand cases, and the house's intervals where each patient has one answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean
from clinaudit.audit.statistics.paired_differences import mean_of_patients, paired_difference
from clinaudit.audit.unlearning.metrics.means import change_of_answers, mean_of_answers, places_of

_SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def test_the_mean_is_over_answers_and_the_interval_over_patients() -> None:
    patients = places_of(["b", "a", "a", "a"])
    assert patients.tolist() == [1, 0, 0, 0]
    estimate = mean_of_answers(np.array([1.0, 0.0, 0.0, np.nan]), patients, seed=0, reason="none")
    assert (estimate.value, estimate.n) == (pytest.approx(1 / 3), 3)
    # Two patients, whatever they answered.
    bounds = clopper_pearson_of_mean(2 / 3, 2)
    assert estimate.low is not None
    assert estimate.high == 1.0
    assert estimate.low <= (bounds.low or 0)


def test_no_answer_is_no_mean() -> None:
    patients = places_of(["a", "a"])
    nothing = np.array([np.nan, np.nan])
    assert mean_of_answers(nothing, patients, seed=0, reason="why").reason == "why"
    assert mean_of_answers(np.empty(0), places_of([]), seed=0, reason="why").value is None
    estimate = change_of_answers(np.array([0.5, np.nan]), np.array([np.nan, 0.5]), patients, seed=0, reason="why")
    assert (estimate.value, estimate.n, estimate.reason) == (None, 0, "why")


def test_a_change_is_of_the_answers_that_have_both() -> None:
    before, after = np.array([0.0, 1.0, np.nan]), np.array([0.5, 0.5, 1.0])
    estimate = change_of_answers(before, after, places_of(["a", "b", "c"]), seed=0, reason="none")
    assert (estimate.value, estimate.n) == (0.0, 2)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= -0.5 < 0.5 <= estimate.high


def test_where_nobody_changed_there_is_still_doubt() -> None:
    same = np.full(3, 0.5)
    estimate = change_of_answers(same, same, places_of(["a", "b", "c"]), seed=0, reason="none")
    assert estimate.value == 0.0
    assert estimate.low is not None
    assert estimate.low < -0.3


@settings(max_examples=20, deadline=None)
@given(_SHARES)
def test_of_one_answer_a_patient_it_is_the_figure_of_the_audit(values: list[float]) -> None:
    before = np.array(values)
    after = before[::-1].copy()
    patients = places_of([f"{place:02}" for place in range(len(values))])
    ours = change_of_answers(before, after, patients, seed=1, reason="none")
    theirs = paired_difference(before, after, seed=1)
    assert ours.value == pytest.approx(theirs.value)
    # Their bootstraps draw otherwise: 2,000 resamples of at most twelve patients.
    assert ours.low == pytest.approx(theirs.low, abs=0.05)
    assert ours.high == pytest.approx(theirs.high, abs=0.05)
    mean, same = mean_of_answers(before, patients, seed=1, reason="none"), mean_of_patients(before, seed=1)
    assert mean.value == pytest.approx(same.value)
    assert (mean.low, mean.high) == (pytest.approx(same.low, abs=0.05), pytest.approx(same.high, abs=0.05))
