"""AUROC and its variance against hand counts, brute-force twins and scikit-learn."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinaudit.audit.statistics.auroc import auroc_of_counts, delong_variances, measure_error, roc_points

_LEVELS = (0.0, 0.5, 1.0)
_SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=12)


def count(scores: Sequence[float]) -> np.ndarray:
    return np.array([list(scores).count(level) for level in _LEVELS], float)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    return float(auroc_of_counts(count(positive), count(negative)))


def _kernel(positive: float, negative: float) -> float:
    return 1.0 if positive > negative else 0.5 if positive == negative else 0.0


def _brute_force_area(positive: list[float], negative: list[float]) -> float:
    return float(np.mean([_kernel(x, y) for x, y in itertools.product(positive, negative)]))


def _brute_force_variance(positive: list[float], negative: list[float]) -> float:
    """Return DeLong, DeLong and Clarke-Pearson's formula, pair by pair."""
    of_positives = [np.mean([_kernel(x, y) for y in negative]) for x in positive]
    of_negatives = [np.mean([_kernel(x, y) for x in positive]) for y in negative]
    return float(np.var(of_positives, ddof=1) / len(positive) + np.var(of_negatives, ddof=1) / len(negative))


def test_auroc_with_ties_by_hand():
    # Nine pairs: 1 beats ½ and 0, 0; ½ ties ½ and beats 0, 0; 0 loses to ½ and ties 0, 0: (3 + 2.5 + 1) / 9.
    assert auroc([1, 0.5, 0], [0.5, 0, 0]) == pytest.approx(6.5 / 9)


@pytest.mark.parametrize(
    ("positive", "negative", "area"),
    [([1, 1], [0, 0], 1.0), ([0, 0], [1], 0.0), ([0.5] * 4, [0.5] * 3, 0.5)],
)
def test_ends_of_the_scale(positive: list[float], negative: list[float], area: float):
    assert auroc(positive, negative) == area


def test_auroc_without_both_classes_is_no_number():
    assert np.isnan(auroc([1.0], []))
    assert np.isnan(auroc_of_counts(np.zeros(3), np.ones(3)))


@given(_SCORES, _SCORES)
@settings(max_examples=150, deadline=None)
def test_area_and_variance_against_brute_force_and_scikit_learn(positive: list[float], negative: list[float]):
    from sklearn.metrics import roc_auc_score

    area = auroc(positive, negative)
    assert area == pytest.approx(_brute_force_area(positive, negative))
    labels = [1] * len(positive) + [0] * len(negative)
    assert area == pytest.approx(roc_auc_score(labels, positive + negative))
    assert sum(delong_variances(count(positive), count(negative))) == pytest.approx(
        _brute_force_variance(positive, negative)
    )


def test_counts_are_vectorized_over_resamples():
    positive, negative = np.array([[1, 0, 2], [0, 4, 0]]), np.array([[3, 1, 0], [2, 1, 1]])
    both = auroc_of_counts(positive, negative)
    assert both.tolist() == [
        auroc([0, 1, 1], [0, 0, 0, 0.5]),
        auroc([0.5] * 4, [0, 0, 0.5, 1]),
    ]


def test_variances_are_vectorized_over_resamples():
    positive, negative = np.array([[1.0, 0, 2], [0, 4, 1]]), np.array([[3.0, 1, 0], [2, 1, 1]])
    both = delong_variances(positive, negative)
    for row in range(2):
        alone = delong_variances(positive[row], negative[row])
        assert [of_class[row] for of_class in both] == pytest.approx(alone)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [([0, 50, 0], [0, 50, 0]), ([0, 0, 50], [50, 0, 0]), ([50, 0, 0], [50, 0, 0])],
)
def test_the_variance_of_an_error_never_vanishes(positive: list[int], negative: list[int]):
    first, second = np.array(positive, float), np.array(negative, float)
    assert sum(delong_variances(first, second)) == 0
    # A rule of three at n = 50: neither certainty nor a shrug.
    assert 0.005 < measure_error(first, second).standard < 0.03


def test_the_variance_of_an_error_is_delongs_own_with_many_patients():
    rng = np.random.default_rng(5)
    first = rng.multinomial(2000, [0.2, 0.5, 0.3]).astype(float)
    second = rng.multinomial(2000, [0.3, 0.6, 0.1]).astype(float)
    assert measure_error(first, second).variance == pytest.approx(sum(delong_variances(first, second)), rel=0.01)


def test_variance_needs_two_patients_a_class():
    with pytest.raises(ValueError, match="two patients"):
        delong_variances(np.array([1.0, 0, 0]), np.array([1.0, 1, 0]))


def test_roc_points_by_hand():
    points = roc_points([0, 0.5, 1], np.array([1, 1, 2]), np.array([3, 0, 1]))
    assert points is not None
    assert [(p.threshold, p.true_positive_rate, p.false_positive_rate) for p in points] == [
        (2, 0, 0),
        (1, 0.5, 0.25),
        (0.5, 0.75, 0.25),
        (0, 1, 1),
    ]
    area = sum(
        (b.false_positive_rate - a.false_positive_rate) * (a.true_positive_rate + b.true_positive_rate) / 2
        for a, b in itertools.pairwise(points)
    )
    assert area == pytest.approx(auroc([0, 0.5, 1, 1], [0, 0, 0, 1]))
    assert roc_points([0, 1], np.zeros(2), np.ones(2)) is None
