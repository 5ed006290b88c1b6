"""Notes and parts of them with placeholders for the values of their patient and visit (docs/methods.md, section 2).

Owns which values are masked in which note, the masking of a corpus in shards, the masked text of a piece, read off its
whole source note, and the tokens of it that are part of a value that the prompt holds. Knows nothing of who counts what
in the notes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.source_attribution import Piece, cut_region_text
from clinaudit.audit.measures.memorization.value_mask import (
    PLACEHOLDERS,
    MaskedValue,
    ValueMask,
    holds_value,
    mask_text,
)
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.note_texts import PackedTexts, TextStore, release_pages, split_patients
from clinaudit.priors.corpus.patient import Patient, Split
from clinaudit.priors.identity import Identity, IdentityReader, Visit
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span

#: Some patients, each with all notes, oldest first.
PatientsShard = list[tuple[Patient, list[Visit]]]
#: Bytes of notes in a shard: masking takes a tenth of a second a megabyte.
PART_BYTES: Final = 2 << 20
_NO_TEXT = re.compile(rf"[\s{''.join(PLACEHOLDERS.values())}]*")


@dataclass(frozen=True, slots=True)
class MaskableText:
    """A note with line feeds only, and the occurrences of its own patient's and visit's values, in order."""

    text: str
    values: list[MaskedValue]
    #: Finds the same values in other texts.
    mask: ValueMask


class NoteMasker:
    """Finds in notes the values of their own patient and visit, under one note template."""

    def __init__(self, profile: NoteProfile) -> None:
        self._identities = IdentityReader(profile)
        self._dates = WrittenDates(profile.date_formats)

    def read(self, patient: Patient, notes: Sequence[Visit]) -> list[MaskableText]:
        """Return a patient's notes with their values; `notes` are all of the patient's, oldest first."""
        masks: dict[Identity, ValueMask] = {}
        found: list[MaskableText] = []
        for note, identity in zip(notes, self._identities.read(patient, notes), strict=True):
            if identity not in masks:
                masks[identity] = ValueMask(identity, self._dates)
            text = normalize_newlines(note.text)
            found.append(MaskableText(text, masks[identity].find(text, identity.age_place), masks[identity]))
        return found


def mask_notes(
    corpus: Corpus, profile: NoteProfile, split: Split, *, runner: ShardRunner, advance: Callable[[int], None]
) -> PackedTexts:
    """Return the notes of a split with placeholders, patients in the order of `Corpus.scan_order`.

    They lie in a nameless file. `advance` is called with bytes of notes.
    """
    parts = split_patients(corpus.packed(split), part_bytes=PART_BYTES)
    shards = cut_notes(corpus, split)
    places: list[range] = []
    with TextStore(corpus.scratch) as texts:
        for masked, (_, size) in zip(runner.map(mask_shard, profile, shards), parts, strict=True):
            for own in masked:
                places.append(range(len(texts), len(texts) + len(own)))
                for text in own:
                    texts.append(text)
            advance(size)
    return texts.packed(places)


def cut_notes(corpus: Corpus, split: Split) -> Iterator[PatientsShard]:
    """Yield the patients of a split in shards of `PART_BYTES`, in the order of `Corpus.scan_order`; line feeds only."""
    packed, patients = corpus.packed(split), corpus.scan_order(split)
    for part, _ in split_patients(packed, part_bytes=PART_BYTES):
        shard: PatientsShard = []
        for place in part:
            own = zip(corpus.notes_of(patients[place]), packed.notes_of(place), strict=True)
            shard.append((corpus.patients[patients[place]], [Visit.of(note, text) for note, text in own]))
        release_pages(packed, part)
        yield shard


def mask_shard(profile: NoteProfile, shard: PatientsShard) -> list[list[str]]:
    """Return the notes of some patients with placeholders, wherever that is done."""
    masker = NoteMasker(profile)
    return [[mask_text(note.text, note.values) for note in masker.read(patient, notes)] for patient, notes in shard]


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
