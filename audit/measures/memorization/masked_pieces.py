"""Pieces with placeholders, and which of their tokens a fact of the prompt gives (docs/methods.md, section 2).

Owns the masked text of a piece, read off its whole source note, and the tokens that are part of a value that the
prompt holds. Knows nothing of how many patients hold a text.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.source_attribution import Piece, cut_region_text
from clinaudit.audit.measures.memorization.specificity.masked_notes import MaskableText, NoteMasker
from clinaudit.audit.measures.memorization.specificity.value_mask import (
    PLACEHOLDERS,
    MaskedValue,
    holds_value,
    mask_text,
)
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.identity import Visit
from clinaudit.templates.spans import Span

_NO_TEXT = re.compile(rf"[\s{''.join(PLACEHOLDERS.values())}]*")


class MaskedPiece(NamedTuple):
    """What the identity of its source note makes of one piece."""

    #: With placeholders.
    text: str
    #: One byte a token of the piece: 1 where it is part of a value that the prompt holds, too.
    from_prompt: bytes


class PieceMasker:
    """Masks parts of one patient's notes, which are all there are, oldest first."""

    def __init__(self, masker: NoteMasker, patient: Patient, notes: Sequence[Visit]) -> None:
        self._masker = masker
        self._patient = patient
        self._notes = notes

    @classmethod
    def of(cls, masker: NoteMasker, patient_id: str, corpus: Corpus) -> "PieceMasker":
        """Return that of a patient of an arm."""
        visits = [Visit.of(note, note.text) for note in corpus.notes_of(patient_id)]
        return cls(masker, corpus.patients[patient_id], visits)

    @cached_property
    def _own(self) -> list[MaskableText]:
        return self._masker.read(self._patient, self._notes)

    def mask(self, piece: Piece, generation: Generation) -> MaskedPiece:
        """Return one piece of a generation as its source note masks it."""
        note = self._own[piece.note]
        start = piece.note_start_chars
        place = Span(start, start + len(piece.text))
        values = [value for value in note.values if value.span_chars.overlaps(place)]
        if not values:
            return MaskedPiece(piece.text, bytes(len(range(*piece.span_tokens))))
        given = note.mask.find(generation.prompt) if generation.prompt else []
        return MaskedPiece(
            mask_text(note.text, values, place),
            _tokens_within([value for value in values if holds_value(given, value)], piece, generation),
        )

    def mask_run(self, note: int, place: Span) -> tuple[str, str] | None:
        """Return a part of a note as it stands and masked; None where it is placeholders alone."""
        own = self._own[note]
        text = own.text[slice(*place)]
        masked = mask_text(own.text, own.values, place)
        return (text, masked) if text and not (masked != text and _NO_TEXT.fullmatch(masked)) else None

    def find_given(self, note: int, prompt: str | None) -> list[MaskedValue]:
        """Return the occurrences in a note that say what the prompt holds."""
        own = self._own[note]
        given = own.mask.find(prompt) if prompt and own.values else []
        return [value for value in own.values if holds_value(given, value)]


def _tokens_within(values: list[MaskedValue], piece: Piece, generation: Generation) -> bytes:
    """Return for each token of a piece 1 where a character of it belongs to one of `values`."""
    region = cut_region_text(generation.text, generation.token_chars, piece.span_tokens)
    starts, ends = np.array(region.token_chars, dtype=np.int64).T + piece.note_start_chars
    is_within = np.zeros(len(starts), dtype=np.bool_)
    for value in values:
        # As `Span.overlaps`, of every token at once.
        is_within |= (starts < value.span_chars.end) & (value.span_chars.start < ends)
    return is_within.tobytes()
