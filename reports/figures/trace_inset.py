"""Where traces crowd on a panel, and where there is room to show that place larger (AMNESIA, Figure 3's insets).

A trace is a system's points on the panel. Chooses which place is enlarged, and where the inset goes. The paper's insets
show two named methods; ours shows the square with most marks. Knows nothing of how marks are drawn: shapes, colours,
SVG. Shares are from 0 to 1, across from the left, up from the bottom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: Across and up.
Point = tuple[float, float]
#: Sides of the square that is shown larger [choice], and the fewest points that are a crowd.
WINDOW_SIDE: Final = 0.15
FEWEST: Final = 3
#: Sides of the inset, as shares of the panel's, and how far it stands from the edges.
INSET_WIDTH: Final = 0.42
INSET_HEIGHT: Final = 0.4
_MARGIN: Final = 0.04


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a panel."""

    across: float
    up: float
    width: float
    height: float

    def holds(self, point: Point) -> bool:
        """Whether a point lies within, or on the edge."""
        # Ends are sums of rounded figures.
        slack = 1e-9
        return (
            self.across - slack <= point[0] <= self.across + self.width + slack
            and self.up - slack <= point[1] <= self.up + self.height + slack
        )

    def overlaps(self, other: "Box") -> bool:
        """Whether two boxes share more than an edge."""
        return (
            self.across < other.across + other.width
            and other.across < self.across + self.width
            and self.up < other.up + other.height
            and other.up < self.up + self.height
        )


def crowded_window(points: Sequence[Point]) -> Box | None:
    """Return the square that holds most points, at least three; None where no square does.

    Of several the leftmost, of these the lowest; it lies within the panel, its points in the middle.
    """
    best: list[Point] = []
    for across in sorted({point[0] for point in points}):
        for up in sorted({point[1] for point in points}):
            box = Box(across, up, WINDOW_SIDE, WINDOW_SIDE)
            held = [point for point in points if box.holds(point)]
            best = held if len(held) > len(best) else best
    if len(best) < FEWEST:
        return None
    middle = [(min(own) + max(own)) / 2 for own in zip(*best, strict=True)]
    across, up = (min(max(0.0, own - WINDOW_SIDE / 2), 1 - WINDOW_SIDE) for own in middle)
    return Box(across, up, WINDOW_SIDE, WINDOW_SIDE)


def room_for_inset(points: Sequence[Point], window: Box) -> Box | None:
    """Return a corner, the middle of a side or that of the panel; None where each covers a point or the window.

    An inset is opaque: a model under it would be missing from the figure.
    """
    right, top = 1 - _MARGIN - INSET_WIDTH, 1 - _MARGIN - INSET_HEIGHT
    centre = (1 - INSET_WIDTH) / 2, (1 - INSET_HEIGHT) / 2
    places = [(across, up) for up in (top, _MARGIN, centre[1]) for across in (right, _MARGIN, centre[0])]
    boxes = [Box(across, up, INSET_WIDTH, INSET_HEIGHT) for across, up in places]
    free = (box for box in boxes if not box.overlaps(window) and not any(map(box.holds, points)))
    return next(free, None)
