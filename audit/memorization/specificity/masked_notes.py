"""Notes with placeholders for the values of their own patient and visit (docs/methods.md, section 2, "Masked K").

Owns the masked copy of the training notes that is scanned for masked K. It lies in a file without a name, as the notes
themselves do, so that a corpus may be larger than memory. Knows nothing of generations.
"""

from collections.abc import Callable
from dataclasses import dataclass

from clinaudit.audit.memorization.specificity.value_mask import MaskedValue, ValueMask, mask_text
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.note_texts import NoteTexts
from clinaudit.priors.corpus.packed_notes import PackedNotes
from clinaudit.priors.identity import Identity, IdentityReader
from clinaudit.priors.written_dates import WrittenDates
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import normalize_newlines


@dataclass(frozen=True, slots=True)
class MaskableNote:
    """A note with line feeds only, and the occurrences of its own patient's and visit's values, in order."""

    text: str
    values: list[MaskedValue]
    #: Finds the same values in other texts.
    mask: ValueMask


class NoteMasker:
    """Finds in each note of a corpus the values of its own patient and visit."""

    def __init__(self, corpus: Corpus, profile: NoteProfile) -> None:
        self.corpus = corpus
        self._identities = IdentityReader(profile)
        self._dates = WrittenDates(profile.date_formats)

    def notes_of(self, patient_id: str) -> list[MaskableNote]:
        """Return a patient's notes with their values, in the order of the corpus."""
        masks: dict[Identity, ValueMask] = {}
        found: list[MaskableNote] = []
        notes = self.corpus.notes_of(patient_id)
        for note, identity in zip(notes, self._identities.read(self.corpus, patient_id), strict=True):
            if identity not in masks:
                masks[identity] = ValueMask(identity, self._dates)
            text = normalize_newlines(note.text)
            found.append(MaskableNote(text, masks[identity].find(text), masks[identity]))
        return found


def pack_masked_notes(masker: NoteMasker, *, advance: Callable[[int], None]) -> PackedNotes:
    """Return the notes of the train split with placeholders; calls `advance` with the bytes of each patient's notes.

    Raises `StorageError` where the copy cannot be written.
    """
    corpus = masker.corpus
    places: list[range] = []
    with NoteTexts(corpus.scratch) as texts:
        for patient_id in corpus.patient_ids("train"):
            first = len(texts)
            for note in masker.notes_of(patient_id):
                texts.append(mask_text(note.text, note.values))
                advance(len(note.text.encode()))
            places.append(range(first, len(texts)))
    return texts.packed(places)
