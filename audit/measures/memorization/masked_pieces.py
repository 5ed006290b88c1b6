"""Pieces with placeholders, and which of their tokens a fact of the prompt gives (docs/methods.md, section 2).

Owns the masked text of a piece, read off its whole source note, and the tokens that are part of a value that the
prompt holds. Knows nothing of how many patients hold a text.
"""

import re
from dataclasses import dataclass

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
from clinaudit.priors.identity import Visit
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span

_NO_TEXT = re.compile(rf"[\s{''.join(PLACEHOLDERS.values())}]*")


@dataclass(frozen=True, slots=True)
class MaskedPiece:
    """What the identity of its source note makes of one piece."""

    #: With placeholders.
    text: str
    #: One flag a token of the piece: part of a value that the prompt holds, too.
    from_prompt: tuple[bool, ...]


class PieceMasker:
    """Masks pieces patient by patient: the notes of one patient are kept."""

    def __init__(self, corpus: Corpus, profile: NoteProfile) -> None:
        self._corpus = corpus
        self._masker = NoteMasker(profile)
        self._patient_id: str | None = None
        self._own: list[MaskableText] = []

    def mask(self, piece: Piece, generation: Generation) -> MaskedPiece:
        """Return one piece of a generation as its source note masks it."""
        note = self._note(generation.patient_id, piece.note)
        start = piece.note_start_chars
        place = Span(start, start + len(piece.text))
        values = [value for value in note.values if value.span_chars.overlaps(place)]
        if not values:
            return MaskedPiece(piece.text, (False,) * len(range(*piece.span_tokens)))
        given = note.mask.find(generation.prompt) if generation.prompt else []
        return MaskedPiece(
            mask_text(note.text, values, place),
            _tokens_within([value for value in values if holds_value(given, value)], piece, generation),
        )

    def mask_run(self, patient_id: str, note: int, place: Span) -> tuple[str, str] | None:
        """Return a part of a note of a patient as it stands and masked; None where it is placeholders alone."""
        own = self._note(patient_id, note)
        text = own.text[slice(*place)]
        masked = mask_text(own.text, own.values, place)
        return (text, masked) if text and not (masked != text and _NO_TEXT.fullmatch(masked)) else None

    def find_given(self, patient_id: str, note: int, prompt: str | None) -> list[MaskedValue]:
        """Return the occurrences in a note of a patient that say what the prompt holds."""
        own = self._note(patient_id, note)
        given = own.mask.find(prompt) if prompt and own.values else []
        return [value for value in own.values if holds_value(given, value)]

    def _note(self, patient_id: str, index: int) -> MaskableText:
        if patient_id != self._patient_id:
            self._patient_id = patient_id
            notes = [Visit.of(note, note.text) for note in self._corpus.notes_of(patient_id)]
            self._own = self._masker.read(self._corpus.patients[patient_id], notes)
        return self._own[index]


def _tokens_within(values: list[MaskedValue], piece: Piece, generation: Generation) -> tuple[bool, ...]:
    """Return for each token of a piece whether a character of it belongs to one of `values`."""
    region = cut_region_text(generation.text, generation.token_chars, piece.span_tokens)
    starts, ends = np.array(region.token_chars, dtype=np.int64).T + piece.note_start_chars
    is_within = np.zeros(len(starts), dtype=np.bool_)
    for value in values:
        # As `Span.overlaps`, of every token at once.
        is_within |= (starts < value.span_chars.end) & (value.span_chars.start < ends)
    return tuple(is_within.tolist())
