"""Whose notes hold the text of a window: the windows that exactly one patient of a group holds.

Owns the scan of the corpus and the condition on the holders of a text. Knows nothing of prompts, sections or figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.memorization.other_patients.generated_windows import GeneratedWindows
from clinaudit.audit.memorization.other_patients.pools import SPLITS, PatientGroups
from clinaudit.priors.corpus.packed_notes import PackedNotes, release_pages
from clinaudit.priors.corpus.patient import Split

Advance = Callable[[int], None]
Places = npt.NDArray[np.int64]
#: Patients that are scanned between two reports of progress.
_PATIENTS_AT_A_TIME = 512


@dataclass(frozen=True, slots=True, eq=False)
class SoleHolders:
    """Windows whose text exactly one patient of one split holds, and none of the other."""

    #: Places among the windows, ascending; shape (found,).
    windows: Places
    #: Place of each one's holder among the patients of the split (`Corpus.scan_order`), shape (found,).
    patients: Places


class HolderSearch:
    """The distinct texts of some windows, indexed, and the scan of notes for their holders."""

    def __init__(self, windows: GeneratedWindows, notes: Mapping[Split, PackedNotes]) -> None:
        """Index the windows, at least one; `notes` are those of the corpus."""
        from clinaudit.audit.memorization.other_patients.holder_kernels import index_texts

        self._notes = notes
        self._index, self._text_of = index_texts(windows.text, windows.begins, windows.ends)
        self._generations = windows.generations

    def find(
        self, groups: PatientGroups, targets: Sequence[tuple[Split, int]], advance: Advance
    ) -> dict[Split, SoleHolders]:
        """Return, by split, the windows that one patient of it in the target's group holds, and none of the other.

        `targets` are each generation's patient: its split, and its place there. A target is never in its group; whether
        its own notes hold the text as well is not asked here. `advance` is called with numbers of patients.
        """
        ranks = {split: {place: rank for rank, place in enumerate(groups.orders[split].tolist())} for split in SPLITS}
        own = [(split, ranks[split].get(place)) for split, place in targets]
        reach = np.array([groups.reach(split, rank) for split, rank in own], dtype=np.int32)[self._generations]
        holders = self._scan(groups, advance)[self._text_of]
        held = [
            (holders[:, 2 * side : 2 * side + 2] < reach[:, side, None]).sum(axis=1, dtype=np.int8)
            for side in range(len(SPLITS))
        ]
        found: dict[Split, SoleHolders] = {}
        for side, split in enumerate(SPLITS):
            targets_rank = np.array([rank if one == split and rank is not None else -1 for one, rank in own])
            is_other = holders[:, 2 * side] != targets_rank[self._generations]
            (windows,) = np.nonzero((held[side] == 1) & (held[1 - side] == 0) & is_other)
            found[split] = SoleHolders(windows, groups.orders[split][holders[windows, 2 * side]])
        return found

    def _scan(self, groups: PatientGroups, advance: Advance) -> npt.NDArray[np.int32]:
        """Return the ranks of the first two holders of each text in each of `SPLITS`; shape (texts, 4)."""
        from clinaudit.audit.memorization.other_patients.holder_kernels import HOLDER_COLUMNS, NOBODY, find_holders

        holders = np.full((len(self._index.begins), HOLDER_COLUMNS), NOBODY, dtype=np.int32)
        live = self._index.texts_of.copy()
        for side, split in enumerate(SPLITS):
            notes, order = self._notes[split], groups.orders[split]
            arrays = (notes.text, notes.starts, notes.ends, notes.first_notes)
            for first in range(0, len(order), _PATIENTS_AT_A_TIME):
                part = order[first : first + _PATIENTS_AT_A_TIME]
                find_holders(self._index, arrays, part, first, side, groups.least, holders, live)
                release_pages(notes, range(notes.patient_count))
                advance(len(part))
        return holders
