"""Generations beside their own patients' notes, patient by patient: here, or as shards of some patients each.

Owns a patient's notes as they are matched, and the way to a worker and back. Knows nothing of what a match is: that is
the business of the work it is given (generation_matching.py).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from clinaudit.audit.audited_model import digest_tokenizer
from clinaudit.audit.composition import NoteReader, NoteText
from clinaudit.audit.shards import ShardRunner
from clinaudit.audit.token_cache import TokenCache
from clinaudit.audit.token_sequences import lay_end_to_end
from clinaudit.audit.tokens import ModelTokenizer
from clinaudit.priors.corpus import Corpus
from clinaudit.templates.errors import BadInputError
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import normalize_newlines

if TYPE_CHECKING:
    from clinaudit.audit.memorization import Generation

Found = TypeVar("Found")

#: Text of notes in a shard, in characters, unless one patient has more.
SHARD_CHARS = 1 << 18


class NoteTokens(Protocol):
    """Whatever gives the ids of notes."""

    def ids(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the ids of each text alone, without special tokens."""
        ...


class PatientText:
    """One patient's own notes: their ids, and the notes as their template reads them."""

    def __init__(self, notes: Sequence[tuple[str, str]], tokens: NoteTokens, reader: NoteReader) -> None:
        texts = [text for _, text in notes]
        # A note with carriage returns is matched as it stands and with line feeds, so that neither hides a match.
        with_returns = [index for index, text in enumerate(texts) if "\r" in text]
        texts += [normalize_newlines(texts[index]) for index in with_returns]
        #: Index among the notes of each of `sequences`.
        self.note_of_sequence = (*range(len(notes)), *with_returns)
        self.sequences = lay_end_to_end(tokens.ids(texts))
        self.texts = [normalize_newlines(text) for _, text in notes]
        self.note_ids = [note_id for note_id, _ in notes]
        self._notes = notes
        self._reader = reader
        self._read: dict[int, NoteText] = {}

    def note(self, index: int) -> NoteText:
        """Return a note as its template reads it, read once."""
        if index not in self._read:
            self._read[index] = self._reader.read(*self._notes[index])
        return self._read[index]


class PatientWork(Protocol[Found]):
    """What is done for one patient; a function of a module."""

    def __call__(
        self, generations: Sequence["Generation"], patient: PatientText, *, tokenizer: ModelTokenizer, n: int
    ) -> list[Found]:
        """Return one finding a generation."""
        ...


@dataclass(frozen=True, slots=True)
class _Task(Generic[Found]):
    """What all shards share."""

    work: PatientWork[Found]
    tokenizer_directory: Path
    tokenizer_digest: str
    profile: NoteProfile
    n: int


#: A patient's notes, by id, and generations.
_Patient = tuple[list[tuple[str, str]], list["Generation"]]


def match_patients(
    work: PatientWork[Found],
    generations: Iterable["Generation"],
    corpus: Corpus,
    *,
    cache: TokenCache,
    reader: NoteReader,
    n: int,
    runner: ShardRunner | None,
    advance: Callable[[int], None],
) -> list[Found]:
    """Return the findings of all generations, patient by patient, patients in the order of their first generation.

    `advance` is called with numbers of generations. Without a runner the work is done here, with the cache of ids.
    """
    by_patient: dict[str, list[Generation]] = {}
    for generation in generations:
        by_patient.setdefault(generation.patient_id, []).append(generation)
    patients = (
        ([(note.note_id, note.text) for note in corpus.notes_of(patient_id)], own)
        for patient_id, own in by_patient.items()
    )
    found: list[Found] = []
    if runner is None:
        for notes, own in patients:
            found += work(own, PatientText(notes, cache, reader), tokenizer=cache.tokenizer, n=n)
            advance(len(own))
        return found
    directory = cache.tokenizer.directory.resolve()
    task = _Task(work, directory, digest_tokenizer(directory), reader.profile, n)
    shards: dict[int, list[Found]] = {}
    for index, of_shard in runner.map(match_shard, task, _cut(patients)):
        shards[index] = of_shard
        advance(len(of_shard))
    return [item for index in sorted(shards) for item in shards[index]]


def _cut(patients: Iterable[_Patient]) -> Iterator[list[_Patient]]:
    shard: list[_Patient] = []
    size = 0
    for patient in patients:
        chars = sum(len(text) for _, text in patient[0])
        if shard and size + chars > SHARD_CHARS:
            yield shard
            shard, size = [], 0
        shard.append(patient)
        size += chars
    if shard:
        yield shard


def match_shard(task: _Task[Found], shard: Sequence[_Patient]) -> list[Found]:
    """Do the work for some patients, in a worker."""
    tokens = _tokens(task.tokenizer_directory, task.tokenizer_digest)
    reader = NoteReader(task.profile)
    found: list[Found] = []
    for notes, own in shard:
        found += task.work(own, PatientText(notes, tokens, reader), tokenizer=tokens.tokenizer, n=task.n)
    return found


class _WorkerTokens:
    """A worker's tokenizer, which keeps nothing."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer

    def ids(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        return self.tokenizer.encode_many(texts)


@lru_cache(maxsize=1)
def _tokens(directory: Path, digest: str) -> Any:
    if not directory.is_dir() or digest_tokenizer(directory) != digest:
        raise BadInputError(
            f"a node of the cluster lacks the tokenizer, or has another one, at {directory}; "
            "put the model's directory at the same path on every node"
        )
    return _WorkerTokens(ModelTokenizer(directory))
