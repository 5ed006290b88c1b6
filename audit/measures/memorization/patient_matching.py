"""What generations repeat of their own patients' notes, patient by patient in shards: matched, and masked.

Owns what is done with one patient's generations before the corpus is asked, and the exchange with a worker. Knows
nothing of what a match is.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.masked_notes import MaskedPiece, NoteMasker, PieceMasker
from clinaudit.audit.measures.memorization.near_verbatim import NearPiece, find_near_matches, find_near_pieces
from clinaudit.audit.measures.memorization.patient_text import (
    MatchedCorpus,
    PatientText,
    Reading,
    concatenate_sequences,
)
from clinaudit.audit.measures.memorization.verbatim import AttributedGeneration, Flags, attribute_generations
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner, in_order
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.spill import Items, Made, Spill, batches, pack
from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.identity import Visit
from clinaudit.templates.spans import Span

#: Text of notes in a shard, in characters, and what the last patient has more.
SHARD_CHARS = 1 << 18


@dataclass(frozen=True, slots=True)
class MatchedGeneration:
    """The parts of a generation that stand verbatim or nearly in its patient's notes, before the corpus is asked."""

    attributed: AttributedGeneration
    #: Of `attributed.pieces`.
    masked: tuple[MaskedPiece, ...]
    #: Its longest near-verbatim regions, by first token: their tokens, and the id of the last note that holds them.
    longest_near: list[tuple[Span, str]]
    #: Parts of near-verbatim text that may add to its attributable tokens.
    near: list[NearPiece]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each text that is looked up in the corpus, as it stands and masked."""
        yield from (
            (piece.piece.text, masked.text) for piece, masked in zip(self.attributed.pieces, self.masked, strict=True)
        )
        yield from (piece.texts for piece in self.near)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A patient with all notes, oldest first, and the generations asked for."""

    patient: Patient
    note_ids: tuple[str, ...]
    visits: tuple[Visit, ...]
    generations: list[Generation]


class MatchedShards:
    """Matched generations, shard by shard; they wait outside of memory until the counts of their texts are known."""

    def __init__(self, notes: MatchedCorpus, generations: Items[Generation]) -> None:
        #: Each holds those of some patients.
        self.shards: Spill[list[MatchedGeneration]] = Spill(notes.corpus.scratch)
        #: In the order in which they are matched, as all that follows is.
        self.generations = generations
        #: Of each generation, which tokens stand in the patient's own notes.
        self.memorized: Spill[Flags] = Spill(notes.corpus.scratch)
        #: Of each shard the texts that are looked up in the corpus, as they stand and masked, each pair once.
        self.texts: Spill[list[tuple[str, str]]] = Spill(notes.corpus.scratch)
        #: How many generations each shard holds.
        self.sizes: list[int] = []

    def add(self, shard: "_MatchedShard") -> None:
        """Keep one more shard."""
        self.sizes.append(len(shard.memorized))
        for flags in shard.memorized:
            self.memorized.append(flags)
        self.texts.append_packed(shard.texts)
        self.shards.append_packed(shard.packed)


@dataclass(frozen=True, slots=True)
class _MatchedShard:
    packed: bytes
    memorized: list[Flags]
    texts: bytes


def match_generations(
    generations: Items[Generation],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> MatchedShards:
    """Match every generation with its patient's notes; patients come in the order of their first generation.

    Without a `runner` the work is done in processes of this machine. Raises `BadInputError` where a node of the cluster
    lacks the tokenizer.
    """
    by_patient: dict[str, list[int]] = {}
    for place, generation in enumerate(generations):
        by_patient.setdefault(generation.patient_id, []).append(place)
    order = array("q", (place for own in by_patient.values() for place in own))
    matched = MatchedShards(notes, Made(len(order), lambda place: generations[order[place]]))
    asked = ((patient_id, [generations[place] for place in own]) for patient_id, own in by_patient.items())
    with progress.stage("matching notes", total=len(generations), unit="generations") as advance:
        shards = batches(_read(asked, notes), lambda one: sum(len(visit.text) for visit in one.visits), SHARD_CHARS)
        for shard in in_order(runner.map(match_shard, (notes.reading, match_tokens), shards)):
            matched.add(shard)
            advance(matched.sizes[-1])
    return matched


def _read(asked: Iterable[tuple[str, list[Generation]]], notes: MatchedCorpus) -> Iterator[_Asked]:
    for patient_id, own in asked:
        given = notes.corpus.notes_of(patient_id)
        visits = tuple(Visit.of(note, note.text) for note in given)
        yield _Asked(notes.corpus.patients[patient_id], tuple(note.note_id for note in given), visits, own)


def match_shard(task: tuple[Reading, int], shard: Sequence[_Asked]) -> _MatchedShard:
    """Match the generations of some patients, wherever that is done; `task` has the tokens of a match, too."""
    reading, match_tokens = task
    reader, tokenizer = reading.reader(), reading.tokenizer
    note_masker = NoteMasker(reading.profile)
    matched: list[MatchedGeneration] = []
    for asked in shard:
        texts = [(note_id, visit.text) for note_id, visit in zip(asked.note_ids, asked.visits, strict=True)]
        patient = PatientText(texts, tokenizer, reader)
        masker = PieceMasker(note_masker, asked.patient, asked.visits)
        matched += _match(asked.generations, patient, masker, tokenizer, match_tokens)
    return _MatchedShard(
        pack(matched),
        [item.attributed.memorized for item in matched],
        pack(list(dict.fromkeys(pair for item in matched for pair in item.texts()))),
    )


def _match(
    generations: Sequence[Generation], patient: PatientText, masker: PieceMasker, tokenizer: ModelTokenizer, n: int
) -> list[MatchedGeneration]:
    """Match one patient's generations, verbatim and nearly, in `n` tokens; mask what they hold of the notes."""
    sequences = concatenate_sequences(generation.token_ids for generation in generations)
    attributed = attribute_generations(generations, sequences, patient, tokenizer=tokenizer, match_tokens=n)
    memorized = [item.memorized for item in attributed]
    near = find_near_matches(sequences, patient.sequences, match_tokens=n)
    pieces = find_near_pieces(near, generations, memorized, patient, masker, tokenizer=tokenizer, match_tokens=n)
    return [
        MatchedGeneration(
            item,
            tuple(masker.mask(piece.piece, item.generation) for piece in item.pieces),
            [(span, patient.note_ids[note]) for span, note in near.longest_regions(index, patient.note_of_sequence)],
            pieces[index],
        )
        for index, item in enumerate(attributed)
    ]
