"""Generations beside their own patients' notes, patient by patient: here, or as shards of some patients each.

Owns a patient's notes as they are matched, and the way to a worker and back. Knows nothing of what a match is: that is
the business of the work it is given (verbatim.py, near_verbatim.py).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from clinaudit.audit.cluster.shards import ShardRunner
from clinaudit.audit.console.progress import Progress
from clinaudit.audit.generation.record import Generation
from clinaudit.audit.memorization.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.memorization.patient_text import PatientText
from clinaudit.audit.memorization.token_sequences import lay_end_to_end
from clinaudit.audit.memorization.verbatim import LocatedGeneration, locate_generations
from clinaudit.audit.model.files import digest_tokenizer
from clinaudit.audit.model.token_cache import TokenCache
from clinaudit.audit.model.tokenizer import ModelTokenizer
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import NoteProfile

Found = TypeVar("Found")
#: Text of notes in a shard, in characters, unless one patient has more.
SHARD_CHARS = 1 << 18


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


@dataclass(frozen=True, slots=True)
class MatchedGeneration:
    """What of a generation stands in its patient's notes, and what nearly does."""

    located: LocatedGeneration
    near: NearVerbatimText


def match_generations(
    generations: Sequence[Generation],
    corpus: Corpus,
    *,
    cache: TokenCache,
    reader: NoteReader,
    n: int,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> list[MatchedGeneration]:
    """Match every generation, patient by patient, patients in the order of their first generation."""
    with progress.stage("matching notes", total=len(generations), unit="generations") as advance:
        return match_patients(
            match_with_patient, generations, corpus, cache=cache, reader=reader, n=n, runner=runner, advance=advance
        )


def match_with_patient(
    generations: Sequence[Generation], patient: PatientText, *, tokenizer: ModelTokenizer, n: int
) -> list[MatchedGeneration]:
    """Match the generations of one patient."""
    sequences = lay_end_to_end(generation.token_ids for generation in generations)
    near = find_near_matches(sequences, patient.sequences, n=n, note_of=patient.note_of_sequence)
    located = locate_generations(generations, patient, tokenizer=tokenizer, n=n)
    return [
        MatchedGeneration(item, near.text_of(index, length=len(item.generation.token_ids), note_ids=patient.note_ids))
        for index, item in enumerate(located)
    ]
