"""DeLong's error of the difference of two AUROCs of the same patients."""

import numpy as np
import pytest

from clinaudit.audit.statistics.auroc import difference_error, measure_error, paired_difference_error


def _joint(pairs: list[tuple[int, int]]) -> np.ndarray:
    counts = np.zeros((4, 4))
    for one, other in pairs:
        counts[one, other] += 1
    return counts


def _covariance(positive: list[tuple[int, int]], negative: list[tuple[int, int]]) -> list[float]:
    """Return DeLong's covariance of each class patient by patient, pseudo-patients in the placements alone."""

    def placements(own: list[int], others: list[int]) -> np.ndarray:
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
