"""Kappa and alpha against values worked out by hand, another implementation, and each other's definitions."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from clinaudit.audit.statistics.agreement import cohen_kappa, krippendorff_alpha, measure_agreement, measure_alpha


def ratings(table: np.ndarray) -> tuple[list[int], list[int]]:
    pairs = [(i, j) for i in range(len(table)) for j in range(len(table)) for _ in range(int(table[i, j]))]
    return [i for i, _ in pairs], [j for _, j in pairs]


def alpha_by_pairs(table: np.ndarray) -> float:
    """Krippendorff's definition, pair by pair: observed over expected disagreement of all pooled ratings."""
    first, second = ratings(table)
    pooled = first + second
    observed = np.mean([a != b for a, b in zip(first, second, strict=True)])
    pairs = [(a, b) for i, a in enumerate(pooled) for j, b in enumerate(pooled) if i != j]
    return float(1 - observed / np.mean([a != b for a, b in pairs]))


def test_kappa_by_hand() -> None:
    # 35 of 50 alike (0.7); by chance (25 * 30 + 25 * 20) / 2500 = 0.5; (0.7 - 0.5) / (1 - 0.5) = 0.4.
    assert cohen_kappa(np.array([[20.0, 5.0], [10.0, 15.0]])) == pytest.approx(0.4)


def test_alpha_by_hand() -> None:
    # Krippendorff (2011), binary data of two observers: 1 - (20 - 1) * 4 / (14 * 6) = 0.095.
    assert krippendorff_alpha(np.array([[5.0, 3.0], [1.0, 1.0]])) == pytest.approx(1 - 19 * 4 / 84)


@pytest.mark.parametrize("seed", range(20))
def test_both_match_their_definitions_on_random_tables(seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 9, size=(4, 4)).astype(float)
    first, second = ratings(table)
    assert cohen_kappa(table) == pytest.approx(cohen_kappa_score(first, second))
    assert krippendorff_alpha(table) == pytest.approx(alpha_by_pairs(table))
    assert krippendorff_alpha(table) == pytest.approx(krippendorff_alpha(table.T))


def test_tables_are_measured_all_at_once() -> None:
    tables = np.random.default_rng(0).integers(1, 9, size=(5, 4, 4)).astype(float)
    assert cohen_kappa(tables) == pytest.approx([float(cohen_kappa(table)) for table in tables])
    assert krippendorff_alpha(tables) == pytest.approx([float(krippendorff_alpha(table)) for table in tables])


def test_intervals_hold_the_figures_and_shrink_with_the_texts() -> None:
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    few, many = measure_agreement(table, seed=1), measure_agreement(20 * table, seed=1)
    for name in ("agreement", "kappa", "alpha"):
        narrow, wide = getattr(many, name), getattr(few, name)
        assert wide.low < wide.value < wide.high
        assert narrow.value == pytest.approx(wide.value, abs=0.02)
        assert narrow.high - narrow.low < (wide.high - wide.low) / 3
    # The large-sample error of kappa at this table is 0.127 (Fleiss, Cohen and Everitt 1969).
    assert few.kappa.high - few.kappa.low == pytest.approx(2 * 1.96 * 0.127, abs=0.05)
    assert measure_agreement(table, seed=1) == few


def test_no_texts_one_class_and_perfect_agreement_are_said() -> None:
    nothing = measure_agreement(np.zeros((4, 4)), seed=0)
    assert all(figure.value is None and figure.reason for figure in (nothing.agreement, nothing.kappa, nothing.alpha))
    one_class = measure_agreement(np.diag([9.0, 0, 0, 0]), seed=0)
    assert one_class.agreement.value == 1
    assert one_class.kappa.value is None
    assert one_class.alpha.value is None
    perfect = measure_agreement(np.diag([9.0, 9, 9, 9]), seed=0)
    assert perfect.kappa.value == perfect.alpha.value == 1
    assert perfect.kappa.low is None
    assert perfect.kappa.reason is not None


#: Four observers of twelve units, five classes, some values missing (Krippendorff 2011, "Computing alpha", C).
OBSERVED = """
1 1 . 1   2 2 3 2   3 3 3 3   3 3 3 3   2 2 2 2   1 2 3 4
4 4 4 4   1 1 2 1   2 2 2 2   . 5 5 5   . . 1 1   . 3 . .
"""


def ratings_of(observed: str, *, observers: int, classes: str) -> np.ndarray:
    values = observed.split()
    units = [values[place : place + observers] for place in range(0, len(values), observers)]
    return np.array([[unit.count(name) for name in classes] for unit in units], dtype=float)


def test_alpha_of_several_raters_is_that_of_the_published_example() -> None:
    alpha = measure_alpha(ratings_of(OBSERVED, observers=4, classes="12345"), seed=0)
    assert alpha.value == pytest.approx(0.743, abs=5e-4)
    # One unit has a single rating, which says nothing of agreement.
    assert alpha.n == 11
    assert alpha.low is not None
    assert alpha.high is not None
    assert alpha.low < 0.743 < alpha.high


def test_alpha_of_two_raters_is_the_same_either_way() -> None:
    table = np.array([[5.0, 3.0], [1.0, 1.0]])
    units = np.array([[2, 0]] * 5 + [[1, 1]] * 4 + [[0, 2]], dtype=float)
    assert measure_alpha(units, seed=0).value == pytest.approx(float(krippendorff_alpha(table)))


@pytest.mark.parametrize(
    ("units", "reason"), [([[1, 0], [0, 1]], "nothing to count"), ([[3, 0], [2, 0]], "one and the same class")]
)
def test_alpha_of_nothing_or_of_one_class_is_none(units: list[list[int]], reason: str) -> None:
    alpha = measure_alpha(np.array(units, dtype=float), seed=0)
    assert alpha.value is None
    assert reason in (alpha.reason or "")
