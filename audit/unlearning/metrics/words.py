"""Texts as words, as the leakage score compares them (AMNESIA, appendix E.2).

Owns what a word is: a run of letters and digits, in lower case. Knows nothing of keywords or answers.
"""

import re
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
Words = tuple[str, ...]


def words_of(text: str) -> Words:
    """Return the words of a text, in order."""
    return tuple(_WORD.findall(text.lower()))


def count_occurrences(phrase: Sequence[str], words: Sequence[str]) -> int:
    """Return at how many places the words of a phrase stand one after the other; a phrase without words nowhere."""
    size = len(phrase)
    if not size:
        return 0
    return sum(
        words[start] == phrase[0] and tuple(words[start : start + size]) == tuple(phrase)
        for start in range(len(words) - size + 1)
    )


def stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a phrase stand one after the other somewhere among the words."""
    return count_occurrences(phrase, words) > 0
