"""What generations are matched with: the corpus, and a patient's notes as ids, as text, and as a template reads them.

Owns sequences of token ids laid end to end, and flags and places of tokens. Knows nothing of generations.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.masked_notes import (
    MaskableText,
    MaskedValue,
    NoteMasker,
    ValueMask,
    holds_value,
    mask_notes,
)
from clinaudit.audit.measures.memorization.source_attribution import cut_region_text
from clinaudit.audit.runtime.cluster import ShardRunner
from clinaudit.audit.runtime.console import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Note, PackedTexts, Patient, Split
from clinaudit.priors.diagnoses import Diagnosis, clinical_terms, load_panel
from clinaudit.templates.note import LaidOutNote, NoteReader, normalize_newlines
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.shown_text import Span

#: One flag a token.
Flags = npt.NDArray[np.bool_]
#: One integer a row: an index, a count, or a place in sequences that are laid end to end.
Numbers = npt.NDArray[np.int64]
#: Of tokens: first character and end, shape (tokens, 2).
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TokenSequences:
    """Some sequences of token ids, in order."""

    #: All ids, shape (tokens,).
    ids: npt.NDArray[np.uint32]
    #: Offsets: where each sequence begins and the last one ends, shape (sequences + 1,).
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> npt.NDArray[np.uint32]:
        return self.ids[self.starts[index] : self.starts[index + 1]]


def concatenate_sequences(sequences: Iterable[Sequence[int] | npt.NDArray[np.uint32]]) -> TokenSequences:
    """Return sequences of ids (0 to 2^32 - 1) concatenated in one array."""
    arrays = [np.asarray(sequence, dtype=np.uint32) for sequence in sequences]
    starts = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=starts[1:])
    ids = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.uint32)
    return TokenSequences(ids, starts)


def find_stretches(flags: Flags) -> list[Span]:
    """Return the longest stretches of flagged tokens, in order. Example: of [0, 1, 1, 0, 1] these are 1:3 and 4:5."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [Span(start, end) for start, end in edges.reshape(-1, 2).tolist()]


class PatientNotes(NamedTuple):
    """A patient with all notes, oldest first, as a process is sent them; nobody has none."""

    patient: Patient | None
    note_ids: list[str]
    visits: list[Note]

    @classmethod
    def of(cls, corpus: Corpus, patient_id: str | None) -> "PatientNotes":
        """Return those of a patient of the corpus; None: of nobody."""
        if patient_id is None:
            return cls(None, [], [])
        given = corpus.notes_of(patient_id)
        return cls(corpus.patients[patient_id], [note.note_id for note in given], list(given))


@dataclass(frozen=True, slots=True)
class Reading:
    """How all notes of a corpus are read, in whatever process: as the model's tokens, and as their template says."""

    tokenizer: ModelTokenizer
    profile: NoteProfile
    #: The diagnoses whose terms no boilerplate holds.
    panel: Sequence[Diagnosis]

    def patient_reader(self) -> Callable[[PatientNotes], "PatientText"]:
        """Return what reads one patient after another."""
        reader, masker = NoteReader(self.profile, clinical_terms(self.panel)), NoteMasker(self.profile)
        return lambda notes: PatientText(notes, self.tokenizer, reader, masker)


@dataclass(frozen=True, slots=True)
class MatchedCorpus:
    """What generations are matched with: the corpus, the model's tokenizer, the notes' template, whose terms tell."""

    corpus: Corpus
    tokenizer: ModelTokenizer
    profile: NoteProfile
    #: The diagnoses whose terms no boilerplate holds: all that the site calls sensitive.
    panel: Sequence[Diagnosis] = field(default_factory=load_panel)

    #: The masked notes of the splits that were asked for.
    _masked: dict[Split, PackedTexts] = field(default_factory=dict)

    def masked(self, split: Split, runner: ShardRunner, progress: Progress) -> PackedTexts:
        """Return the notes of a split with placeholders; made once."""
        if split not in self._masked:
            size = self.corpus.packed(split).size
            with progress.stage("masking notes", total=size, unit="bytes of notes") as advance:
                masked = mask_notes(self.corpus, self.profile, split, runner=runner, advance=advance)
            self._masked[split] = masked
        return self._masked[split]

    @property
    def reading(self) -> Reading:
        """How its notes are read."""
        return Reading(self.tokenizer, self.profile, self.panel)


class PatientText:
    """One patient's own notes, by index: their ids, the notes as their template reads them, and their values."""

    def __init__(self, notes: PatientNotes, tokenizer: ModelTokenizer, reader: NoteReader, masker: NoteMasker) -> None:
        self.note_ids = notes.note_ids
        self.texts = texts = [normalize_newlines(visit.text) for visit in notes.visits]
        #: For each of `sequences` the index of its note. A note with carriage returns is matched twice, as it stands
        #: and with line feeds: neither form hides a match.
        self.note_of_sequence = (*range(len(texts)), *(at for at, own in enumerate(notes.visits) if "\r" in own.text))
        #: Returns a note as its template reads it; read once, then kept.
        self.note: Callable[[int], LaidOutNote] = cache(lambda index: reader.read(texts[index]))
        self._notes, self._tokenizer, self._masker = notes, tokenizer, masker
        self.token_chars: Callable[[int], Places] = cache(self._place_tokens)
        self._said: Callable[[ValueMask, str], list[MaskedValue]] = cache(lambda mask, prompt: mask.find(prompt))

    @cached_property
    def sequences(self) -> TokenSequences:
        """The token ids of the notes, encoded when first read; the attribution of other patients' text reads none."""
        given = [visit.text for visit in self._notes.visits]
        twice = self.note_of_sequence[len(given) :]
        return concatenate_sequences(self._tokenizer.encode_many(given + [self.texts[index] for index in twice]))

    @cached_property
    def maskable(self) -> list[MaskableText]:
        """The notes with the values of their patient and visit."""
        if self._notes.patient is None:
            return []
        laid_out = [self.note(index) for index in range(len(self.texts))]
        return self._masker.read(self._notes.patient, self._notes.visits, laid_out)

    def _place_tokens(self, sequence: int) -> Places:
        """Return where the tokens of one of `sequences` stand in its note with line feeds, shape (tokens, 2)."""
        index = self.note_of_sequence[sequence]
        text = self._notes.visits[index].text if sequence < len(self.texts) else self.texts[index]
        chars = self._tokenizer.place_tokens(self.sequences[sequence], text)
        if "\r" in text:
            begin = len(normalize_newlines(text[: chars[0, 0]]))
            chars = cut_region_text(text, chars, Span(0, len(chars))).token_chars + begin
        return chars

    def are_boilerplate(self, note: int, places: Places) -> Flags:
        """Return which of some places in a note (characters) hold boilerplate; shape (places,), of (places, 2)."""
        return which_hold(self.note(note).boilerplate, places)

    def are_given(self, note: int, places: Places, prompt: str | None) -> Flags:
        """Return which of some places in a note are part of a value that the prompt holds, too; as above."""
        given = np.zeros(len(places), dtype=np.bool_)
        if prompt and len(places):
            own, within = self.maskable[note], Span(int(places.min()), int(places.max()))
            for value in own.values:
                place = value.span_chars
                if place.overlaps(within) and holds_value(self._said(own.mask, prompt), value):
                    # As `Span.overlaps`, of every place at once.
                    given |= (places[:, 0] < place.end) & (place.start < places[:, 1])
        return given


def which_hold(marks: bytes, places: Places) -> Flags:
    """Return which of some spans of characters hold one that is marked; shape (spans,), of places (spans, 2)."""
    first, last = int(places.min(initial=len(marks))), int(places.max(initial=0))
    if first < 0 or last > len(marks):
        return which_hold(marks, np.clip(places, 0, len(marks)))
    before = np.zeros(max(0, last - first) + 1, dtype=np.int64)
    np.frombuffer(marks[first:last], dtype=np.uint8).cumsum(out=before[1:])
    starts, ends = (places - first).T
    holds: Flags = before[ends] > before[starts]
    return holds
