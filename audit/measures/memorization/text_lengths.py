"""How long memorized text is, in tokens, characters and words (paper 5.2), and from how many notes it was copied.

Owns what a word is: a run of signs without white space. Knows nothing of patients or notes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.reports.schema.memorization import LENGTH_UNITS, LengthSummary, LengthUnit


class TextLength(NamedTuple):
    """The length of one stretch of generated text."""

    tokens: int
    characters: int
    words: int


def measure_length(text: str, tokens: int) -> TextLength:
    """Return the length of a text of so many tokens."""
    return TextLength(tokens, len(text), len(text.split()))


def summarize_text(lengths: Iterable[TextLength]) -> dict[LengthUnit, LengthSummary]:
    """Return the distribution of lengths in each unit."""
    listed = list(lengths)
    return {unit: summarize_lengths([getattr(length, unit) for length in listed]) for unit in LENGTH_UNITS}


def summarize_lengths(lengths: Sequence[int]) -> LengthSummary:
    """Return the distribution of lengths; all null where there are none."""
    if not lengths:
        return LengthSummary(mean=None, median=None, p90=None, max=None)
    median, p90 = np.quantile(lengths, (0.5, 0.9))
    return LengthSummary(mean=float(np.mean(lengths)), median=float(median), p90=float(p90), max=max(lengths))


class SourceCount(NamedTuple):
    """Notes that hold some piece of a generation, and the fewest (found greedily) that hold every piece."""

    any: int
    fewest: int


def count_source_notes(holders: Sequence[Sequence[int]]) -> SourceCount:
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
    return SourceCount(len({note for own in holders for note in own}), fewest)
