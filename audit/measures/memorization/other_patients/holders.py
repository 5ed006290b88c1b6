"""Whose notes hold the text of a window: the windows that exactly one patient holds, of all or of a target's pools.

Owns which windows of generations may hold other patients' text (those of `match_tokens` tokens, none of them memorized
from the notes of the patient asked about, that have any text: line feeds only, in UTF-8), the scan of the corpus, and
the condition on the holders of a text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.patient_count import copy_patients
from clinaudit.audit.runtime.cluster.ray_runner import ALL_CORES, ShardRunner
from clinaudit.audit.runtime.run.processes import usable_cores
from clinaudit.audit.statistics.pools import SPLITS, Pools
from clinaudit.errors import IncompleteError
from clinaudit.priors.corpus.note_texts import PackedTexts, release_pages
from clinaudit.priors.corpus.patient import Split
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span

if TYPE_CHECKING:
    from clinaudit.audit.measures.memorization.other_patients.holder_kernels import TextIndex

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A text in which other patients' text is looked for."""

    text: str
    token_ids: Sequence[int] | npt.NDArray[np.uint32]
    #: For each token its characters of `text`.
    token_chars: Sequence[Span]
    #: None where it is not known; then no token counts as prompt echo.
    prompt: str | None
    #: One flag a token: it stands in the notes of the patient asked about. Shape (tokens,).
    memorized: npt.NDArray[np.bool_]
    #: Who was asked about; None: nobody, so that everybody is another patient.
    patient_id: str | None


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedWindows:
    """Windows of some generations, by generation and first token; all arrays but `text` have the shape (windows,)."""

    #: The text of all generations (bytes).
    text: npt.NDArray[np.uint8]
    #: Index of each window's generation, and its first token there.
    generations: Numbers
    tokens: Numbers
    #: Where each begins and ends in `text`, bytes; none is empty.
    begins: Places
    ends: Places

    def __len__(self) -> int:
        return len(self.begins)

    def place(self, window: int) -> tuple[int, int]:
        """Return the index of a window's generation, and its first token there."""
        return int(self.generations[window]), int(self.tokens[window])

    def text_of(self, window: int) -> str:
        """Return the text of a window, with line feeds only."""
        return bytes(self.text[self.begins[window] : self.ends[window]]).decode("utf-8")


def lay_out_windows(searched: Sequence[SearchedText], *, match_tokens: int) -> GeneratedWindows:
    """Return the windows of `match_tokens` tokens that share no token with a match of the target's own notes."""
    texts: list[bytes] = []
    parts: list[tuple[Numbers, Numbers, Places, Places]] = []
    size = 0
    for number, item in enumerate(searched):
        tokens = _windows_without(item.memorized, match_tokens)
        if not len(tokens):
            continue
        text, token_bytes = _in_bytes(item)
        begins, ends = token_bytes[tokens, 0], token_bytes[tokens + match_tokens - 1, 1]
        is_any = begins < ends
        texts.append(text)
        whose = np.full(is_any.sum(), number, dtype=np.int32)
        parts.append((whose, tokens[is_any].astype(np.int32), size + begins[is_any], size + ends[is_any]))
        size += len(text)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, dtype=np.int64)] * 4
    return GeneratedWindows(np.frombuffer(b"".join(texts), dtype=np.uint8), *columns)


def _windows_without(flags: npt.NDArray[np.bool_], match_tokens: int) -> Places:
    """Return where each window begins that holds none of the flagged tokens."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.flatnonzero(before[match_tokens:] == before[: max(0, len(before) - match_tokens)])


def _in_bytes(searched: SearchedText) -> tuple[bytes, Places]:
    """Return the text with line feeds only, and the bytes of each token in it, shape (tokens, 2).

    A token that ends between a carriage return and its line feed keeps the line feed, and so does the token that begins
    there, as in `source_attribution.cut_region_text`.
    """
    text, places = searched.text, np.array(searched.token_chars, dtype=np.int64).reshape(-1, 2)
    encoded = text.encode("utf-8")
    given = np.frombuffer(encoded, dtype=np.uint8)
    if len(encoded) > len(text):
        # The first byte of each character is no continuation byte (10xxxxxx).
        places = np.append(np.flatnonzero((given & 0xC0) != 0x80), len(encoded))[places]
    if "\r" not in text:
        return encoded, places
    is_left_out = np.zeros(len(given), dtype=np.bool_)
    is_left_out[1:] = (given[1:] == _LINE_FEED) & (given[:-1] == _CARRIAGE_RETURN)
    through = np.cumsum(~is_left_out)
    starts = np.append(through - 1, through[-1])
    begins, ends = places[:, 0], places[:, 1]
    ends = np.where(ends > begins, through[ends - 1], starts[begins])
    return normalize_newlines(text).encode("utf-8"), np.stack([starts[begins], ends], axis=1)


Advance = Callable[[int], None]
_TRAIN, _NONTRAIN = 0, 1
#: Windows that one train patient other than the target holds, and no other patient of the corpus; that one patient of
#: the target's train pool holds, and none of its nontrain pool; and the reverse.
HolderFigure = Literal["all", "sampled", "chance"]
#: Texts of so many bytes and of less than so many are sought at anchors of so many bytes, the least of so many in turn.
_GRADES = ((1, 11, 1, 1), (11, 47, 8, 4), (47, 1 << 62, 40, 8))
#: Patients that are scanned between two reports of progress.
_PATIENTS_AT_A_TIME = 512
#: Threads that scan the corpus together, where no cluster does.
_MOST_THREADS = 4


@dataclass(frozen=True, slots=True, eq=False)
class SoleHolders:
    """Windows whose text exactly one patient holds, and who that is."""

    #: Places among the windows, ascending; shape (found,).
    windows: Places
    #: The holders' split, and the place of each one's holder among its patients (`Corpus.scan_order`), shape (found,).
    split: Split
    patients: Places


def find_holders(
    windows: GeneratedWindows,
    targets: Sequence[tuple[Split, int] | None],
    notes: Mapping[Split, PackedTexts],
    pools: Pools,
    *,
    advance: Advance,
    runner: ShardRunner = ALL_CORES,
) -> dict[HolderFigure, SoleHolders]:
    """Find the holders of some windows, at least one; a target's own notes may hold what is found in pools.

    `targets` are each generation's patient: its split, and its place there; None where it is about nobody, whose pools
    are those of a train patient who is not drawn. `notes` are those of the whole corpus. `advance` is called with
    numbers of patients. The threads of this machine search, or a cluster's `runner`.
    """
    from clinaudit.audit.measures.memorization.other_patients.holder_kernels import NOBODY

    orders = {split: _drawn_first(pools.drawn[split], notes[split].patient_count) for split in SPLITS}
    holders = _scan(windows, notes, orders, pools, advance, runner)
    numbers = {split: np.argsort(orders[split]) for split in SPLITS}
    own: list[tuple[Split, int]] = [
        ("train", int(NOBODY)) if target is None else (target[0], int(numbers[target[0]][target[1]]))
        for target in targets
    ]

    def of_generations(values: Sequence[int] | Sequence[tuple[int, int]]) -> Numbers:
        return np.array(values, dtype=np.int32)[windows.generations]

    def sole(side: int, held: Sequence[npt.NDArray[np.int8]]) -> SoleHolders:
        targets_number = of_generations([number if split == SPLITS[side] else -1 for split, number in own])
        (found,) = np.nonzero((held[side] == 1) & (held[1 - side] == 0) & (holders[:, 2 * side] != targets_number))
        return SoleHolders(found, SPLITS[side], orders[SPLITS[side]][holders[found, 2 * side]])

    def held_below(reach: Numbers) -> list[npt.NDArray[np.int8]]:
        """Count the holders in each split, up to two, whose numbers are below those given."""
        return [
            (holders[:, 2 * side : 2 * side + 2] < reach[:, side, None]).sum(axis=1, dtype=np.int8)
            for side in (_TRAIN, _NONTRAIN)
        ]

    # A target that is not drawn has a number beyond every pool.
    in_pools = held_below(of_generations([pools.reach(split, number) for split, number in own]))
    everyone = (len(orders["train"]), len(orders["nontrain"]))
    in_all = held_below(of_generations([everyone] * len(own)))
    return {"all": sole(_TRAIN, in_all), "sampled": sole(_TRAIN, in_pools), "chance": sole(_NONTRAIN, in_pools)}


def _drawn_first(drawn: Places, patients: int) -> Places:
    """Return all patients: those drawn, in their order, and then the rest, so that a scan reads mostly forward."""
    return np.concatenate([drawn, np.setdiff1d(np.arange(patients), drawn)])


def _scan(
    windows: GeneratedWindows,
    notes: Mapping[Split, PackedTexts],
    orders: Mapping[Split, Places],
    pools: Pools,
    advance: Advance,
    runner: ShardRunner,
) -> Numbers:
    """Return for each window the first two holders in each of `SPLITS`, by their numbers in `orders`.

    The shape is (windows, 4). The drawn patients of both splits come before all others. Of a window that two patients
    of one split hold, or one of each, later holders may be missing: no figure is made from it. Only those of the
    smallest pools settle it while the pools are scanned.
    """
    from clinaudit.audit.measures.memorization.other_patients.holder_kernels import (
        HOLDER_COLUMNS,
        NOBODY,
        index_texts,
    )

    sizes = windows.ends - windows.begins
    graded: list[tuple[Places, TextIndex, Numbers]] = []
    for low, high, *anchor in _GRADES:
        (own,) = np.nonzero((low <= sizes) & (sizes < high))
        if len(own):
            own = own[np.argsort(windows.begins[own], kind="stable")]
            graded.append((own, *index_texts(windows.text, windows.begins[own], windows.ends[own], *anchor)))
    indexes = [index for _, index, _ in graded]
    first_two = [np.full((len(one.begins), HOLDER_COLUMNS), NOBODY, dtype=np.int32) for one in indexes]
    least = min(pools.size.values())
    parts = [
        _Part(notes[split], order[first : min(first + _PATIENTS_AT_A_TIME, end)], first, side, sure)
        for is_drawn, sure in ((True, least), (False, int(NOBODY)))
        for side, split in enumerate(SPLITS)
        for order, drawn in [(orders[split], len(pools.drawn[split]))]
        for begin, end in [(0, drawn) if is_drawn else (drawn, len(order))]
        for first in range(begin, end, _PATIENTS_AT_A_TIME)
    ]
    threads = min(usable_cores(), _MOST_THREADS) if runner.is_here else 1
    is_over, lock = Event(), Lock()

    def some(share: int) -> Iterator[_Part]:
        for part in parts[share::threads]:
            yield part
            release_pages(part.notes, range(part.notes.patient_count))
            if is_over.is_set():
                raise IncompleteError("the search was stopped")
            with lock:
                advance(len(part.patients))

    copies = (
        [replace(part, notes=copy_patients(part.notes, part.patients), patients=np.arange(len(part.patients)))]
        for part in some(0)
    )
    with ThreadPoolExecutor(threads) as pool:
        try:
            for found in (
                pool.map(partial(search_parts, indexes), map(some, range(threads)))
                if runner.is_here
                else runner.map(search_parts, indexes, copies)
            ):
                for known, (held, more) in zip(first_two, found, strict=True):
                    for side in (slice(0, 2), slice(2, 4)):
                        both = np.concatenate([known[held, side], more[:, side]], axis=1)
                        known[held, side] = np.sort(both)[:, :2]
        finally:
            # After an interrupt nobody waits for what the others still have to read.
            is_over.set()
    holders = np.empty((len(windows), HOLDER_COLUMNS), dtype=np.int32)
    for (own, _, text_of), known in zip(graded, first_two, strict=True):
        holders[own] = known[text_of]
    return holders


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some patients of one of `SPLITS`, by their places in `notes`; they are numbered from `first` on."""

    notes: PackedTexts
    patients: Places
    first: int
    side: int
    #: Two holders of lesser numbers settle a text.
    sure: int


def search_parts(indexes: "Sequence[TextIndex]", parts: Iterable[_Part]) -> list[tuple[Places, Numbers]]:
    """Return of each index the texts that patients of some parts hold, and the holders, wherever that is done."""
    from clinaudit.audit.measures.memorization.other_patients.holder_kernels import (
        HOLDER_COLUMNS,
        NOBODY,
        note_holders,
    )

    # What is still searched for is the search's own.
    indexes = [one._replace(wanted=one.wanted.copy(), shapes=one.shapes.copy()) for one in indexes]
    holders = [np.full((len(one.begins), HOLDER_COLUMNS), NOBODY, dtype=np.int32) for one in indexes]
    for part in parts:
        arrays = (part.notes.text, part.notes.starts, part.notes.ends, part.notes.first_notes)
        for index, found in zip(indexes, holders, strict=True):
            note_holders(index, arrays, part.patients, part.first, part.side, part.sure, found)
    return [(held, found[held]) for found in holders for held in [np.flatnonzero(found.min(axis=1) < NOBODY)]]
