"""How many of a patient's notes one generation was copied from, at most and at least (docs/methods.md, section 2).

Owns both bounds around the attribution to the latest note. Knows nothing of how a piece was found.
"""

from collections.abc import Sequence
from typing import NamedTuple


class SourceNotes(NamedTuple):
    """Notes that hold some piece of a generation, and the fewest (found greedily) that hold every piece."""

    any: int
    fewest: int


def count_source_notes(holders: Sequence[Sequence[int]]) -> SourceNotes:
    """Return the notes that hold any piece, and how many cover all of them; `holders` are the notes of each piece.

    The cover is greedy: the note that holds most of the pieces left, and of several the latest. The least cover may be
    smaller, but by a factor of 1 + ln(pieces) at most (Chvatal, 1979).
    """
    left = set(range(len(holders)))
    fewest = 0
    while left:
        held: dict[int, set[int]] = {}
        for piece in left:
            for note in holders[piece]:
                held.setdefault(note, set()).add(piece)
        if not held:
            raise ValueError("a piece without a note that holds it")
        best = max(held, key=lambda note: (len(held[note]), note))
        left -= held[best]
        fewest += 1
    return SourceNotes(len({note for own in holders for note in own}), fewest)
