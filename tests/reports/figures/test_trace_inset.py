"""Where an inset goes: the square that holds most marks, and a place that hides none."""

import pytest

from clinaudit.reports.figures.trace_inset import WINDOW_SIDE, Box, crowded_window, room_for_inset

CROWD = [(0.02, 0.95), (0.03, 0.97), (0.04, 0.93)]
FAR = [(0.9, 0.1), (0.88, 0.12)]


def test_the_window_holds_the_crowd_in_its_middle_and_stays_on_the_panel() -> None:
    window = crowded_window([*FAR, *CROWD])
    assert window is not None
    assert all(window.holds(point) for point in CROWD)
    assert (window.across, window.up) == (0.0, pytest.approx(1 - WINDOW_SIDE))
    middle = crowded_window([(0.5, 0.5), (0.52, 0.5), (0.5, 0.54)])
    assert middle is not None
    assert (middle.across, middle.up) == pytest.approx((0.51 - WINDOW_SIDE / 2, 0.52 - WINDOW_SIDE / 2))


@pytest.mark.parametrize("points", [[], FAR, [(0.1, 0.1), (0.5, 0.5), (0.9, 0.9)]])
def test_two_marks_or_scattered_ones_are_no_crowd(points: list[tuple[float, float]]) -> None:
    assert crowded_window(points) is None


def test_marks_just_beyond_the_square_are_not_in_it() -> None:
    assert crowded_window([(0.2, 0.2), (0.2 + WINDOW_SIDE, 0.2), (0.2, 0.2 + WINDOW_SIDE)]) is not None
    assert crowded_window([(0.2, 0.2), (0.201 + WINDOW_SIDE, 0.2), (0.2, 0.2)]) is None


def test_the_inset_covers_neither_the_window_nor_marks() -> None:
    for corner in ((0.0, 0.85), (0.85, 0.85), (0.0, 0.0), (0.85, 0.0), (0.4, 0.4)):
        window = Box(*corner, WINDOW_SIDE, WINDOW_SIDE)
        room = room_for_inset([*FAR, *CROWD], window)
        assert room is not None
        assert not room.overlaps(window)
        assert not any(room.holds(point) for point in [*FAR, *CROWD])


def test_where_every_place_would_hide_a_mark_there_is_no_inset() -> None:
    thirds = [0.2, 0.5, 0.8]
    window = Box(0.4, 0.4, WINDOW_SIDE, WINDOW_SIDE)
    assert room_for_inset([(across, up) for across in thirds for up in thirds], window) is None
