"""Bars: what of a number is solid, pale, a line, and where the policy's limit stands."""

import pytest

from clinaudit.reports.figures.bars import (
    Mark,
    MarkKind,
    Scale,
    difference_bar,
    difference_scale,
    fitting_scale,
    share_bar,
    stacked_bar,
)
from clinaudit.reports.schema.numbers import EstimateRange

RANGE = EstimateRange(low=0.4, high=0.6, confidence_low=0.3, confidence_high=0.75)
EXACT = EstimateRange(value=0.5, low=0.5, high=0.5)
ABSENT = EstimateRange(reason="nobody to count")


def test_a_range_is_solid_up_to_its_low_end_and_pale_to_its_high_end() -> None:
    marks = share_bar(RANGE, series="trained", limit=0.05).marks
    assert marks == (Mark("solid", 0.0, 40.0), Mark("pale", 40.0, 20.0), Mark("chance", 30.0, 45.0), Mark("limit", 5.0))


def test_an_exact_number_has_nothing_pale() -> None:
    assert share_bar(EXACT, series="never").marks == (Mark("solid", 0.0, 50.0),)


def test_a_whole_percent_is_drawn_as_the_number_that_is_published() -> None:
    mean = EstimateRange(value=0.71, low=0.705, high=0.715, confidence_low=0.62, confidence_high=0.79)
    marks = share_bar(mean, series="trained").marks
    assert marks == (Mark("solid", 0.0, 71.0), Mark("chance", 62.0, 17.0))


@pytest.mark.parametrize("estimate", [ABSENT, None])
def test_a_number_that_is_missing_draws_no_bar_of_zero(estimate: EstimateRange | None) -> None:
    assert share_bar(estimate, series="trained").marks == ()
    assert {mark.kind for mark in difference_bar(estimate, scale=Scale(-1, 1)).marks} == {"zero"}


def test_a_difference_is_placed_between_its_ends_with_a_line_at_zero() -> None:
    marks = difference_bar(EstimateRange(low=-0.25, high=0.5), scale=Scale(-0.5, 0.5), limit=0.25).marks
    assert marks == (Mark("zero", 50.0), Mark("pale", 25.0, 75.0), Mark("limit", 75.0))
    assert Mark("solid", 66.67) in difference_bar(EXACT, scale=Scale(-0.5, 1.0)).marks


def test_parts_of_a_stack_follow_each_other_and_unknown_ones_take_no_room() -> None:
    parts: tuple[tuple[MarkKind, float | None], ...] = (
        ("revealing-single", 0.2),
        ("revealing-shared", None),
        ("templated-single", 0.1),
    )
    assert stacked_bar(parts, scale=Scale(0.0, 0.4)).marks == (
        Mark("revealing-single", 0.0, 50.0),
        Mark("templated-single", 50.0, 25.0),
    )


def test_what_lies_outside_a_scale_stands_at_its_end_and_a_limit_outside_is_not_drawn() -> None:
    bar = share_bar(RANGE, series="trained", scale=Scale(0.0, 0.2), limit=0.5)
    assert bar.marks[0] == Mark("solid", 0.0, 100.0)
    assert "limit" not in {mark.kind for mark in bar.marks}


@pytest.mark.parametrize(
    ("highest", "limit", "end"), [(0.7, 0.05, 1.0), (0.03, 0.05, 0.1), (0.004, None, 0.02), (0.01, 0.1, 0.2)]
)
def test_a_scale_of_shares_holds_all_numbers_and_twice_the_limit(
    highest: float, limit: float | None, end: float
) -> None:
    assert fitting_scale([EstimateRange(value=highest), ABSENT, None], limit=limit) == Scale(0.0, end)


def test_a_scale_of_differences_grows_to_both_sides() -> None:
    small = EstimateRange(low=-0.1, high=0.1)
    assert difference_scale([small], limit=0.1) == Scale(-0.25, 0.25)
    assert difference_scale([small, EstimateRange(low=-0.6, high=0.3)], limit=0.25) == Scale(-1.0, 0.5)
