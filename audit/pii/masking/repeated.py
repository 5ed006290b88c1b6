"""Where a value that is masked stands once more, written otherwise: split over lines, spaced, in other letters.

Owns the comparison: letters and digits alone, folded, one after the other; one pass of an automaton over the text for
all values (Aho and Corasick 1975; pyahocorasick). Knows nothing of how identifiers are found.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from clinaudit.audit.pii.detectors.name_lists import is_first_name, is_last_name, is_plain_word
from clinaudit.audit.pii.detectors.numbers import ends_of, find_ends
from clinaudit.audit.pii.detectors.word_lists import is_name_again
from clinaudit.audit.pii.masking.not_masked import is_only_a_word
from clinaudit.audit.pii.masking.tags import Hidden
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import name_parts
from clinaudit.audit.pii.values.value_scan import places_of

#: What finds a value once more.
_AGAIN: Final = ("masked elsewhere in the record",)
_NEITHER: Final = re.compile(r"[^0-9A-Za-z]+")
_LETTER: Final = re.compile("[0-9A-Za-z]")
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
        self.text = text
        self._stretches = tuple(_between(hidden, len(text)))
        # No value holds a NUL, so that none is found across one.
        self.letters = "\0".join(fold_value(text[start:end]) for start, end in self._stretches)

    def parts(self) -> Iterator[tuple[int, str]]:
        """Yield what is not hidden, with where it begins."""
        yield from ((start, self.text[start:end]) for start, end in self._stretches)

    @cached_property
    def _places(self) -> list[int]:
        """Where each of the letters stood; few texts hold a value once more, so that it is seldom asked."""
        places: list[int] = []
        for start, end in self._stretches:
            part = self.text[start:end]
            if part.isascii():
                places += (start + letter.start() for letter in _LETTER.finditer(part))
            else:
                places += (start + at for at, letter in enumerate(part) for _ in fold_value(letter))
            places.append(end)
        return places

    def find(self, values: Collection[str]) -> Iterator[tuple[str, int, int]]:
        """Yield which of some folded values stand in the text as whole words, and where; one pass for all of them."""
        for value, begin in places_of(values, self.letters):
            start, end = self._places[begin], self._places[begin + len(value) - 1] + 1
            if not self._adjoins(start - 1) and not self._adjoins(end):
                yield value, start, end

    def _adjoins(self, place: int) -> bool:
        return 0 <= place < len(self.text) and self.text[place].isalnum()


def fold_value(text: str) -> str:
    """Return the letters and digits of a text, folded as in `FoldedText`."""
    if text.isascii():
        return _NEITHER.sub("", text).lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter.casefold() for letter in decomposed if letter.isalnum())


def find_values(folded: FoldedText, values: Iterable[tuple[str, Hidden]], *, kept: Iterable[str] = ()) -> list[Hidden]:
    """Return where values stand in a text; each comes with the stretch where it was masked, for its category.

    The words of a person's name are looked for one by one too, where they are that name again (`is_name_again`), and
    the last digits of a long number. `kept` are values that are to stand: a question needs them of somebody else.
    """
    needed = {fold_value(value) for value in kept}
    wanted: dict[str, dict[bool, str | None]] = {}
    numbers: list[tuple[str, str | None]] = []
    for value, one in values:
        numbers.append((value, one.category))
        for word, alone in _looked_for(value, one.category):
            if word not in needed:
                wanted.setdefault(word, {}).setdefault(alone, one.category)
    found = [
        Hidden(start, end, category, _AGAIN)
        for word, start, end in folded.find(wanted)
        for alone, category in wanted[word].items()
        # Who speaks ("Teacher: ...") is none of a patient's trades.
        if not (category == "occupation" and folded.text[end : end + 1] == ":")
        and (not alone or (is_name_again(folded.text, start, end) and not _is_only_a_word(folded.text, start, end)))
    ]
    ends = {digits: category for digits, category in ends_of(numbers).items() if digits not in needed}
    found += [
        Hidden(start + at, end + at, category, _AGAIN)
        for at, part in folded.parts()
        for start, end, category in find_ends(part, ends)
    ]
    return found


_TITLE: Final = re.compile(r"\b(?:mr|mrs|ms|miss|mx|dr|prof)\.?[ ]$", re.IGNORECASE)


def _is_only_a_word(text: str, start: int, end: int) -> bool:
    """Whether a word of a name is one of the language here: in small letters, or in capitals among capitals."""
    written = text[start:end]
    if written[0].isupper() and not (written.isupper() and text[max(0, start - 20) : end + 20].isupper()):
        return is_only_a_word(written)
    is_name = is_first_name(written) or is_last_name(written)
    return is_plain_word(written) and not is_name and _TITLE.search(text, max(0, start - 8), start) is None


def _looked_for(value: str, category: str | None) -> Iterator[tuple[str, bool]]:
    """Yield what is looked for of a value, and whether it is one word of a name, which may be another word as well."""
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
