"""Where a value that is masked stands once more, written otherwise: split over lines, spaced, in other letters.

Owns the comparison: letters and digits alone, folded, one after the other. Knows nothing of how identifiers are found.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from clinaudit.audit.pii.masking.tags import Hidden
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import name_parts

_NEITHER: Final = re.compile(r"[^0-9A-Za-z]+")
#: Shorter values stand in a text by chance: "93" is an age and a heart rate.
_LEAST_LETTERS: Final = 4
_LEAST_LETTERS_OF_NAME: Final = 3
_LEAST_DIGITS: Final = 5
#: What is written backwards is looked for too, from this length on.
_LEAST_BACKWARDS: Final = 7
#: The words of these are everybody's: "a day" that something took stands in "twice a day" too.
_EVERYDAY: Final = frozenset({"duration", "time"})
#: Words of names that are no name by themselves.
_PARTICLES: Final = frozenset(
    {"van", "von", "der", "den", "del", "della", "las", "los", "san", "saint", "bin", "ibn", "the"}
)


class FoldedText:
    """The letters and digits of a text, folded (Unicode NFKD, case, accents), and where each of them stood."""

    def __init__(self, text: str, hidden: Sequence[Hidden] = ()) -> None:
        """`hidden` stretches, by start and without overlaps, are left out, and nothing is found across them."""
        self._text = text
        self._stretches = tuple(_between(hidden, len(text)))
        # No value holds a NUL, so that none is found across one.
        self.letters = "\0".join(fold_value(text[start:end]) for start, end in self._stretches)

    @cached_property
    def _places(self) -> list[int]:
        """Where each of the letters stood; few texts hold a value once more, so that it is seldom asked."""
        places: list[int] = []
        for start, end in self._stretches:
            places += [place for place in range(start, end) for _ in fold_value(self._text[place])]
            places.append(end)
        return places

    def find(self, value: str, *, capital: bool = False) -> Iterator[tuple[int, int]]:
        """Yield where a folded value stands as whole words; `capital`: only where its first letter is one."""
        begin = self.letters.find(value)
        while begin >= 0:
            start, last = self._places[begin], self._places[begin + len(value) - 1]
            is_whole = not self._adjoins(start - 1) and not self._adjoins(last + 1)
            if is_whole and not (capital and self._text[start].islower()):
                yield start, last + 1
            begin = self.letters.find(value, begin + 1)

    def _adjoins(self, place: int) -> bool:
        return 0 <= place < len(self._text) and self._text[place].isalnum()


def fold_value(text: str) -> str:
    """Return the letters and digits of a text, folded as in `FoldedText`."""
    if text.isascii():
        return _NEITHER.sub("", text).lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter.casefold() for letter in decomposed if letter.isalnum())


def find_values(folded: FoldedText, values: Iterable[tuple[str, Hidden]], *, kept: Iterable[str] = ()) -> list[Hidden]:
    """Return where values stand in a text; each comes with the stretch where it was masked, for its category.

    The words of a person's name are looked for one by one too, where they begin with a capital. `kept` are values that
    are to stand: a question needs them of somebody else.
    """
    needed = {fold_value(value) for value in kept}
    found: list[Hidden] = []
    seen: set[tuple[str, bool]] = set()
    for value, one in values:
        for word, capital in _looked_for(value, one.category):
            if (word, capital) not in seen and word not in needed:
                seen.add((word, capital))
                found += [Hidden(*place, one.category) for place in folded.find(word, capital=capital)]
    return found


def _looked_for(value: str, category: str | None) -> Iterator[tuple[str, bool]]:
    """Yield what is looked for of a value, and whether it must begin with a capital."""
    whole = fold_value(value)
    is_name = category is not None and categories()[category].type == "PER"
    least = _LEAST_DIGITS if whole.isdecimal() else _LEAST_LETTERS_OF_NAME if is_name else _LEAST_LETTERS
    if category is None or category in _EVERYDAY:
        return
    if len(whole) >= least:
        # A name of one word may be a word as well ("Hope", "White").
        yield whole, is_name and len(value.split()) == 1
    if len(whole) >= _LEAST_BACKWARDS:
        yield whole[::-1], False
    if is_name:
        parts = name_parts(value)
        if len(parts) > 1:
            yield "".join(map(fold_value, (parts[-1], *parts[:-1]))), False
        for word in parts:
            folded = fold_value(word)
            if len(folded) >= _LEAST_LETTERS_OF_NAME and folded not in _PARTICLES and folded != whole:
                yield folded, True


def _between(hidden: Sequence[Hidden], length: int) -> Iterator[tuple[int, int]]:
    edges = [0, *(edge for one in hidden for edge in (one.start, one.end)), length]
    yield from ((start, end) for start, end in list(pairwise(edges))[::2] if start < end)
