"""Other patients' text in generations: windows → holders → runs of one owner → tokens that count and evidence rows.

Owns the order, what keeps a window from counting (prompt echo, and the target's own text), and the runs of windows,
with their source notes and tokens that are no boilerplate as in a region of the target's own text (docs/methods.md,
section 2). Knows nothing of figures over many generations.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.other_patients.holders import (
    GeneratedWindows,
    HolderFigure,
    SearchedText,
    find_holders,
    lay_out_windows,
)
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientText, Reading
from clinaudit.audit.measures.memorization.source_attribution import (
    Piece,
    RegionText,
    attribute_region,
    cut_region_text,
)
from clinaudit.audit.measures.memorization.verbatim import Flags, find_boilerplate, find_prompt_tokens, read_prompt
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.console.progress import Advance, Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.runtime.run.processes import batches
from clinaudit.audit.runtime.run.spill import Items, Made, Spill
from clinaudit.audit.statistics.pools import SPLITS, Pools, draw_pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span

#: Tokens of the texts of a part, whose windows take about 150 bytes each. For each part the corpus is read once.
_TOKENS_AT_A_TIME: Final = 1_400_000
#: Owners in a shard.
_OWNERS_AT_A_TIME: Final = 64


@dataclass(frozen=True, slots=True)
class OwnerRun:
    """Windows of one generation and one owner that share tokens, merged."""

    #: Index of the generation.
    generation: int
    owner_patient_id: str
    span_tokens: Span


@dataclass(frozen=True, slots=True)
class OwnerPiece:
    """A part of a run whose text stands verbatim in one of the owner's notes."""

    owner_patient_id: str
    piece: Piece
    note_id: str
    #: Tokens of the generation that are no boilerplate in the note.
    revealing_tokens: tuple[int, ...]


def merge_windows(windows: Iterable[tuple[int, int, str]], *, match_tokens: int) -> Iterator[OwnerRun]:
    """Yield the runs of all generations; `windows` are (generation, first token, owner), ascending."""
    #: By owner: generation, first token and end of the run that may go on.
    open_runs: dict[str, tuple[int, int, int]] = {}
    for generation, first, owner in windows:
        begin = first
        if owner in open_runs:
            same, start, end = open_runs[owner]
            if same == generation and first < end:
                begin = start
            else:
                yield OwnerRun(same, owner, Span(start, end))
        open_runs[owner] = generation, begin, first + match_tokens
    for owner, (generation, begin, end) in open_runs.items():
        yield OwnerRun(generation, owner, Span(begin, end))


@dataclass(frozen=True, slots=True)
class _Owner:
    """A patient's notes by id, oldest first, and the texts of runs of this owner."""

    patient_id: str
    notes: list[tuple[str, str]]
    regions: list[RegionText]


def attribute_shard(reading: Reading, shard: Sequence[_Owner]) -> list[list[OwnerPiece]]:
    """Return the pieces of each run of some owners, by place, wherever that is done."""
    reader = reading.reader()
    found: list[list[OwnerPiece]] = []
    for owner in shard:
        text = PatientText(owner.notes, reading.tokenizer, reader)
        for region in owner.regions:
            found.append([])
            for piece in attribute_region(region, text.texts).pieces:
                is_boilerplate = find_boilerplate(piece, region, text.note(piece.note))
                revealing = (np.flatnonzero(~is_boilerplate) + piece.span_tokens.start).tolist()
                found[-1].append(OwnerPiece(owner.patient_id, piece, text.note_ids[piece.note], tuple(revealing)))
    return found


@dataclass(frozen=True, slots=True)
class OtherPatientsText:
    """What exactly one other patient's notes hold of one generation."""

    #: Tokens that count.
    tokens: int
    #: Tokens that count in the pools, and there with the splits exchanged; None where the target's pools are empty.
    sampled_tokens: int | None
    chance_tokens: int | None
    #: Patients whose text is counted in `tokens`.
    owners: frozenset[str]
    #: Rows of `other_patients.parquet`.
    rows: tuple[Row, ...]


def find_other_patients_text(
    generations: Items[Generation],
    memorized: Items[Flags],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> Spill[OtherPatientsText]:
    """Return the other patients' text of each generation, in windows of `match_tokens` tokens; `seed` draws the pools.

    `memorized` tells which tokens of each stand in the notes of the patient asked about.
    """

    def search(place: int) -> SearchedText:
        own = generations[place]
        ids = np.array(own.token_ids, dtype=np.uint32)
        return SearchedText(own.text, ids, own.token_chars, own.prompt, memorized[place], own.patient_id)

    searched = Made(len(generations), search)
    of_generation, pools = find_owner_pieces(
        searched, notes, match_tokens=match_tokens, seed=seed, progress=progress, runner=runner
    )
    described = (
        _describe(item, own, has_pools=pools.size[notes.corpus.patients[item.patient_id].split] > 0)
        for item, own in zip(generations, of_generation, strict=True)
    )
    return Spill(notes.corpus.scratch, described)


OwnerPieces = dict[HolderFigure, list[OwnerPiece]]
_Runs = dict[HolderFigure, list[OwnerRun]]


class _KeptRuns:
    """The runs of all texts, each once, outside of memory; and their places there."""

    def __init__(self, directory: Path | None) -> None:
        self.runs: Spill[OwnerRun] = Spill(directory)
        self.by_owner: dict[str, array[int]] = {}
        self.by_text: Spill[dict[HolderFigure, list[int]]] = Spill(directory)

    def add(self, found: _Runs, texts: int) -> None:
        """Keep what was found in the next texts, so many; there they count from 0."""
        first = len(self.by_text)
        places: dict[OwnerRun, int] = {}
        by_text: list[dict[HolderFigure, list[int]]] = [{} for _ in range(texts)]
        for figure, runs in found.items():
            for run in runs:
                if run not in places:
                    places[run] = len(self.runs)
                    self.runs.append(replace(run, generation=first + run.generation))
                    self.by_owner.setdefault(run.owner_patient_id, array("q")).append(places[run])
                by_text[run.generation].setdefault(figure, []).append(places[run])
        for own in by_text:
            self.by_text.append(own)


def find_owner_pieces(
    searched: Items[SearchedText],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
    runner: ShardRunner = ALL_CORES,
) -> tuple[Items[OwnerPieces], Pools]:
    """Return of each text the pieces that one other patient's notes hold, by figure, and the pools that were drawn.

    The pieces wait outside of memory.
    """
    order = {split: notes.corpus.scan_order(split) for split in SPLITS}
    pools = draw_pools({split: len(own) for split, own in order.items()}, seed=seed)
    kept = _KeptRuns(notes.corpus.scratch)
    with progress.stage("comparing with all patients", total=len(searched), unit="texts") as advance:
        for some in batches(searched, lambda text: len(text.token_ids), _TOKENS_AT_A_TIME):
            runs = _find_runs(some, notes, pools, match_tokens=match_tokens, advance=advance, runner=runner)
            kept.add(runs, len(some))
    pieces = _attribute(kept, searched, notes, progress, runner)

    def pieces_of(text: int) -> OwnerPieces:
        return {figure: [piece for run in own for piece in pieces[run]] for figure, own in kept.by_text[text].items()}

    return Made(len(searched), pieces_of), pools


def _find_runs(
    searched: Sequence[SearchedText],
    notes: MatchedCorpus,
    pools: Pools,
    *,
    match_tokens: int,
    advance: Advance,
    runner: ShardRunner,
) -> _Runs:
    """Return the runs of one owner in some texts, by figure."""
    windows = lay_out_windows(searched, match_tokens=match_tokens)
    if not len(windows):
        advance(len(searched))
        return {}
    corpus = notes.corpus
    order = {split: corpus.scan_order(split) for split in SPLITS}
    places = {split: {key: place for place, key in enumerate(order[split])} for split in SPLITS}
    targets: list[tuple[Split, int] | None] = []
    for item in searched:
        patient = None if item.patient_id is None else corpus.patients[item.patient_id]
        targets.append(None if patient is None else (patient.split, places[patient.split][patient.patient_id]))
    packed = {split: corpus.packed(split) for split in SPLITS}
    each = len(searched) / len(corpus.patients)
    found = find_holders(
        windows, targets, packed, pools, advance=lambda patients: advance(each * patients), runner=runner
    )
    candidates = np.concatenate([holders.windows for holders in found.values()])
    is_echo = _find_echo(windows, candidates, searched, notes, match_tokens=match_tokens)
    own_text = _OwnText(windows, searched, corpus)
    known = set(found["all"].windows.tolist())
    runs: _Runs = {}
    for figure, holders in found.items():
        kept = (
            (window, order[holders.split][place])
            for window, place in zip(holders.windows.tolist(), holders.patients.tolist(), strict=True)
            # What no other patient at all holds is not the target's either.
            if not is_echo[window] and (window in known or not own_text.holds(window))
        )
        runs[figure] = list(
            merge_windows(((*windows.place(window), owner) for window, owner in kept), match_tokens=match_tokens)
        )
    return runs


def _attribute(
    kept: _KeptRuns,
    searched: Items[SearchedText],
    notes: MatchedCorpus,
    progress: Progress,
    runner: ShardRunner,
) -> Items[list[OwnerPiece]]:
    """Return the pieces of each run; its owner's notes are read once."""

    def shards() -> Iterator[list[_Owner]]:
        owners = iter(kept.by_owner.items())
        while some := list(islice(owners, _OWNERS_AT_A_TIME)):
            yield [
                _Owner(
                    owner,
                    [(note.note_id, note.text) for note in notes.corpus.notes_of(owner)],
                    [
                        cut_region_text(text.text, text.token_chars, run.span_tokens)
                        for run in map(kept.runs.__getitem__, own)
                        for text in [searched[run.generation]]
                    ],
                )
                for owner, own in some
            ]

    found: Spill[list[OwnerPiece]] = Spill(notes.corpus.scratch)
    with progress.stage("attributing other patients' text", total=len(kept.runs), unit="passages") as advance:
        for shard in runner.map(attribute_shard, notes.reading, shards()):
            for pieces in shard:
                found.append(pieces)
            advance(len(shard))
    # Of each run, its place among those of one owner after the other.
    places = np.argsort(np.concatenate([np.zeros(0, dtype=np.int64), *kept.by_owner.values()]))
    return Made(len(kept.runs), lambda run: found[int(places[run])])


def _find_echo(
    windows: GeneratedWindows,
    candidates: npt.NDArray[np.int64],
    searched: Sequence[SearchedText],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
) -> Flags:
    """Return for each window whether it shares a token with prompt echo, shape (windows,).

    Only the generations of `candidates` are asked: tokenizing all prompts would take longer than the search.
    """
    is_echo = np.zeros(len(windows), dtype=np.bool_)
    numbers = np.unique(windows.generations[candidates]).tolist()
    tokenizer = notes.tokenizer
    prompts = {prompt: read_prompt(prompt, tokenizer) for prompt in {searched[n].prompt for n in numbers}}
    for number in numbers:
        item = searched[number]
        echo = find_prompt_tokens(item.token_ids, prompts[item.prompt], match_tokens=match_tokens)
        if echo.any():
            own = slice(*np.searchsorted(windows.generations, [number, number + 1]).tolist())
            before = np.concatenate([[0], np.cumsum(echo)])
            is_echo[own] = before[windows.tokens[own] + match_tokens] > before[windows.tokens[own]]
    return is_echo


class _OwnText:
    """Tells which windows' texts the target's own notes hold: in other ids than the generation's, or they would match.

    The notes of one target are kept: windows come target by target.
    """

    def __init__(self, windows: GeneratedWindows, searched: Sequence[SearchedText], corpus: Corpus) -> None:
        self._windows = windows
        self._targets = [item.patient_id for item in searched]
        self._corpus = corpus
        self._patient_id: str | None = None
        self._notes: list[str] = []

    def holds(self, window: int) -> bool:
        patient_id = self._targets[self._windows.generations[window]]
        if patient_id is None:
            return False
        if patient_id != self._patient_id:
            self._patient_id = patient_id
            self._notes = [normalize_newlines(note.text) for note in self._corpus.notes_of(patient_id)]
        text = self._windows.text_of(window)
        return any(text in note for note in self._notes)


def _describe(generation: Generation, pieces: OwnerPieces, *, has_pools: bool) -> OtherPatientsText:
    counts = {
        figure: len({token for piece in pieces.get(figure, ()) for token in piece.revealing_tokens})
        for figure in get_args(HolderFigure)
    }
    own = sorted(pieces.get("all", ()), key=lambda piece: (piece.piece.span_tokens, piece.owner_patient_id))
    return OtherPatientsText(
        tokens=counts["all"],
        sampled_tokens=counts["sampled"] if has_pools else None,
        chance_tokens=counts["chance"] if has_pools else None,
        owners=frozenset(piece.owner_patient_id for piece in own if piece.revealing_tokens),
        rows=tuple(_row(generation, piece) for piece in own),
    )


def _row(generation: Generation, piece: OwnerPiece) -> Row:
    first, last = piece.piece.span_tokens.start, piece.piece.span_tokens.end - 1
    start, end = generation.token_chars[first].start, generation.token_chars[last].end
    return {
        "generation_id": generation.generation_id,
        "token_start": first,
        "token_end": last + 1,
        "char_start": start,
        "char_end": end,
        "text": generation.text[start:end],
        "owner_patient_id": piece.owner_patient_id,
        "source_note_id": piece.note_id,
        "note_char_start": piece.piece.note_start_chars,
        "note_char_end": piece.piece.note_start_chars + len(piece.piece.text),
        "revealing_tokens": len(piece.revealing_tokens),
    }
