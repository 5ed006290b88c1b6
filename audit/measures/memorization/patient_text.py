"""One patient's own notes as n-gram matching takes them: token ids, text, and each note as its template reads it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.masked_notes import mask_notes
from clinaudit.audit.measures.memorization.source_attribution import cut_region_text
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.note_texts import PackedTexts
from clinaudit.priors.corpus.patient import Split
from clinaudit.priors.diagnoses import Diagnosis, clinical_terms, load_panel
from clinaudit.templates.note import LaidOutNote, NoteReader, normalize_newlines
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.spans import Span


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


@dataclass(frozen=True, slots=True)
class Reading:
    """How all notes of a corpus are read, in whatever process: as the model's tokens, and as their template says."""

    tokenizer: ModelTokenizer
    profile: NoteProfile
    #: The diagnoses whose terms no boilerplate holds.
    panel: Sequence[Diagnosis]

    def reader(self) -> NoteReader:
        """Return a reader of these notes."""
        return NoteReader(self.profile, clinical_terms(self.panel))


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
    """One patient's own notes: their ids, and the notes as their template reads them."""

    def __init__(self, notes: Sequence[tuple[str, str]], tokenizer: ModelTokenizer, reader: NoteReader) -> None:
        self.texts = [normalize_newlines(text) for _, text in notes]
        self.note_ids = [note_id for note_id, _ in notes]
        #: For each of `sequences` the index of its note. A note with carriage returns is matched twice, as it stands
        #: and with line feeds: neither form hides a match.
        self.note_of_sequence = (*range(len(notes)), *(at for at, (_, text) in enumerate(notes) if "\r" in text))
        self._notes = notes
        self._tokenizer = tokenizer
        self._reader = reader
        self._read: dict[int, LaidOutNote] = {}
        self._laid_out: set[int] = set()

    @cached_property
    def sequences(self) -> TokenSequences:
        """The ids of the notes; those of other patients' text are never asked for."""
        twice = self.note_of_sequence[len(self._notes) :]
        return concatenate_sequences(
            self._tokenizer.encode_many([text for _, text in self._notes] + [self.texts[index] for index in twice])
        )

    @cached_property
    def token_chars(self) -> npt.NDArray[np.int64]:
        """Characters of each token of `sequences` in its note with line feeds, once `lay_out` read its sequence."""
        return np.zeros((len(self.sequences.ids), 2), dtype=np.int64)

    def note(self, index: int) -> LaidOutNote:
        """Return a note as its template reads it; read once, then kept."""
        if index not in self._read:
            self._read[index] = self._reader.read(self._notes[index][1])
        return self._read[index]

    def lay_out(self, sequence: int) -> None:
        """Read where the tokens of one of `sequences` stand in its note."""
        if sequence in self._laid_out:
            return
        self._laid_out.add(sequence)
        index = self.note_of_sequence[sequence]
        text = self._notes[index][1] if sequence < len(self._notes) else self.texts[index]
        own = slice(*self.sequences.starts[sequence : sequence + 2].tolist())
        chars = self._tokenizer.place_tokens(self.sequences.ids[own], text)
        if "\r" in text:
            begin = len(normalize_newlines(text[: chars[0, 0]]))
            chars = cut_region_text(text, chars, Span(0, len(chars))).token_chars + begin
        self.token_chars[own] = chars
