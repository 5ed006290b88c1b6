"""DeLong against an implementation published by others on the same data, and differences of two areas."""

import numpy as np
import pytest
from scipy import stats
from support.drawn_scores import SCORES, draw

from clinaudit.audit.statistics.auroc import auroc_of_counts, delong_variances, difference_error, measure_error


def count(scores: list[float]) -> np.ndarray:
    return np.array([scores.count(score) for score in SCORES], float)


@pytest.mark.parametrize("seed", range(5))
def test_delong_is_mlstatkits(seed: int):
    library = pytest.importorskip("MLstatkit")
    positive, negative = draw(seed)
    labels, scores = [1] * len(positive) + [0] * len(negative), positive + negative
    other = np.random.default_rng(seed + 100).permutation(scores)
    _, _, interval, _, area, _, info = library.Delong_test(labels, scores, other)
    first, second = count(positive), count(negative)
    half = 1.959964 * sum(delong_variances(first, second)) ** 0.5
    own = float(auroc_of_counts(first, second))
    assert info["method"] == "delong"
    assert area == pytest.approx(own)
    assert interval == pytest.approx((own - half, own + half), abs=1e-6)


def test_our_interval_is_delongs_own_from_a_hundred_patients_on():
    positive, negative = draw(1, 400, 400)
    first, second = count(positive), count(negative)
    area = float(auroc_of_counts(first, second))
    half = 1.959964 * sum(delong_variances(first, second)) ** 0.5
    low, high = measure_error(first, second).interval(area, floor=0.0)
    assert (low, high) == pytest.approx((area - half, area + half), abs=0.003)
    # Never narrower than DeLong's own.
    assert low < area - half
    assert high > area + half


def test_a_difference_of_areas_by_hand():
    # Variances 0.002 and 0.003 of 10 and 20 degrees of freedom: 0.005 and 25e-6 / (0.4e-6 + 0.45e-6).
    positive, negative = draw(4, 11, 11)
    one = measure_error(count(positive), count(negative))
    first, second = (
        one._replace(variance=np.array(variance), degrees_of_freedom=np.array(degrees))
        for variance, degrees in ((0.002, 10.0), (0.003, 20.0))
    )
    both = difference_error(first, second)
    assert both.variance == pytest.approx(0.005)
    assert both.degrees_of_freedom == pytest.approx(25 / 0.85)
    assert both.smoothed == 0
    assert both.p_value(0.1) == pytest.approx(float(stats.t.sf(0.1 / 0.005**0.5, 25 / 0.85)))
    # The smallest difference: the sum of the 95% and 80% points, 1.699 and 0.854 of Student's t, standard errors.
    assert both.minimum_detectable_difference() == pytest.approx((1.699 + 0.854) * 0.005**0.5, rel=1e-3)


def test_the_detectable_difference_is_shown_four_times_in_five():
    rng = np.random.default_rng(0)
    positive, negative = draw(5, 100, 100)
    error = measure_error(count(positive), count(negative))
    both = difference_error(error, error)
    drawn = both.minimum_detectable_difference() + both.standard * rng.standard_normal(4000)
    assert np.mean([both.p_value(float(difference)) <= 0.05 for difference in drawn]) == pytest.approx(0.8, abs=0.03)
