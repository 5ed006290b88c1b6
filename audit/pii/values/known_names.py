"""Persons by name: which of the people whom a site knows a written name can be of.

Owns the words of a text as names are compared, and when two ways of writing a name can be of one person: initials,
middle names that one of them leaves out, double names, a part of the name alone. A person is a number.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from clinaudit.audit.pii.values.normal_form import fold_words, name_parts

_APOSTROPHE: Final = r"['’‘ʼ`´]"
#: Letters with their combining marks, and apostrophes between them.
_WORD: Final = re.compile(rf"([^\W_][^\W_\u0300-\u036f]*(?:[\u0300-\u036f]+[^\W_]*)*(?:{_APOSTROPHE}[^\W_]+)*)")
_ASCII_WORD: Final = re.compile(r"([a-z0-9]+(?:['`][a-z0-9]+)*)")
_GENITIVES: Final = ("'s", "’s", "‘s", "ʼs", "'S", "’S")


class FoldedWords:
    """The words of a text in lower case without accents and apostrophes; the `'s` of a genitive belongs to none."""

    def __init__(self, text: str) -> None:
        is_ascii = text.isascii()
        #: By turns what stands between words, and a word.
        self._parts = _ASCII_WORD.split(text.lower()) if is_ascii else _WORD.split(text)
        self.texts = self._parts[1::2]
        if not is_ascii or "'" in text or "`" in text:
            # A word of ASCII is folded but for its apostrophes.
            self.texts = [word if is_ascii and word.isalnum() else _folded(word) for word in self.texts]

    def start(self, place: int) -> int:
        """Return where a word begins in the text."""
        return self._edges[2 * place]

    def end(self, place: int) -> int:
        """Return where a word ends."""
        return self._edges[2 * place + 1] - 2 * self._parts[2 * place + 1].endswith(_GENITIVES)

    @cached_property
    def _edges(self) -> list[int]:
        return list(accumulate(map(len, self._parts)))


@lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    return fold_words(word[:-2] if word.endswith(_GENITIVES) else word).replace(" ", "")


#: A name with more words is no name of a person but a stretch of text that was taken for one.
MOST_PARTS: Final = 6
_DOUBLE: Final = re.compile(r"[^\W\d_]+(?:[-‐‑][^\W\d_]+)+")


class PersonName(NamedTuple):
    """A person's name as one source writes it: folded words, first name first."""

    parts: tuple[str, ...]
    #: How many of the last parts are the last name: two of "Smith-Jones".
    last_parts: int

    @property
    def is_full(self) -> bool:
        """Whether it has a first name, or its initial, beside a last name."""
        return len(self.parts) > self.last_parts and len(self.parts[-1]) > 1

    def may_be(self, other: "PersonName") -> bool:
        """Whether both can be names of one person; both are full.

        The last names are equal, all of their parts. Of first and middle names each is equal, or the initial of the
        other; middle names may be missing on one side.
        """
        last = max(self.last_parts, other.last_parts)
        if min(len(self.parts), len(other.parts)) <= last or self.parts[-last:] != other.parts[-last:]:
            return False
        (first, *middle), (other_first, *other_middle) = self.parts[:-last], other.parts[:-last]
        return _is_or_initial(first, other_first) and _is_part_of(*sorted((middle, other_middle), key=len))


def read_name(text: str) -> PersonName | None:
    """Return the name that a text is, in either order ("Smith-Jones, John A."); None where it is none."""
    parts = name_parts(text)
    if not 0 < len(parts) <= MOST_PARTS:
        return None
    doubles = (tuple(fold_words(match[0]).split()) for match in _DOUBLE.finditer(text))
    return PersonName(parts, next((len(double) for double in doubles if parts[-len(double) :] == double), 1))


class KnownNames:
    """The names of known persons."""

    def __init__(self, names: Iterable[tuple[int, PersonName]]) -> None:
        self._full: defaultdict[tuple[str, str], set[tuple[int, PersonName]]] = defaultdict(set)
        self._of_part: defaultdict[str, set[int]] = defaultdict(set)
        self._double: set[tuple[str, ...]] = set()
        for person, name in names:
            if name.last_parts > 1:
                self._double.add(name.parts[-name.last_parts :])
            if name.is_full:
                self._full[name.parts[0][0], name.parts[-1]].add((person, name))
            for part in name.parts:
                if len(part) > 1:
                    self._of_part[part].add(person)

    def is_full(self, name: PersonName) -> bool:
        """Whether it is a full name: no first or last name alone, nor a double name without a first one."""
        return name.is_full and name.parts not in self._double

    def find(self, name: PersonName) -> set[int]:
        """Return everybody of whom this can be the full name."""
        if not self.is_full(name):
            return set()
        same = self._full.get((name.parts[0][0], name.parts[-1]), ())
        return {person for person, known in same if known.may_be(name)}

    def find_part(self, name: PersonName) -> set[int]:
        """Return everybody of whose names these words are parts, the initials left aside."""
        words = [part for part in name.parts if len(part) > 1]
        found = [self._of_part.get(word, set()) for word in words]
        return set.intersection(*found) if found else set()


def stands_in(name: PersonName, words: Collection[str]) -> bool:
    """Whether a text of these folded words holds every part of a name: the word itself or, of an initial, its own.

    An initial stands there where some word begins with it; it says nothing that the text did not.
    """
    return all(
        part in words or (len(part) == 1 and any(word.startswith(part) for word in words)) for part in name.parts
    )


def _is_or_initial(first: str, second: str) -> bool:
    return first == second or (1 in (len(first), len(second)) and first[0] == second[0])


def _is_part_of(fewer: Sequence[str], more: Sequence[str]) -> bool:
    """Whether the fewer middle names are among the more, in their order; an initial stands for a name."""
    rest = iter(more)
    return all(any(_is_or_initial(name, other) for other in rest) for name in fewer)
