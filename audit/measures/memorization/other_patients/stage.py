"""Other patients' text in generations: windows → holders → runs of one owner → tokens that count and evidence rows.

Owns the order, what keeps a window from counting (prompt echo, and the target's own text), and the runs of windows,
with their source notes and tokens that are no boilerplate as in a region of the target's own text (docs/methods.md,
section 2). Knows nothing of figures over many generations.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.matching import Flags, find_prompt_tokens, read_prompt
from clinaudit.audit.measures.memorization.other_patients.holders import (
    GeneratedWindows,
    HolderFigure,
    SearchedText,
    SoleHolders,
    find_holders,
    lay_out_windows,
)
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus, PatientText
from clinaudit.audit.measures.memorization.source_attribution import (
    Piece,
    attribute_region,
    cut_region_text,
)
from clinaudit.audit.measures.memorization.verbatim import AttributedGeneration, compose_piece
from clinaudit.audit.runtime.console.progress import Progress
from clinaudit.audit.runtime.run.evidence_tables import Row
from clinaudit.audit.statistics.pools import SPLITS, Pools, draw_pools
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span


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


class RunAttribution:
    """Attributes runs owner by owner: the notes of one owner are kept."""

    def __init__(self, notes: MatchedCorpus) -> None:
        self._notes = notes
        self._reader = notes.reader()
        self._owner: str | None = None
        self._text = PatientText((), notes.cache, self._reader)

    def attribute(self, run: OwnerRun, searched: SearchedText) -> list[OwnerPiece]:
        """Return the pieces of a run, by place."""
        if run.owner_patient_id != self._owner:
            self._owner = run.owner_patient_id
            notes = self._notes.corpus.notes_of(run.owner_patient_id)
            self._text = PatientText([(note.note_id, note.text) for note in notes], self._notes.cache, self._reader)
        region = cut_region_text(searched.text, searched.token_chars, run.span_tokens)
        found: list[OwnerPiece] = []
        for piece in attribute_region(region, self._text.texts).pieces:
            labels, _ = compose_piece(piece, region, self._text.note(piece.note))
            tokens = zip(range(*piece.span_tokens), labels, strict=True)
            revealing = tuple(token for token, label in tokens if not label.boilerplate)
            found.append(OwnerPiece(run.owner_patient_id, piece, self._text.note_ids[piece.note], revealing))
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
    attributed: Sequence[AttributedGeneration],
    notes: MatchedCorpus,
    *,
    match_tokens: int,
    seed: int,
    progress: Progress,
) -> list[OtherPatientsText]:
    """Return the other patients' text of each generation, in windows of `match_tokens` tokens; `seed` draws the pools.

    The work is done in this process.
    """
    searched = [
        SearchedText(own.text, own.token_ids, own.token_chars, own.prompt, of.memorized, own.patient_id)
        for of in attributed
        for own in [of.generation]
    ]
    of_generation, pools = find_owner_pieces(searched, notes, match_tokens=match_tokens, seed=seed, progress=progress)
    return [
        _describe(item, own, has_pools=pools.size[notes.corpus.patients[item.generation.patient_id].split] > 0)
        for item, own in zip(attributed, of_generation, strict=True)
    ]


OwnerPieces = dict[HolderFigure, list[OwnerPiece]]


def find_owner_pieces(
    searched: Sequence[SearchedText], notes: MatchedCorpus, *, match_tokens: int, seed: int, progress: Progress
) -> tuple[list[OwnerPieces], Pools]:
    """Return of each text the pieces that one other patient's notes hold, by figure, and the pools that were drawn."""
    corpus = notes.corpus
    order = {split: corpus.scan_order(split) for split in SPLITS}
    pools = draw_pools({split: len(own) for split, own in order.items()}, seed=seed)
    windows = lay_out_windows(searched, match_tokens=match_tokens)
    runs: dict[HolderFigure, list[OwnerRun]] = {}
    if len(windows):
        found = _find_holders(windows, searched, corpus, pools, progress)
        candidates = np.concatenate([holders.windows for holders in found.values()])
        is_echo = _find_echo(windows, candidates, searched, notes, match_tokens=match_tokens)
        own_text = _OwnText(windows, searched, corpus)
        known = set(found["all"].windows.tolist())
        for figure, holders in found.items():
            kept = (
                (window, order[holders.split][place])
                for window, place in zip(holders.windows.tolist(), holders.patients.tolist(), strict=True)
                # What no other patient at all holds is not the target's either.
                if not is_echo[window] and (window in known or not own_text.holds(window))
            )
            places = ((*windows.place(window), owner) for window, owner in kept)
            runs[figure] = list(merge_windows(places, match_tokens=match_tokens))

    pieces: dict[OwnerRun, list[OwnerPiece]] = {}
    attribution = RunAttribution(notes)
    # By owner, so that each owner's notes are read once.
    distinct = sorted({run for own in runs.values() for run in own}, key=lambda run: run.owner_patient_id)
    with progress.stage("attributing other patients' text", total=len(distinct), unit="passages") as advance:
        for run in distinct:
            pieces[run] = attribution.attribute(run, searched[run.generation])
            advance(1)
    of_generation: list[OwnerPieces] = [{} for _ in searched]
    for figure, own_runs in runs.items():
        for run in own_runs:
            of_generation[run.generation].setdefault(figure, []).extend(pieces[run])
    return of_generation, pools


def _find_holders(
    windows: GeneratedWindows,
    searched: Sequence[SearchedText],
    corpus: Corpus,
    pools: Pools,
    progress: Progress,
) -> dict[HolderFigure, SoleHolders]:
    places = {split: {key: place for place, key in enumerate(corpus.scan_order(split))} for split in SPLITS}
    targets: list[tuple[Split, int] | None] = []
    for item in searched:
        patient = None if item.patient_id is None else corpus.patients[item.patient_id]
        targets.append(None if patient is None else (patient.split, places[patient.split][patient.patient_id]))
    packed = {split: corpus.packed(split) for split in SPLITS}
    with progress.stage("comparing with all patients", total=len(corpus.patients), unit="patients") as advance:
        return find_holders(windows, targets, packed, pools, advance=advance)


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
    tokenizer = notes.cache.tokenizer
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


def _describe(attributed: AttributedGeneration, pieces: OwnerPieces, *, has_pools: bool) -> OtherPatientsText:
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
        rows=tuple(_row(attributed, piece) for piece in own),
    )


def _row(attributed: AttributedGeneration, piece: OwnerPiece) -> Row:
    generation = attributed.generation
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
