"""Half-open spans and their algebra."""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Positions `start <= i < end`; the name that holds a span says the unit (characters or tokens)."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Whether both share at least one position (touching is not overlapping)."""
        return self.start < other.end and other.start < self.end

    def at(self, offsets: Sequence[int]) -> "Span":
        """Return this span in another text: position i of this one is `offsets[i]` there."""
        return Span(offsets[self.start], offsets[self.end])
