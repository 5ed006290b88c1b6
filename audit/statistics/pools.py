"""The pools of `chance`: as many patients of either split, drawn at random (docs/methods.md, section 2).

Owns who is in the pool of which target. Knows nothing of text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from clinaudit.priors.corpus.patient import Split

SPLITS: tuple[Split, Split] = ("train", "nontrain")
#: Whom an answer is about: a patient of a split, or nobody, as an everyday task.
Target = Split | Literal["nobody"]
#: What one train patient other than the target holds, and no other patient of the corpus; what one patient of the
#: target's train pool holds, and none of its nontrain pool; and the reverse.
PoolFigure = Literal["all", "sampled", "chance"]
#: Patients of a pool from which on it shows what chance gives [choice].
FEWEST_IN_POOL: Final = 50


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Patients of each split in a random order; a target's pools are the first of them other than the target."""

    #: Places of patients among those of their split (`Corpus.scan_order`), shape (patients,). There is one more than a
    #: pool has, where the split has one: a target is replaced.
    drawn: Mapping[Split, npt.NDArray[np.int64]]
    #: Patients in each pool of a target of this split, or of nobody; 0 where there are none to compare.
    size: Mapping[Target, int]

    def reach(self, target: Target, rank: int | None) -> tuple[int, int]:
        """Return up to which rank the drawn patients of each of `SPLITS` are in a target's pools.

        `target` is the target's split, and `rank` its own among the drawn patients of that split; None where it is not
        drawn.
        """
        more = rank is not None and rank < self.size[target]
        train, nontrain = (self.size[target] + (more and target == one) for one in SPLITS)
        return train, nontrain


def pool_size(patients: Mapping[Split, int], target: Target) -> int:
    """Return how many patients other than the target both splits have; `patients` is the number of each split's."""
    return max(0, min(patients[split] - (split == target) for split in SPLITS))


def draw_pools(patients: Mapping[Split, int], *, seed: int) -> Pools:
    """Draw pools as large as the other patients of either split allow; `patients` is the number of each split's."""
    rng = np.random.default_rng(seed)
    targets: tuple[Target, ...] = (*SPLITS, "nobody")
    size = {target: pool_size(patients, target) for target in targets}
    most = size["nobody"] + 1 if size["nobody"] else 0
    return Pools({split: rng.permutation(patients[split])[:most] for split in SPLITS}, size)
