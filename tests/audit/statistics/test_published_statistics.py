"""DeLong and the bootstrap against implementations published by others, on the same data."""

import numpy as np
import pytest
from scipy import stats

from clinaudit.audit.disclosure.readings import Reading
from clinaudit.audit.disclosure.train_delta import measure_disclosure
from clinaudit.audit.statistics.auroc import auroc_of_counts, delong_variances
from clinaudit.audit.statistics.auroc_error import difference_error, measure_error

SCORES = (0.0, 0.5, 1.0)


def count(scores: list[float]) -> np.ndarray:
    return np.array([scores.count(score) for score in SCORES], float)


def draw(seed: int, positives: int = 60, negatives: int = 80) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    return (
        rng.choice(SCORES, positives, p=(0.1, 0.5, 0.4)).tolist(),
        rng.choice(SCORES, negatives, p=(0.3, 0.5, 0.2)).tolist(),
    )


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


def read(arm: str, positive: list[float], negative: list[float]) -> list[Reading]:
    name = {0.0: "negative", 0.5: "ambiguous", 1.0: "positive"}
    return [
        Reading(f"{arm}{present}{i}", arm, present, name[score])  # type: ignore[arg-type]
        for present, scores in ((True, positive), (False, negative))
        for i, score in enumerate(scores)
    ]


def test_bootstrap_of_ppv_at_prevalence_is_scipys():
    positive, negative = draw(2)
    told = [np.array([score == 1 for score in scores], float) for scores in (positive, negative)]
    ours = measure_disclosure(read("train", positive, negative), prevalence=0.2, seed=0)

    def at_prevalence(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        right, wrong = first.mean(axis=axis) * 0.2, second.mean(axis=axis) * 0.8
        return right / (right + wrong)

    theirs = stats.bootstrap(
        told, at_prevalence, n_resamples=9999, method="percentile", vectorized=True, rng=np.random.default_rng(1)
    ).confidence_interval
    estimate = ours.train.ppv_at_prevalence
    assert estimate.low == pytest.approx(theirs.low, abs=0.015)
    assert estimate.high == pytest.approx(theirs.high, abs=0.015)


def test_bootstrap_of_auroc_is_mlstatkits_as_far_as_it_reaches():
    # Every generation mentions the diagnosis, so that mentions are all. Theirs redraws the classes' sizes as well.
    library = pytest.importorskip("MLstatkit")
    pytest.importorskip("tqdm")
    positive, negative = draw(3, 100, 100)
    labels, scores = [1] * 100 + [0] * 100, positive + negative
    area, low, high = library.Bootstrapping(labels, scores, "roc_auc", n_bootstraps=2000, random_state=0)
    estimate = measure_disclosure(read("train", positive, negative), prevalence=None, seed=0)
    assert estimate.train.auroc.value == pytest.approx(area)
    assert estimate.train.auroc.low == pytest.approx(low, abs=0.015)
    assert estimate.train.auroc.high == pytest.approx(high, abs=0.015)


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
