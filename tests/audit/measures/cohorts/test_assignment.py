"""Optimal assignment against the dense one, and by brute force: pruned candidates, ties, scarce controls."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from clinaudit.audit.measures.cohorts import matchers
from clinaudit.audit.measures.cohorts.matchers import Points, assign_optimally, match_pairs


def total(cases: Points, controls: Points, chosen: np.ndarray) -> float:
    return float(((cases - controls[chosen]) ** 2).sum())


def dense_total(cases: Points, controls: Points) -> float:
    costs = cdist(cases, controls, "sqeuclidean")
    return float(costs[linear_sum_assignment(costs)].sum())


@given(st.integers(0, 10**9), st.integers(1, 25), st.integers(0, 80), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_the_total_is_that_of_the_dense_assignment(seed: int, cases: int, more: int, first_look: int):
    # Few distinct points, so that many cases want the same controls and distances tie.
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, (cases, 3)).astype(float)
    second = rng.integers(rng.integers(0, 3), 6, (cases + more, 3)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matchers, "_FEW_CONTROLS", 0)
        patch.setattr(matchers, "_FIRST_LOOK", first_look)
        chosen = assign_optimally(first, second)
    assert len(set(chosen.tolist())) == cases
    assert total(first, second, chosen) == pytest.approx(dense_total(first, second))


def test_the_total_is_least_of_all_assignments_by_brute_force():
    rng = np.random.default_rng(4)
    for _ in range(30):
        first, second = rng.integers(0, 3, (3, 2)).astype(float), rng.integers(0, 4, (14, 2)).astype(float)
        least = min(
            total(first, second, np.array(chosen)) for chosen in itertools.permutations(range(len(second)), len(first))
        )
        assert total(first, second, assign_optimally(first, second)) == pytest.approx(least)


def test_cases_that_crowd_one_corner_take_controls_far_beyond_their_first_candidates():
    # Every case is the same; the nearest controls of each are the same few.
    cases = np.zeros((40, 1))
    controls = np.arange(400, dtype=float)[::-1, None]
    assert sorted(assign_optimally(cases, controls).tolist()) == list(range(360, 400))


def test_a_thousand_cases_agree_with_the_dense_assignment():
    rng = np.random.default_rng(0)
    cases = np.column_stack([rng.normal(1, 1, 1000).round(1), rng.random(1000) < 0.6, rng.geometric(0.2, 1000)])
    controls = np.column_stack([rng.normal(0, 1, 6000).round(1), rng.random(6000) < 0.5, rng.geometric(0.25, 6000)])
    chosen = assign_optimally(cases, controls)
    assert total(cases, controls, chosen) == pytest.approx(dense_total(cases, controls))


def test_more_cases_than_controls_are_refused_here_and_turned_round_by_the_matcher():
    rng = np.random.default_rng(1)
    few, many = rng.normal(size=(5, 3)), rng.normal(size=(30, 3))
    with pytest.raises(ValueError, match="as many controls"):
        assign_optimally(many, few)
    there = match_pairs(few, many, matcher="optimal").pairs
    back = match_pairs(many, few, matcher="optimal").pairs
    assert sorted(there) == sorted((row, column) for column, row in back)
