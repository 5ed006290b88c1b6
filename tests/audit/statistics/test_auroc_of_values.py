"""The AUROC of plain numbers: pairs counted one by one, hand cases, and how often chance is called a difference."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.audit.statistics.auroc import auroc_of_values

_VALUES = st.lists(st.sampled_from([-3.5, -1.0, 0.0, 0.25, 7.0, 900.0]), min_size=2, max_size=9)


@given(_VALUES, _VALUES)
def test_it_counts_pairs(first: list[float], second: list[float]) -> None:
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(first, second)]
    told, swapped = (auroc_of_values(*both, fewest=2, reason="few") for both in ((first, second), (second, first)))
    assert told.auroc.value == pytest.approx(sum(pairs) / len(pairs))
    assert told.auroc.n == len(first) + len(second)
    # Which group is first changes the side, not the strength.
    assert swapped.auroc.value == pytest.approx(1 - (told.auroc.value or 0))
    assert swapped.auroc.low == pytest.approx(1 - (told.auroc.high or 0))
    assert swapped.p_value == pytest.approx(told.p_value)


def test_equal_groups_are_not_told_apart() -> None:
    told = auroc_of_values([1.0] * 6, [1.0] * 6, fewest=5, reason="few")
    assert told.auroc.value == 0.5
    assert told.p_value == 1.0


def test_few_that_never_overlap_leave_doubt_and_many_leave_none() -> None:
    few = auroc_of_values([2.0, 3.0], [0.0, 1.0], fewest=2, reason="few")
    assert few.auroc.value == 1.0
    assert few.auroc.low is not None
    assert few.auroc.low < 0.5
    # Two of six choices of two out of four are as extreme.
    assert few.p_value == pytest.approx(1 / 3)
    many = auroc_of_values([float(i) for i in range(20, 40)], [float(i) for i in range(20)], fewest=2, reason="few")
    assert many.auroc.low is not None
    assert many.auroc.low > 0.7
    assert many.p_value is not None
    assert many.p_value < 1e-6


@pytest.mark.parametrize(("first", "second"), [(4, 50), (50, 4), (0, 5), (1, 1)])
def test_too_few_of_a_group_tell_nothing(first: int, second: int) -> None:
    told = auroc_of_values([1.0] * first, [0.0] * second, fewest=5, reason="few")
    assert (told.auroc.value, told.auroc.reason, told.p_value) == (None, "few", None)


def test_without_a_difference_it_is_seldom_shown() -> None:
    rng = random.Random(3)
    shown = 0
    for _ in range(400):
        told = auroc_of_values(
            [rng.gauss(0, 1) for _ in range(7)], [rng.gauss(0, 1) for _ in range(40)], fewest=5, reason="few"
        )
        shown += (told.p_value or 0) < 0.05
    # 5% of 400 are 20; 1 of 10,000 such tests sees over 37.
    assert shown <= 37
