"""The words of a text, folded as names are compared, each with where it stands in the text.

Owns the way back from a folded word to its characters. Knows nothing of names.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from clinaudit.audit.pii.values.normal_form import fold_words

_APOSTROPHE: Final = r"['’‘ʼ`´]"
#: Letters with their combining marks, and apostrophes between them.
_WORD: Final = re.compile(rf"[^\W_][^\W_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W_]*)*(?:{_APOSTROPHE}[^\W_]+)*")
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:['`][A-Za-z0-9]+)*")
_GENITIVES: Final = ("'s", "’s", "‘s", "ʼs", "'S", "’S")


class FoldedWord(NamedTuple):
    """A word in lower case without accents and apostrophes, at characters `start` to `end` of the text."""

    text: str
    start: int
    end: int


def folded_words(text: str) -> list[FoldedWord]:
    """Return the words of a text; the `'s` of a genitive belongs to none."""
    if text.isascii() and "'" not in text and "`" not in text:
        lower = text.lower()
        return [FoldedWord(match[0], *match.span()) for match in _ASCII_WORD.finditer(lower)]
    found: list[FoldedWord] = []
    for match in _WORD.finditer(text):
        written = match[0]
        if written.endswith(_GENITIVES):
            written = written[:-2]
        found.append(FoldedWord(_fold(written), match.start(), match.start() + len(written)))
    return found


@lru_cache(maxsize=100_000)
def _fold(word: str) -> str:
    return fold_words(word).replace(" ", "")
