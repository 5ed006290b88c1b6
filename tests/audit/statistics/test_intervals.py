"""Intervals against values worked out by hand or printed in the literature, and against scipy's own."""

import math

import numpy as np
import pytest
from scipy import stats

from clinaudit.audit.statistics.intervals import (
    bootstrap_mean_over_patients,
    clopper_pearson,
    clopper_pearson_of_mean,
    holm,
    newcombe_difference,
    wilson,
    zero_numerator_bound,
)


def test_wilson_of_eight_in_ten():
    # (0.8 + 3.8415/20) / 1.38415 ± 1.96 √(0.016 + 3.8415/400) / 1.38415, by hand.
    estimate = wilson(8, 10)
    assert estimate.value == 0.8
    assert estimate.low == pytest.approx(0.4902, abs=5e-5)
    assert estimate.high == pytest.approx(0.9433, abs=5e-5)
    assert estimate.n == 10


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (0, 10), (3, 7), (10, 10), (81, 263)])
def test_wilson_and_clopper_pearson_are_scipys(successes: int, trials: int):
    for estimate, method in ((wilson(successes, trials), "wilson"), (clopper_pearson(successes, trials), "exact")):
        theirs = stats.binomtest(successes, trials).proportion_ci(method=method)  # type: ignore[arg-type]
        assert estimate.low == pytest.approx(theirs.low, abs=1e-12)
        assert estimate.high == pytest.approx(theirs.high, abs=1e-12)


def test_clopper_pearson_of_none_in_ten():
    # The upper end p solves (1 - p)^10 = 0.025.
    estimate = clopper_pearson(0, 10)
    assert estimate.low == 0
    assert estimate.high == pytest.approx(1 - 0.025**0.1)


def test_beta_bounds_of_a_fractional_sum_lie_between_those_of_whole_counts():
    lower, middle, upper = (clopper_pearson_of_mean(total, 20) for total in (3.0, 3.5, 4.0))
    assert middle.value == 0.175
    assert lower.low < middle.low < upper.low  # type: ignore[operator]
    assert lower.high < middle.high < upper.high  # type: ignore[operator]
    assert middle.low == pytest.approx(stats.beta.ppf(0.025, 3.5, 17.5))
    assert middle.high == pytest.approx(stats.beta.ppf(0.975, 4.5, 16.5))


@pytest.mark.parametrize("total", [0.0, 0.001, 4.999, 5.0])
def test_beta_bounds_never_collapse(total: float):
    estimate = clopper_pearson_of_mean(total, 5)
    assert estimate.high - estimate.low > 0.4  # type: ignore[operator]


def test_no_data_is_null_with_a_reason():
    for estimate in (wilson(0, 0), clopper_pearson(0, 0), clopper_pearson_of_mean(0.0, 0)):
        assert estimate.value is None
        assert estimate.low is None
        assert estimate.reason


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes: int, trials: int):
    with pytest.raises(ValueError, match="count of successes"):
        wilson(successes, trials)
    with pytest.raises(ValueError, match="count of successes"):
        clopper_pearson(successes, trials)
    with pytest.raises(ValueError, match="sum of values"):
        clopper_pearson_of_mean(float(successes), trials)


def test_bootstrap_resamples_patients_not_generations():
    # Ten patients, half of whose generations all score 1: a hundred generations each add no information.
    sums = np.array([100.0] * 5 + [0.0] * 5)
    low, high = bootstrap_mean_over_patients(sums, np.full(10, 100), seed=0)
    expected = stats.binom.ppf([0.025, 0.975], 10, 0.5) / 10
    assert (low, high) == pytest.approx(tuple(expected), abs=0.101)
    assert high - low > 0.5


def test_bootstrap_weighs_patients_by_their_generations_and_is_seeded():
    sums, counts = np.array([3.0, 0.0, 1.0]), np.array([3, 1, 4])
    first = bootstrap_mean_over_patients(sums, counts, seed=7)
    assert first == bootstrap_mean_over_patients(sums, counts, seed=7)
    assert first[0] <= 0.5 <= first[1]
    assert bootstrap_mean_over_patients(np.ones(3), np.ones(3, dtype=np.int64), seed=0) == (1.0, 1.0)


def test_bootstrap_agrees_with_the_normal_interval_on_many_patients():
    values = np.random.default_rng(3).random(4000)
    low, high = bootstrap_mean_over_patients(values, np.ones(4000, dtype=np.int64), seed=1)
    half = 1.96 * values.std(ddof=1) / math.sqrt(4000)
    assert low == pytest.approx(values.mean() - half, abs=1e-3)
    assert high == pytest.approx(values.mean() + half, abs=1e-3)


@pytest.mark.parametrize(("sums", "counts"), [([], []), ([1.0], [0]), ([1.0, 2.0], [1])])
def test_bootstrap_refuses_what_it_cannot_resample(sums: list[float], counts: list[int]):
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_mean_over_patients(np.array(sums), np.array(counts, dtype=np.int64), seed=0)


def test_newcombes_own_example():
    # Newcombe (1998), Table II, method 10: 56/70 - 48/80 = 0.2, 95% interval 0.0524 to 0.3339.
    low, high = newcombe_difference(wilson(56, 70), wilson(48, 80))
    assert low == pytest.approx(0.0524, abs=5e-5)
    assert high == pytest.approx(0.3339, abs=5e-5)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_upper_bounds_of_none_by_hand():
    # (1 - p)^n = 0.05; the rule of three says 0.03 at a hundred.
    assert zero_numerator_bound(1) == pytest.approx(0.95)
    assert zero_numerator_bound(100) == pytest.approx(1 - 0.05**0.01)
    assert zero_numerator_bound(100) == pytest.approx(0.03, abs=1e-3)
