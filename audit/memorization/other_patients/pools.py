"""Groups of patients whose notes a generation is compared with: all of them, or pools (docs/methods.md, section 2).

Owns who is in the group of which target. Pools hold as many patients of either split, drawn at random. Knows nothing of
text.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.priors.corpus.patient import Split

SPLITS: tuple[Split, Split] = ("train", "nontrain")


@dataclass(frozen=True, slots=True, eq=False)
class PatientGroups:
    """Patients of each split in an order; a target's group is the first of them other than the target."""

    #: Places of patients among those of their split (`Corpus.scan_order`), shape (patients,).
    orders: Mapping[Split, npt.NDArray[np.int64]]
    #: Patients of each split in the group of a target of this split; there may be fewer.
    size: Mapping[Split, int]

    @property
    def least(self) -> int:
        """The smallest number of patients of one split in any target's group."""
        return min(self.size.values())

    def reach(self, split: Split, rank: int | None) -> tuple[int, int]:
        """Return up to which rank the patients of each of `SPLITS` are in a target's group.

        `split` is the target's, and `rank` its own in the order of that split; None where it has none.
        """
        more = rank is not None and rank < self.size[split]
        train, nontrain = (self.size[split] + (more and split == one) for one in SPLITS)
        return train, nontrain


def all_patients(patients: Mapping[Split, int]) -> PatientGroups:
    """Return the group of everyone; `patients` is the number of each split's patients."""
    most = max(patients.values())
    return PatientGroups({split: np.arange(patients[split]) for split in SPLITS}, dict.fromkeys(SPLITS, most))


def draw_pools(patients: Mapping[Split, int], *, seed: int) -> PatientGroups:
    """Draw pools of as many patients of either split, as large as the target's own place in one of them allows."""
    rng = np.random.default_rng(seed)
    size = {own: max(0, min(patients[split] - (split == own) for split in SPLITS)) for own in SPLITS}
    # One more than a pool has: a target in it is replaced.
    most = max(size.values()) + 1
    return PatientGroups({split: rng.permutation(patients[split])[:most] for split in SPLITS}, size)
