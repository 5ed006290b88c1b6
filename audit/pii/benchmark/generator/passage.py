"""Text whose entities are known by construction: a template is filled, and the place of every value noted.

Owns the slots of a template and the joining of passages. Knows nothing of subjects, categories or scenes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SLOT: Final = re.compile(r"\{([A-Za-z]+)\}")


@dataclass(frozen=True, slots=True)
class Value:
    """An entity to be written: who it belongs to, what it is of them, and its text."""

    #: Numbers of the subjects to whom it belongs; two where they share it.
    owners: tuple[int, ...]
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stands in a passage: characters `start` to `end`, half-open."""

    start: int
    end: int
    value: Value


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and the values in it, by start."""

    text: str
    marks: tuple[Mark, ...] = ()

    def shifted(self, by: int) -> tuple[Mark, ...]:
        """Return the marks as they stand `by` characters further on."""
        return tuple(Mark(mark.start + by, mark.end + by, mark.value) for mark in self.marks)

    def capitalized(self) -> "Passage":
        """Return the passage with a capital first letter; a value that stands first is left as it is."""
        if not self.text or (self.marks and self.marks[0].start == 0):
            return self
        return Passage(self.text[0].upper() + self.text[1:], self.marks)


def fill(template: str, words: Mapping[str, str], parts: Mapping[str, Value | Passage]) -> Passage:
    """Fill a template: a slot takes a word, a value (which is marked), or a passage with its marks.

    Raises `KeyError` for a slot that nothing fills.
    """
    pieces: list[Passage] = []
    at = 0
    for slot in _SLOT.finditer(template):
        pieces.append(Passage(template[at : slot.start()]))
        at = slot.end()
        name = slot[1]
        if name in parts:
            part = parts[name]
            pieces.append(part if isinstance(part, Passage) else _marked(part))
        else:
            pieces.append(Passage(words[name]))
    pieces.append(Passage(template[at:]))
    return join(pieces, "")


def join(passages: Sequence[Passage], separator: str) -> Passage:
    """Return the passages as one, with `separator` between them."""
    text, marks = "", list[Mark]()
    for number, passage in enumerate(passages):
        if number:
            text += separator
        marks += passage.shifted(len(text))
        text += passage.text
    return Passage(text, tuple(marks))


def _marked(value: Value) -> Passage:
    return Passage(value.text, (Mark(0, len(value.text), value),))
