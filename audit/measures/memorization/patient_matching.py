"""N-gram matching of generations with their own patients' notes, patient by patient: here, or in shards of patients.

Owns what is matched of one patient, and the exchange with a worker. Knows nothing of what a match is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.near_passages import NearPassages, find_near_passages
from clinaudit.audit.measures.memorization.near_verbatim import NearVerbatimText, find_near_matches
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientText, concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import AttributedGeneration, attribute_generations
from clinaudit.audit.runtime.cluster.ray_runner import ShardRunner
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.files import digest_tokenizer
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.errors import BadInputError
from clinaudit.priors.diagnoses import Diagnosis, clinical_terms
from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import NoteProfile

#: Text of notes in a shard, in characters, unless one patient has more.
SHARD_CHARS = 1 << 18
#: A patient's notes, by id, and generations.
_Patient = tuple[list[tuple[str, str]], list[Generation]]


@dataclass(frozen=True, slots=True)
class MatchedGeneration:
    """The parts of a generation that stand verbatim in its patient's notes, and those that stand there nearly."""

    attributed: AttributedGeneration
    near: NearVerbatimText
    #: Of its near matches those that may add to its attributable tokens; None where none does.
    passages: NearPassages | None


@dataclass(frozen=True, slots=True)
class _Task:
    """What all shards share."""

    tokenizer_directory: Path
    tokenizer_digest: str
    profile: NoteProfile
    panel: Sequence[Diagnosis]
    match_tokens: int


def match_generations(
    generations: Sequence[Generation],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner | None = None,
) -> list[MatchedGeneration]:
    """Match every generation with its patient's notes; patients come in the order of their first generation.

    Without a runner the work is done in this process, with the cache of token ids. Raises `BadInputError` where a node
    of the cluster lacks the tokenizer.
    """
    by_patient: dict[str, list[Generation]] = {}
    for generation in generations:
        by_patient.setdefault(generation.patient_id, []).append(generation)
    patients = (
        ([(note.note_id, note.text) for note in notes.corpus.notes_of(patient_id)], own)
        for patient_id, own in by_patient.items()
    )
    with progress.stage("matching notes", total=len(generations), unit="generations") as advance:
        if runner is None:
            reader = notes.reader()
            matched: list[MatchedGeneration] = []
            for texts, own in patients:
                patient = PatientText(texts, notes.cache, reader)
                matched += match_with_patient(own, patient, tokenizer=notes.cache.tokenizer, match_tokens=match_tokens)
                advance(len(own))
            return matched
        directory = notes.cache.tokenizer.directory.resolve()
        task = _Task(directory, digest_tokenizer(directory), notes.profile, notes.panel, match_tokens)
        shards: dict[int, list[MatchedGeneration]] = {}
        for index, of_shard in runner.map(match_shard, task, _cut(patients)):
            shards[index] = of_shard
            advance(len(of_shard))
        return [item for index in sorted(shards) for item in shards[index]]


def match_with_patient(
    generations: Sequence[Generation], patient: PatientText, *, tokenizer: ModelTokenizer, match_tokens: int
) -> list[MatchedGeneration]:
    """Match one patient's generations, verbatim and near-verbatim, with n-grams of `match_tokens` tokens."""
    sequences = concatenate_sequences(generation.token_ids for generation in generations)
    attributed = attribute_generations(generations, patient, tokenizer=tokenizer, match_tokens=match_tokens)
    memorized = [np.array(item.memorized, dtype=np.bool_) for item in attributed]
    # A window of memorized tokens alone adds none.
    flags = np.concatenate([*memorized, np.ones(match_tokens, dtype=np.bool_)])
    whole = sliding_window_view(flags, match_tokens)[:-1].all(axis=1)
    near = find_near_matches(
        sequences,
        patient.sequences,
        match_tokens=match_tokens,
        note_of=patient.note_of_sequence,
        aligned=np.logical_not(whole),
    )
    passages = find_near_passages(near, generations, memorized, patient, tokenizer=tokenizer, match_tokens=match_tokens)
    return [
        MatchedGeneration(item, near.text_of(index, length=len(own), note_ids=patient.note_ids), passages[index])
        for index, (item, own) in enumerate(zip(attributed, memorized, strict=True))
    ]


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


def match_shard(task: _Task, shard: Sequence[_Patient]) -> list[MatchedGeneration]:
    """Match the generations of some patients, in a worker."""
    tokens = _tokens(task.tokenizer_directory, task.tokenizer_digest)
    reader = NoteReader(task.profile, clinical_terms(task.panel))
    matched: list[MatchedGeneration] = []
    for notes, own in shard:
        patient = PatientText(notes, tokens, reader)
        matched += match_with_patient(own, patient, tokenizer=tokens.tokenizer, match_tokens=task.match_tokens)
    return matched


class _WorkerTokens:
    """A worker's tokenizer, without a cache."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer

    def ids(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        return self.tokenizer.encode_many(texts)


@lru_cache(maxsize=1)
def _tokens(directory: Path, digest: str) -> _WorkerTokens:
    if not directory.is_dir() or digest_tokenizer(directory) != digest:
        raise BadInputError(
            f"a node of the cluster lacks the tokenizer, or has another one, at {directory}; "
            "put the model's directory at the same path on every node"
        )
    return _WorkerTokens(ModelTokenizer(directory))
