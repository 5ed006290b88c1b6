"""Other patients' text in generations: windows → holders → runs of one owner → tokens that count and evidence rows.

Owns the order, and what keeps a window from counting: prompt echo, and the target's own text. Knows nothing of
figures over many generations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from clinaudit.audit.console.progress import Progress
from clinaudit.audit.memorization.matching import Flags
from clinaudit.audit.memorization.other_patients.generated_windows import GeneratedWindows, lay_out_windows
from clinaudit.audit.memorization.other_patients.holders import HolderSearch, SoleHolders
from clinaudit.audit.memorization.other_patients.owner_runs import OwnerPiece, OwnerRun, RunAttribution, merge_windows
from clinaudit.audit.memorization.other_patients.pools import SPLITS, PatientGroups, all_patients, draw_pools
from clinaudit.audit.memorization.patient_text import OwnNotes
from clinaudit.audit.memorization.verbatim import AttributedGeneration, find_prompt_tokens
from clinaudit.audit.run.evidence_tables import Row
from clinaudit.priors.corpus.patient import Split
from clinaudit.templates.sections import normalize_newlines

#: Train patients' text among all patients' notes, and in the pools; and nontrain patients' in the pools.
_Figure = Literal["all", "sampled", "chance"]
_SPLIT_OF: dict[_Figure, Split] = {"all": "train", "sampled": "train", "chance": "nontrain"}


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
    attributed: Sequence[AttributedGeneration], notes: OwnNotes, *, match_tokens: int, seed: int, progress: Progress
) -> list[OtherPatientsText]:
    """Return the other patients' text of each generation, in windows of `match_tokens` tokens; `seed` draws the pools.

    The work is done in this process.
    """
    corpus = notes.corpus
    order = {split: corpus.scan_order(split) for split in SPLITS}
    pools = draw_pools({split: len(own) for split, own in order.items()}, seed=seed)
    windows = lay_out_windows(attributed, match_tokens=match_tokens)
    found = _find_holders(attributed, windows, notes, pools, progress=progress)
    exclusions = _Exclusions(attributed, windows, notes, match_tokens=match_tokens)
    runs: dict[_Figure, list[OwnerRun]] = {}
    for figure, holders in found.items():
        owners = [order[_SPLIT_OF[figure]][place] for place in holders.patients.tolist()]
        kept = exclusions.leave_out(zip(holders.windows.tolist(), owners, strict=True), with_own=figure != "all")
        runs[figure] = list(merge_windows(kept, windows, match_tokens=match_tokens))

    pieces: dict[OwnerRun, list[OwnerPiece]] = {}
    attribution = RunAttribution(corpus, notes.profile)
    # By owner, so that each owner's notes are read once.
    distinct = sorted({run for own in runs.values() for run in own}, key=lambda run: run.owner_patient_id)
    with progress.stage("attributing other patients' text", total=len(distinct), unit="passages") as advance:
        for run in distinct:
            pieces[run] = attribution.attribute(run, attributed[run.generation].generation)
            advance(1)
    of_generation: list[dict[_Figure, list[OwnerPiece]]] = [{} for _ in attributed]
    for figure, own_runs in runs.items():
        for run in own_runs:
            of_generation[run.generation].setdefault(figure, []).extend(pieces[run])
    return [
        _describe(item, own, has_pools=pools.size[corpus.patients[item.generation.patient_id].split] > 0)
        for item, own in zip(attributed, of_generation, strict=True)
    ]


def _find_holders(
    attributed: Sequence[AttributedGeneration],
    windows: GeneratedWindows,
    notes: OwnNotes,
    pools: PatientGroups,
    *,
    progress: Progress,
) -> dict[_Figure, SoleHolders]:
    if not len(windows):
        return {}
    corpus = notes.corpus
    places = {split: {key: place for place, key in enumerate(corpus.scan_order(split))} for split in SPLITS}
    everyone = all_patients({split: len(own) for split, own in places.items()})
    targets: list[tuple[Split, int]] = []
    for item in attributed:
        patient = corpus.patients[item.generation.patient_id]
        targets.append((patient.split, places[patient.split][patient.patient_id]))
    groups = [everyone, pools] if any(pools.size.values()) else [everyone]
    total = sum(len(order) for group in groups for order in group.orders.values())
    with progress.stage("comparing with all patients", total=total, unit="patients") as advance:
        search = HolderSearch(windows, {split: corpus.packed(split) for split in SPLITS})
        found: dict[_Figure, SoleHolders] = {"all": search.find(everyone, targets, advance)["train"]}
        if pools in groups:
            in_pools = search.find(pools, targets, advance)
            found |= {"sampled": in_pools["train"], "chance": in_pools["nontrain"]}
    return found


class _Exclusions:
    """Leaves out windows that share a token with prompt echo, and those whose text is the target's own."""

    def __init__(
        self,
        attributed: Sequence[AttributedGeneration],
        windows: GeneratedWindows,
        notes: OwnNotes,
        *,
        match_tokens: int,
    ) -> None:
        self._attributed = attributed
        self._windows = windows
        self._notes = notes
        self._match_tokens = match_tokens
        self._echo: dict[int, Flags] = {}
        self._own_of: str | None = None
        self._own: list[str] = []

    def leave_out(self, found: Iterator[tuple[int, str]], *, with_own: bool) -> Iterator[tuple[int, str]]:
        """Yield the (window, owner) that stay; with `with_own` the target's own text is sought, too."""
        for window, owner in found:
            if not self._is_echo(window) and not (with_own and self._is_own(window)):
                yield window, owner

    def _is_echo(self, window: int) -> bool:
        number, first = int(self._windows.generations[window]), int(self._windows.tokens[window])
        if number not in self._echo:
            generation = self._attributed[number].generation
            self._echo[number] = find_prompt_tokens(
                generation, self._notes.cache.tokenizer, match_tokens=self._match_tokens
            )
        return bool(self._echo[number][first : first + self._match_tokens].any())

    def _is_own(self, window: int) -> bool:
        """Whether a note of the target holds the text: in other ids than the generation's, or it would be a match."""
        patient_id = self._attributed[self._windows.generations[window]].generation.patient_id
        if patient_id != self._own_of:
            self._own_of = patient_id
            self._own = [normalize_newlines(note.text) for note in self._notes.corpus.notes_of(patient_id)]
        text = self._windows.text_of(window)
        return any(text in note for note in self._own)


def _describe(
    attributed: AttributedGeneration, pieces: dict[_Figure, list[OwnerPiece]], *, has_pools: bool
) -> OtherPatientsText:
    counts = {
        figure: len({token for piece in pieces.get(figure, ()) for token in piece.revealing_tokens})
        for figure in _SPLIT_OF
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
