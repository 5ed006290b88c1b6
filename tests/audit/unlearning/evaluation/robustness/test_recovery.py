"""The recovery: hand cases, when there is none, and intervals that follow the patients."""

import random
import statistics

import numpy as np
import pytest

from clinaudit.audit.unlearning.evaluation.robustness.trial import (
    NOT_SCORED,
    NOTHING_LOST,
    recovery,
    recovery_beyond,
)
from clinaudit.audit.unlearning.metrics.means import places_of


def _values(*values: float | None) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    return np.array([np.nan if value is None else value for value in values])


FOUR = places_of(["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("after", "expected"),
    [((0.1, 0.1, 0.1, 0.1), 0.0), ((0.9, 0.9, 0.9, 0.9), 1.0), ((0.5, 0.5, 0.1, 0.1), 0.25), ((0, 0, 0, 0), -0.125)],
)
def test_by_hand(after: tuple[float, ...], expected: float) -> None:
    found = recovery(_values(*[0.1] * 4), _values(*after), _values(*[0.9] * 4), FOUR, seed=0)
    assert found.value == pytest.approx(expected)
    assert found.n == 4
    assert found.low is not None
    assert found.high is not None
    # Four patients leave doubt, whatever the figure.
    assert found.low < expected < found.high


def test_it_is_a_ratio_of_means_and_not_a_mean_of_ratios() -> None:
    before, after, baseline = _values(0.0, 0.0), _values(1.0, 0.0), _values(1.0, 0.1)
    found = recovery(before, after, baseline, places_of(["a", "b"]), seed=0)
    assert found.value == pytest.approx(1 / 1.1)


def test_nothing_lost_is_nothing_to_recover() -> None:
    same = _values(0.5, 0.5, 0.5, 0.5)
    for baseline in (same, same - 0.1):
        found = recovery(same, same + 0.2, baseline, FOUR, seed=0)
        assert (found.value, found.n, found.reason) == (None, 4, NOTHING_LOST)


def test_answers_that_lack_one_of_the_three_do_not_count() -> None:
    before, after = _values(0.0, 0.0, 0.0, None), _values(0.5, None, 1.0, 1.0)
    found = recovery(before, after, _values(1.0, 1.0, None, 1.0), FOUR, seed=0)
    assert (found.value, found.n) == (0.5, 1)
    assert recovery(before, after, _values(None, None, None, None), FOUR, seed=0).reason == NOT_SCORED


def test_where_too_few_lost_anything_there_is_no_interval() -> None:
    # In 0.75^4 of the resamples nobody is drawn who lost something.
    found = recovery(_values(0, 0, 0, 0), _values(0.5, 0, 0, 0), _values(1.0, 0, 0, 0), FOUR, seed=0)
    assert found.value == 0.5
    assert (found.low, found.high) == (None, None)


def test_what_a_reference_gains_is_no_memory() -> None:
    before, after, baseline = (_values(*[one] * 4) for one in (0.1, 0.5, 0.9))
    reference = _values(*[0.2] * 4), _values(*[0.4] * 4)
    found = recovery_beyond((before, after), reference, baseline, FOUR, seed=0)
    assert found.value == pytest.approx((0.4 - 0.2) / 0.8)
    # A model that gains as much as the reference has recovered nothing; one that loses while it gains, less.
    assert recovery_beyond((before, after), (before, after), baseline, FOUR, seed=0).value == pytest.approx(0.0)
    extreme = recovery_beyond(
        (_values(1, 1), _values(0, 0)), (_values(0, 0), _values(1, 1)), _values(1, 1), FOUR[:2], seed=0
    )
    assert extreme.reason == NOTHING_LOST
    beyond = recovery_beyond(
        (_values(0, 0), _values(0, 0)), (_values(0, 0), _values(1, 1)), _values(1, 1), FOUR[:2], seed=0
    )
    assert beyond.value == pytest.approx(-1.0)
    # Two doubts are more than one, and less than their sum.
    alone = recovery(before, after, baseline, FOUR, seed=0)
    assert None not in (alone.low, alone.high, found.low, found.high)
    one, two = (alone.high or 0) - (alone.low or 0), (found.high or 0) - (found.low or 0)
    assert one < two < 2 * one


def test_the_interval_holds_the_truth() -> None:
    rng = random.Random(7)
    held = 0
    for trial in range(60):
        before, after, baseline, patients = [], [], [], []
        for patient in range(12):
            kept = rng.random() < 0.3
            for _ in range(4):
                before.append(0.1 * rng.random())
                baseline.append(0.6 + 0.4 * rng.random())
                after.append(baseline[-1] if kept else before[-1])
                patients.append(f"{patient:02}")
        found = recovery(_values(*before), _values(*after), _values(*baseline), places_of(patients), seed=trial)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.3 <= found.high
    assert held >= 55
    assert statistics.fmean([found.low or 0, found.high or 0]) < 1
