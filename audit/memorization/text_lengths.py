"""How long memorized text is, in tokens, characters and words, for all regions and for pieces by K (paper 5.2).

Owns what a word is: a run of signs without white space. Knows nothing of patients or notes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.reports.exact.memorization import LengthSummary
from clinaudit.reports.schema.memorization import LENGTH_UNITS, LengthUnit


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
