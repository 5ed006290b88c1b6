"""The mean of a binned number: hand-computed ends, and that they hold the mean of what was binned."""

import random

import pytest

from clinaudit.audit.statistics.intervals import binned_mean_bounds, bounds_of_bins, clopper_pearson, interval_of

EDGES = ((0.0, 0.0), (0.0, 0.5), (0.5, 2.0), (2.0, None))


def test_hand_computed_ends() -> None:
    # Half of the patients lie above 0, a quarter above 0.5; each share may be a tenth off.
    above = [(0.4, 0.6), (0.15, 0.35), (0.0, 0.1), (0.0, 0.1)]
    low, high = binned_mean_bounds(EDGES, [True, True, True, False], above)
    # Low: the lowest number of the later bins, 0.5 over the share above 0.5 (bins from 0.5 on), 1.5 over that above 2.
    assert low == pytest.approx(0.0 * 0.4 + 0.5 * 0.15 + 1.5 * 0.0)
    # High: 0.5 over the share above 0, 1.5 over the share above 0.5.
    assert high == pytest.approx(0.5 * 0.6 + 1.5 * 0.35)


def test_somebody_in_a_bin_without_end_leaves_no_upper_one() -> None:
    assert binned_mean_bounds(EDGES, [True, False, False, True], [(0.0, 1.0)] * 4)[1] is None


def test_where_nobody_has_any_somebody_unseen_may_have_one() -> None:
    bounds = bounds_of_bins([(low, high, count) for (low, high), count in zip(EDGES, (50, 0, 0, 0), strict=True)])
    assert bounds == (0.0, interval_of(clopper_pearson(0, 50))[1])


def test_who_is_seen_below_one_lowers_no_upper_end() -> None:
    none, one = (
        bounds_of_bins([(low, high, count) for (low, high), count in zip(EDGES, counts, strict=True)])
        for counts in ((50, 0, 0, 0), (49, 1, 0, 0))
    )
    assert none is not None
    assert one is not None
    assert (one[1] or 0) > (none[1] or 0)


def test_nobody_has_no_mean() -> None:
    assert bounds_of_bins([(0.0, 0.0, 0), (0.0, None, 0)]) is None


def test_the_ends_hold_the_mean_of_what_was_binned() -> None:
    rng = random.Random(1)
    for _ in range(200):
        values = [rng.choice((0.0, 0.0, 0.2, 0.5, 1.3, 2.0)) for _ in range(rng.randint(5, 60))]
        counts = [sum(value == 0 for value in values)]
        counts += [sum(low < value and value <= (high or 9) for value in values) for low, high in EDGES[1:]]
        bounds = bounds_of_bins([(low, high, count) for (low, high), count in zip(EDGES, counts, strict=True)])
        assert bounds is not None
        assert bounds[1] is not None
        assert bounds[0] <= sum(values) / len(values) <= bounds[1]
