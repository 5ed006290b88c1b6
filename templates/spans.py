"""Half-open spans and their algebra. Knows nothing of tokens, notes or sections."""

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """Positions `start <= i < end`; the unit (characters or tokens) is the holder's to say."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Whether both share at least one position (touching is not overlapping)."""
        return self.start < other.end and other.start < self.end


def merge_overlapping(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that share at least one position; spans that only touch stay apart (docs/methods.md, section 2)."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
