"""Intervals, tests, agreement and pools: by hand, by the literature, and against other libraries."""

import numpy as np
import pytest
from scipy import stats

from clinaudit.audit.statistics.estimates import SPLITS, draw_pools
from clinaudit.audit.statistics.intervals import (
    clopper_pearson_of_mean,
    holm,
    interval_of_resamples,
    kappa_of,
    newcombe_difference,
    observed_agreement,
    paired_difference,
    resample_means,
)
from clinaudit.reports.estimates.intervals import beta_bounds
from clinaudit.reports.schema.record import Estimate


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (0, 10), (3, 7), (10, 10), (81, 263)])
def test_clopper_pearson_is_scipys(successes, trials):
    theirs = stats.binomtest(successes, trials).proportion_ci(method="exact")
    assert beta_bounds(successes, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    estimate = clopper_pearson_of_mean(successes, trials)
    assert (estimate.low, estimate.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_beta_bounds_of_a_fractional_sum_lie_between_those_of_whole_counts():
    lower, middle, upper = (clopper_pearson_of_mean(total, 20) for total in (3.0, 3.5, 4.0))
    assert middle.value == 0.175
    assert lower.low < middle.low < upper.low
    assert lower.high < middle.high < upper.high
    assert middle.low == pytest.approx(stats.beta.ppf(0.025, 3.5, 17.5))
    assert middle.high == pytest.approx(stats.beta.ppf(0.975, 4.5, 16.5))


def test_no_data_is_null_with_a_reason():
    estimate = clopper_pearson_of_mean(0.0, 0)
    assert (estimate.value, estimate.low) == (None, None)
    assert estimate.reason


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ValueError, match="sum of values"):
        clopper_pearson_of_mean(float(successes), trials)


def bootstrap(sums, counts, *, seed):
    return interval_of_resamples(resample_means(np.array([sums]).T, np.array([counts]).T, seed=seed)[:, 0])


def test_bootstrap_resamples_patients_not_generations():
    # Ten patients, half of whose generations all score 1: a hundred generations each add no information.
    low, high = bootstrap([100.0] * 5 + [0.0] * 5, [100] * 10, seed=0)
    expected = stats.binom.ppf([0.025, 0.975], 10, 0.5) / 10
    assert (low, high) == pytest.approx(tuple(expected), abs=0.101)
    assert high - low > 0.5


def test_bootstrap_weighs_patients_by_their_generations_and_is_seeded():
    first = bootstrap([3.0, 0.0, 1.0], [3, 1, 4], seed=7)
    assert first == bootstrap([3.0, 0.0, 1.0], [3, 1, 4], seed=7)
    assert first[0] <= 0.5 <= first[1]
    assert bootstrap([1.0] * 3, [1] * 3, seed=0) == (1.0, 1.0)


@pytest.mark.parametrize(("sums", "counts"), [([], []), ([1.0, 2.0], [1])])
def test_bootstrap_refuses_what_it_cannot_resample(sums, counts):
    with pytest.raises(ValueError, match="at least one"):
        bootstrap(sums, counts, seed=0)


def test_newcombes_own_example():
    # Newcombe (1998), Table II, method 10: 56/70 - 48/80 = 0.2, 95% interval 0.0524 to 0.3339.
    first, second = (
        Estimate(value=successes / trials, low=low, high=high)
        for successes, trials in ((56, 70), (48, 80))
        for low, high in [stats.binomtest(successes, trials).proportion_ci(method="wilson")]
    )
    low, high = newcombe_difference(first, second)
    assert low == pytest.approx(0.0524, abs=5e-5)
    assert high == pytest.approx(0.3339, abs=5e-5)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_a_paired_difference_by_hand():
    # Changes -0.5, 0, +0.1, -0.2: mean -0.15.
    difference = paired_difference(np.array([0.5, 0, 0.1, 0.2]), np.array([0, 0, 0.2, 0.0]))
    assert difference.value == pytest.approx(-0.15)
    assert difference.n == 4


def test_where_nobody_changed_the_interval_does_not_collapse():
    difference = paired_difference(np.full(100, 0.3), np.full(100, 0.3))
    # Clopper and Pearson's upper end for 0 of 100, on either side.
    end = 1 - 0.025 ** (1 / 100)
    assert (difference.value, difference.low, difference.high) == (0, pytest.approx(-end), pytest.approx(end))


def test_who_rises_does_not_fall_which_widens_the_interval():
    # Three of ten come and three go: rise and fall correlate by -(0.3)² / (0.3 * 0.7); by hand.
    before, after = np.array([1.0] * 3 + [0.0] * 7), np.array([0.0] * 3 + [1.0] * 3 + [0.0] * 4)
    difference = paired_difference(before, after)
    low, high = beta_bounds(3, 10)
    down, up = 0.3 - low, high - 0.3
    half = (down**2 + up**2 + 2 * (0.09 / 0.21) * down * up) ** 0.5
    assert (difference.value, difference.low, difference.high) == pytest.approx((0, -half, half))


@pytest.mark.simulation
@pytest.mark.parametrize(("come", "go"), [(0.3, 0.3), (0.05, 0.2), (0.0, 0.2), (0.44, 0.44)])
@pytest.mark.parametrize("patients", [20, 130])
def test_the_interval_of_a_paired_share_covers(come, go, patients):
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1000):
        drawn = rng.random(patients)
        found = paired_difference((drawn < go).astype(float), (drawn > 1 - come).astype(float))
        held += found.low <= come - go <= found.high
    assert held >= 940


@pytest.mark.parametrize(
    ("counts", "observed", "kappa"),
    [
        ([[2, 0], [0, 2]], 1.0, 1.0),
        ([[2, 0], [1, 1], [0, 2], [1, 1]], 0.5, 0.0),
        # An answer that nobody gives changes nothing.
        ([[2, 0, 0], [0, 2, 0]], 1.0, 1.0),
        # All answers alike: nothing to agree on beyond chance.
        ([[3], [3]], 1.0, None),
        ([[3, 0], [3, 0]], 1.0, None),
        # Fleiss 1971 as Wikipedia works it: ten items, fourteen raters, five answers.
        (
            [
                [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
                [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
            ],
            0.378,
            0.210,
        ),
    ],
)  # fmt: skip
def test_agreement(counts, observed, kappa):
    table = np.array(counts, dtype=np.int64)
    assert observed_agreement(table) == pytest.approx(observed, abs=5e-4)
    assert kappa_of(table) == (None if kappa is None else pytest.approx(kappa, abs=5e-4))


def test_without_an_item_there_is_no_kappa():
    assert kappa_of(np.empty((0, 2), dtype=np.int64)) is None


@pytest.mark.parametrize(
    ("train", "nontrain", "sizes"),
    [
        (40, 60, {"train": 39, "nontrain": 40, "nobody": 40}),
        (60, 40, {"train": 40, "nontrain": 39, "nobody": 40}),
        (50, 50, {"train": 49, "nontrain": 49, "nobody": 50}),
        (1, 1, {"train": 0, "nontrain": 0, "nobody": 1}),
        (9, 0, {"train": 0, "nontrain": 0, "nobody": 0}),
    ],
)
def test_pools_are_as_large_as_the_other_patients_allow(train, nontrain, sizes):
    pools = draw_pools({"train": train, "nontrain": nontrain}, seed=0)
    assert pools.size == sizes
    # Who is left out of a pool is replaced.
    assert all(len(pools.drawn[split]) >= sizes["nobody"] for split in SPLITS)
