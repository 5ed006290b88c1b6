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
    #: Patients in each pool of a target of this split; 0 where there are none to compare.
    size: Mapping[Split, int]

    def reach(self, split: Split, rank: int | None) -> tuple[int, int]:
        """Return up to which rank the drawn patients of each of `SPLITS` are in a target's pools.

        `split` is the target's, and `rank` its own among the drawn patients of that split; None where it is not drawn.
        """
        more = rank is not None and rank < self.size[split]
        train, nontrain = (self.size[split] + (more and split == one) for one in SPLITS)
        return train, nontrain


def pool_size(patients: Mapping[Split, int], target: Split) -> int:
    """Return how many patients of either split a pool of a target has; the target, of this split, is in none."""
    return max(0, min(patients[split] - (split == target) for split in SPLITS))


def draw_pools(patients: Mapping[Split, int], *, seed: int) -> Pools:
    """Draw pools as large as the other patients of either split allow; `patients` is the number of each split's."""
    rng = np.random.default_rng(seed)
    size = {own: pool_size(patients, own) for own in SPLITS}
    most = max(size.values()) + 1 if any(size.values()) else 0
    return Pools({split: rng.permutation(patients[split])[:most] for split in SPLITS}, size)
