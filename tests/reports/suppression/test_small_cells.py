"""Counts, breakdowns and rates by themselves: nothing published gives a count of 1 to 10 patients back."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results.planted_disclosure import wilson

from clinaudit.reports.schema.estimate import REASON, Estimate
from clinaudit.reports.suppression.small_cells import (
    blur,
    grid_cell,
    grid_width,
    hidden_range,
    suppress_breakdown,
    suppress_count,
    suppress_rate,
    without_numbers,
)


@pytest.mark.parametrize(
    ("count", "total", "published"),
    [
        (0, None, 0),
        (1, None, None),
        (10, None, None),
        (11, None, 11),
        (None, None, None),
        (89, 100, 89),
        (90, 100, None),
        (100, 100, 100),
        (0, 5, None),
    ],
)
def test_publish_count(count: int | None, total: int | None, published: int | None) -> None:
    assert suppress_count(count, total=total) == published


@pytest.mark.parametrize(
    ("counts", "hidden"),
    [
        ({"a": 50, "b": 30, "c": 0}, set()),
        ({"a": 50, "b": 30, "c": 4}, {"a", "c"}),  # one hidden cell is joined by the first other by name
        ({"a": 50, "b": 7, "c": 8}, {"b", "c"}),  # two that hold 15 together are enough
        ({"a": 50, "b": 10, "c": 10}, {"a", "b", "c"}),  # two that hold 20 together can only be ten each
        ({"a": 50, "b": 2, "c": 3}, {"a", "b", "c"}),  # 5 together would be a small count themselves
        ({"a": 50, "b": 3, "c": 0}, {"a", "b"}),  # a zero hides nobody
        ({"a": 4}, {"a"}),
        ({"a": None, "b": 40}, {"a", "b"}),
        ({}, set()),
    ],
)
def test_publish_breakdown(counts: dict[str, int | None], hidden: set[str]) -> None:
    published = suppress_breakdown(counts)
    assert {key for key, count in published.items() if count is None} == hidden
    assert all(published[key] == counts[key] for key in counts if key not in hidden)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=7))
def test_a_hidden_cell_cannot_be_had_back_from_the_total(cells: list[int]) -> None:
    counts: dict[str, int | None] = {str(place): count for place, count in enumerate(cells)}
    published = suppress_breakdown(counts)
    hidden = [key for key, count in published.items() if count is None]
    if hidden and sum(cells) > 10:
        rest = sum(cells) - sum(count for count in published.values() if count is not None)
        assert len(hidden) >= 2
        assert rest > 10
        # Brute force: the attacker knows the rest, and that no hidden cell is zero.
        for key in hidden:
            others = len(hidden) - 1
            possible = [value for value in range(1, rest) if rest - value >= others]
            assert len(possible) > 1, key


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [
        (0, 60, None),
        (60, 60, None),
        (3, 60, (1, 10)),
        (55, 60, (50, 59)),
        (30, 60, None),
        # Of twenty either side may be small: which of them is hidden is not told.
        (8, 15, (1, 14)),
        (3, 15, (1, 14)),
        (10, 20, (1, 19)),
        (0, 20, None),
        (20, 20, None),
        (10, 21, (1, 10)),
    ],
)
def test_hidden_range(count: int, total: int, expected: tuple[int, int] | None) -> None:
    assert hidden_range(count, total) == expected


def test_a_suppressed_rate_is_the_range_of_its_hidden_count() -> None:
    assert suppress_rate(wilson(3, 50)) == Estimate(value=None, low=1 / 50, high=10 / 50, reason=REASON)
    assert suppress_rate(wilson(49, 50)) == Estimate(value=None, low=40 / 50, high=49 / 50, reason=REASON)
    assert suppress_rate(wilson(0, 50)) == wilson(0, 50)
    assert suppress_rate(wilson(2, 8)) == Estimate(value=None, reason=REASON)


def test_every_hidden_count_is_published_alike() -> None:
    assert len({suppress_rate(wilson(count, 50)).model_dump_json() for count in range(1, 11)}) == 1


def test_a_rate_without_its_n_is_withheld() -> None:
    assert suppress_rate(Estimate(value=0.5, low=0.4, high=0.6)) == Estimate(value=None, reason=REASON)


def test_generations_of_few_patients_raise_the_threshold() -> None:
    assert suppress_rate(wilson(18, 300), patients_per_unit=2).value is None
    assert suppress_rate(wilson(21, 300), patients_per_unit=2).value == pytest.approx(0.07)


def test_grid_cells_are_centred_on_no_leakage() -> None:
    assert grid_width(100) == pytest.approx(0.1)
    assert grid_width(45) == pytest.approx(0.25)
    assert grid_width(20) is None  # 0.5 wide: says nothing
    assert grid_width(0) is None
    cell = grid_cell(0.51, width=0.1, centre=0.5, floor=0.0, ceiling=1.0)
    assert (cell.low, cell.high) == (pytest.approx(0.45), pytest.approx(0.55))
    top = grid_cell(0.99, width=0.25, centre=0.5, floor=0.0, ceiling=1.0)
    assert (top.low, top.high) == (pytest.approx(0.875), 1.0)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 1.0])
def test_no_blurred_rate_tells_the_number_of_patients(fraction: float) -> None:
    # From 11 to 300, three or more in a row have the same bounds; what divides them is the value's to tell.
    bounds = [
        (blurred.low, blurred.high) for n in range(11, 303) for blurred in [blur(wilson(fraction * n, n), patients=n)]
    ]
    runs = [len(list(same)) for _, same in itertools.groupby(bounds)]
    assert min(runs[:-1]) >= 3


def test_blur_rounds_bounds_outwards_and_drops_n() -> None:
    blurred = blur(Estimate(value=0.4576, low=0.3412, high=0.5788, n=59))
    assert blurred == Estimate(value=0.46, low=0.34, high=0.58)
    assert blur(Estimate(value=0.4, low=0.34, high=0.58, n=5)) == Estimate(value=0.4, low=0.34, high=0.58)


@pytest.mark.parametrize(
    ("reason", "is_kept"),
    [
        ("one class only", True),
        ("more than 1% of the resamples leave this undefined", True),
        ("only 7 patients mention it", False),
        ("31.25% mention it", False),
        ("7 of 100% were kept", False),
    ],
)
def test_reasons_with_numbers_are_replaced(reason: str, is_kept: bool) -> None:
    assert (without_numbers(reason) == reason) is is_kept
