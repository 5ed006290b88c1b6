"""Whose notes hold the text of a window: the windows that exactly one patient holds, of all or of a target's pools.

Owns the scan of the corpus and the condition on the holders of a text. Knows nothing of prompts, sections or figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.other_patients.generated_windows import GeneratedWindows
from clinaudit.audit.statistics.pools import SPLITS, Pools
from clinaudit.priors.corpus.note_texts import PackedTexts, release_pages
from clinaudit.priors.corpus.patient import Split

Advance = Callable[[int], None]
Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
_TRAIN, _NONTRAIN = 0, 1
#: Patients that are scanned between two reports of progress.
_PATIENTS_AT_A_TIME = 512


@dataclass(frozen=True, slots=True, eq=False)
class SoleHolders:
    """Windows whose text exactly one patient holds, and who that is."""

    #: Places among the windows, ascending; shape (found,).
    windows: Places
    #: Place of each one's holder among the patients of its split (`Corpus.scan_order`), shape (found,).
    patients: Places


@dataclass(frozen=True, slots=True, eq=False)
class FoundHolders:
    """The windows of each figure. A target's own notes may hold what is found in pools: it is not asked here."""

    #: One train patient other than the target, and no other patient of the corpus.
    of_all: SoleHolders
    #: One patient of the target's train pool, and none of its nontrain pool; then the reverse.
    sampled: SoleHolders
    chance: SoleHolders


def find_holders(
    windows: GeneratedWindows,
    targets: Sequence[tuple[Split, int]],
    notes: Mapping[Split, PackedTexts],
    pools: Pools,
    *,
    advance: Advance,
) -> FoundHolders:
    """Find the holders of some windows, at least one.

    `targets` are each generation's patient: its split, and its place there. `notes` are those of the whole corpus.
    `advance` is called with numbers of patients.
    """
    orders = {split: _drawn_first(pools.drawn[split], notes[split].patient_count) for split in SPLITS}
    holders = _scan(windows, notes, orders, pools, advance)
    numbers = {split: np.argsort(orders[split]) for split in SPLITS}
    own = [(split, int(numbers[split][place])) for split, place in targets]

    def of_generations(values: Sequence[int] | Sequence[tuple[int, int]]) -> Numbers:
        return np.array(values, dtype=np.int32)[windows.generations]

    def sole(side: int, held: Sequence[npt.NDArray[np.int8]]) -> SoleHolders:
        targets_number = of_generations([number if split == SPLITS[side] else -1 for split, number in own])
        (found,) = np.nonzero((held[side] == 1) & (held[1 - side] == 0) & (holders[:, 2 * side] != targets_number))
        return SoleHolders(found, orders[SPLITS[side]][holders[found, 2 * side]])

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
    return FoundHolders(sole(_TRAIN, in_all), sole(_TRAIN, in_pools), sole(_NONTRAIN, in_pools))


def _drawn_first(drawn: Places, patients: int) -> Places:
    """Return all patients: those drawn, in their order, and then the rest, so that a scan reads mostly forward."""
    return np.concatenate([drawn, np.setdiff1d(np.arange(patients), drawn)])


def _scan(
    windows: GeneratedWindows,
    notes: Mapping[Split, PackedTexts],
    orders: Mapping[Split, Places],
    pools: Pools,
    advance: Advance,
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
        note_holders,
    )

    index, text_of = index_texts(windows.text, windows.begins, windows.ends)
    holders = np.full((len(index.begins), HOLDER_COLUMNS), NOBODY, dtype=np.int32)
    least = min(pools.size.values())
    for is_drawn in (True, False):
        for side, split in enumerate(SPLITS):
            packed, order, drawn = notes[split], orders[split], len(pools.drawn[split])
            arrays = (packed.text, packed.starts, packed.ends, packed.first_notes)
            begin, end = (0, drawn) if is_drawn else (drawn, len(order))
            for first in range(begin, end, _PATIENTS_AT_A_TIME):
                part = order[first : min(first + _PATIENTS_AT_A_TIME, end)]
                note_holders(index, arrays, part, first, side, least if is_drawn else NOBODY, holders)
                release_pages(packed, range(packed.patient_count))
                advance(len(part))
    of_windows: Numbers = holders[text_of]
    return of_windows
