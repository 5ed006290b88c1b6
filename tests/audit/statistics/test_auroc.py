"""AUROC, its variance and DeLong's error of a difference, against hand counts, brute-force twins and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clinaudit.audit.statistics.auroc import (
    auroc_of_counts,
    auroc_of_values,
    delong_variances,
    difference_error,
    measure_error,
    paired_difference_error,
)

_LEVELS = (0.0, 0.5, 1.0)
_SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=12)


def count(scores):
    return np.array([list(scores).count(level) for level in _LEVELS], float)


def auroc(positive, negative):
    return float(auroc_of_counts(count(positive), count(negative)))


def _kernel(positive, negative):
    return 1.0 if positive > negative else 0.5 if positive == negative else 0.0


def _brute_force_area(positive, negative):
    return float(np.mean([_kernel(x, y) for x, y in itertools.product(positive, negative)]))


def _brute_force_variance(positive, negative):
    """Return DeLong, DeLong and Clarke-Pearson's formula, pair by pair."""
    of_positives = [np.mean([_kernel(x, y) for y in negative]) for x in positive]
    of_negatives = [np.mean([_kernel(x, y) for x in positive]) for y in negative]
    return float(np.var(of_positives, ddof=1) / len(positive) + np.var(of_negatives, ddof=1) / len(negative))


def draw(seed, positives=60, negatives=80):
    rng = np.random.default_rng(seed)
    one = rng.choice(_LEVELS, positives, p=(0.1, 0.5, 0.4)).tolist()
    return one, rng.choice(_LEVELS, negatives, p=(0.3, 0.5, 0.2)).tolist()


def test_auroc_with_ties_by_hand():
    # Nine pairs: 1 beats ½ and 0, 0; ½ ties ½ and beats 0, 0; 0 loses to ½ and ties 0, 0: (3 + 2.5 + 1) / 9.
    assert auroc([1, 0.5, 0], [0.5, 0, 0]) == pytest.approx(6.5 / 9)


@pytest.mark.parametrize(
    ("positive", "negative", "area"), [([1, 1], [0, 0], 1.0), ([0, 0], [1], 0.0), ([0.5] * 4, [0.5] * 3, 0.5)]
)
def test_ends_of_the_scale(positive, negative, area):
    assert auroc(positive, negative) == area


def test_auroc_without_both_classes_is_no_number():
    assert np.isnan(auroc([1.0], []))
    assert np.isnan(auroc_of_counts(np.zeros(3), np.ones(3)))


@given(_SCORES, _SCORES)
@settings(max_examples=150, deadline=None)
def test_area_and_variance_against_brute_force_and_scikit_learn(positive, negative):
    from sklearn.metrics import roc_auc_score

    area = auroc(positive, negative)
    assert area == pytest.approx(_brute_force_area(positive, negative))
    labels = [1] * len(positive) + [0] * len(negative)
    assert area == pytest.approx(roc_auc_score(labels, positive + negative))
    assert sum(delong_variances(count(positive), count(negative))) == pytest.approx(
        _brute_force_variance(positive, negative)
    )


@pytest.mark.parametrize(
    ("positive", "negative"), [([0, 50, 0], [0, 50, 0]), ([0, 0, 50], [50, 0, 0]), ([50, 0, 0], [50, 0, 0])]
)
def test_the_variance_of_an_error_never_vanishes(positive, negative):
    first, second = np.array(positive, float), np.array(negative, float)
    assert sum(delong_variances(first, second)) == 0
    # A rule of three at n = 50: neither certainty nor a shrug.
    assert 0.005 < measure_error(first, second).standard < 0.03


def test_variance_needs_two_patients_a_class():
    with pytest.raises(ValueError, match="two patients"):
        delong_variances(np.array([1.0, 0, 0]), np.array([1.0, 1, 0]))


_VALUES = st.lists(st.sampled_from([-3.5, -1.0, 0.0, 0.25, 7.0, 900.0]), min_size=2, max_size=9)


@given(_VALUES, _VALUES)
def test_it_counts_pairs(first, second):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(first, second)]
    told, swapped = (auroc_of_values(*both, fewest=2, reason="few") for both in ((first, second), (second, first)))
    assert told.auroc.value == pytest.approx(sum(pairs) / len(pairs))
    assert told.auroc.n == len(first) + len(second)
    # Which group is first changes the side, not the strength.
    assert swapped.auroc.value == pytest.approx(1 - (told.auroc.value or 0))
    assert swapped.auroc.low == pytest.approx(1 - (told.auroc.high or 0))
    assert swapped.p_value == pytest.approx(told.p_value)


def test_equal_groups_are_not_told_apart():
    told = auroc_of_values([1.0] * 6, [1.0] * 6, fewest=5, reason="few")
    assert told.auroc.value == 0.5
    assert told.p_value == 1.0


def test_few_that_never_overlap_leave_doubt_and_many_leave_none():
    few = auroc_of_values([2.0, 3.0], [0.0, 1.0], fewest=2, reason="few")
    assert few.auroc.value == 1.0
    assert few.auroc.low < 0.5
    # Two of six choices of two out of four are as extreme.
    assert few.p_value == pytest.approx(1 / 3)
    many = auroc_of_values([float(i) for i in range(20, 40)], [float(i) for i in range(20)], fewest=2, reason="few")
    assert many.auroc.low > 0.7
    assert many.p_value < 1e-6


@pytest.mark.parametrize(("first", "second"), [(4, 50), (50, 4), (0, 5), (1, 1)])
def test_too_few_of_a_group_tell_nothing(first, second):
    told = auroc_of_values([1.0] * first, [0.0] * second, fewest=5, reason="few")
    assert (told.auroc.value, told.auroc.reason, told.p_value) == (None, "few", None)


@pytest.mark.parametrize("seed", range(5))
def test_delong_is_mlstatkits(seed):
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


def _joint(pairs):
    counts = np.zeros((4, 4))
    for one, other in pairs:
        counts[one, other] += 1
    return counts


def _covariance(positive, negative):
    """Return DeLong's covariance of each class patient by patient, pseudo-patients in the placements alone."""

    def placements(own, others):
        return np.array([np.mean([(a > b) + (a == b) / 2 for b in others]) for a in own])

    padded = [[[*(p[k] for p in those), 0, 2] for those in (positive, negative)] for k in (0, 1)]
    areas = [placements(pos, neg).mean() for pos, neg in padded]
    result = []
    for those, sign, other in ((positive, 1, 1), (negative, -1, 0)):
        of_each = []
        for k in (0, 1):
            beats = placements([p[k] for p in those], padded[k][other])
            of_each.append((beats if sign > 0 else 1 - beats) - areas[k])
        n = len(those) + 2
        result.append(float((of_each[0] * of_each[1]).sum()) / n / (n - 1))
    return result


def test_the_error_is_that_of_independent_scores_less_twice_the_covariance():
    rng = np.random.default_rng(4)
    for _ in range(20):
        positive, negative = ([tuple(pair) for pair in rng.integers(0, 3, (size, 2)).tolist()] for size in (9, 12))
        joint = _joint(positive), _joint(negative)
        margins = [[of.sum(axis=axis)[:3] for of in joint] for axis in (1, 0)]
        independent = difference_error(*(measure_error(*of) for of in margins))
        paired = paired_difference_error(*joint)
        assert paired.smoothed == pytest.approx(independent.smoothed)
        expected = float(independent.variance) - 2 * sum(_covariance(positive, negative))
        assert float(paired.variance) == pytest.approx(expected)


def test_models_that_answer_alike_leave_an_error_and_a_smaller_one():
    alike = _joint([(2, 2)] * 12 + [(1, 1)] * 8), _joint([(0, 0)] * 12 + [(1, 1)] * 8)
    margins = [[of.sum(axis=axis)[:3] for of in alike] for axis in (1, 0)]
    independent = difference_error(*(measure_error(*of) for of in margins))
    assert 0 < float(paired_difference_error(*alike).variance) < 0.7 * float(independent.variance)


def test_a_patient_with_one_score_alone_enters_that_auroc_alone():
    both = _joint([(2, 1), (2, 2), (0, 1)]), _joint([(0, 0), (1, 0)])
    one_more = _joint([(2, 1), (2, 2), (0, 1), (3, 0)]), both[1]
    plain, more = paired_difference_error(*both), paired_difference_error(*one_more)
    second = measure_error(one_more[0].sum(axis=0)[:3], both[1].sum(axis=0)[:3])
    first = measure_error(both[0].sum(axis=1)[:3], both[1].sum(axis=1)[:3])
    assert float(more.smoothed) == pytest.approx(float(first.smoothed - second.smoothed))
    assert float(more.smoothed) > float(plain.smoothed)
