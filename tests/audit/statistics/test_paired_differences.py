"""Paired differences by hand: intervals that do not collapse, McNemar's test, the change of an area."""

import numpy as np
import pytest

from clinaudit.audit.statistics.paired_differences import (
    ScoredPairs,
    mcnemar_p_value,
    measure_auroc_change,
    paired_difference,
)


def test_a_paired_difference_by_hand() -> None:
    # Changes -0.5, 0, +0.1, -0.2: mean -0.15.
    difference = paired_difference(np.array([0.5, 0, 0.1, 0.2]), np.array([0, 0, 0.2, 0.0]), seed=0)
    assert difference.value == pytest.approx(-0.15)
    assert difference.n == 4


def test_where_nobody_changed_the_interval_does_not_collapse() -> None:
    difference = paired_difference(np.full(100, 0.3), np.full(100, 0.3), seed=0)
    # Clopper and Pearson's upper end for 0 of 100, on either side.
    end = 1 - 0.025 ** (1 / 100)
    assert (difference.value, difference.low, difference.high) == (0, pytest.approx(-end), pytest.approx(end))


def test_pairs_tell_more_than_two_samples_would() -> None:
    before = np.linspace(0.1, 0.9, 100)
    difference = paired_difference(before, before - 0.05, seed=0)
    assert difference.high is not None
    # Two samples of 100 with this spread could not tell: their chance alone is wider.
    assert difference.high < 0 < -0.05 + 1.96 * before.std() * (2 / 100) ** 0.5


def test_mcnemar_by_hand() -> None:
    # 1 against 5: 2 (6 choose 0 + 6 choose 1) / 2^6.
    assert mcnemar_p_value(1, 5) == pytest.approx(2 * 7 / 64)
    assert mcnemar_p_value(0, 0) == 1.0


def test_the_interval_of_an_area_that_never_changed_has_a_width() -> None:
    scores = np.full(50, 1)
    change = measure_auroc_change(
        ScoredPairs(scores, scores), ScoredPairs(scores, scores), rng=np.random.default_rng(0)
    )
    assert change is not None
    assert change.value == 0
    assert min(change.variances) > 0
    assert (
        measure_auroc_change(
            ScoredPairs(scores, scores), ScoredPairs(scores[:0], scores[:0]), rng=np.random.default_rng(0)
        )
        is None
    )
