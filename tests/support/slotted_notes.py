"""Notes made of literal text and slots for values, so that what is masked is known by construction.

Knows nothing of how values are found: a slot's text is the value, and its placeholder stands for it in the masked note.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from clinaudit.audit.measures.memorization.masked_notes import PLACEHOLDERS, ValueKind
from clinaudit.templates.shown_text import Span

#: Text, and the kind of value where it is one.
Atom = tuple[str, ValueKind | None]


@dataclass(frozen=True)
class SlottedNote:
    """One note."""

    atoms: Sequence[Atom]

    @property
    def text(self) -> str:
        """The note as it stands."""
        return "".join(text for text, _ in self.atoms)

    def masked(self, start: int = 0, end: int | None = None) -> str:
        """The note from one character to another with placeholders; a slot that is cut counts whole."""
        end = len(self.text) if end is None else end
        found = []
        for first, (text, kind) in zip(self._starts(), self.atoms, strict=True):
            own = text[max(0, start - first) : max(0, end - first)]
            if own:
                found.append(own if kind is None else PLACEHOLDERS[kind])
        return "".join(found)

    def slots(self) -> list[tuple[Span, ValueKind, str]]:
        """Where each value stands, its kind and its text."""
        return [
            (Span(first, first + len(text)), kind, text)
            for first, (text, kind) in zip(self._starts(), self.atoms, strict=True)
            if kind is not None
        ]

    def _starts(self) -> list[int]:
        return list(accumulate((len(text) for text, _ in self.atoms), initial=0))[:-1]
