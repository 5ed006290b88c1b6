"""How far raters agree on items: the share of pairs that do, and Fleiss' kappa (1971), which takes out chance.

`counts` is `(items, answers)`: how many raters gave an item which answer; each item has the same raters, two or more.
"""

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def observed_agreement(counts: Counts) -> float:
    """Return the share of pairs of raters who give an item the same answer, mean over items (at least one)."""
    raters = counts[0].sum()
    return float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean())


def kappa_of(counts: Counts) -> float | None:
    """Return Fleiss' kappa; None without an item, and where all answers are one: chance agreement is 1 then.

    Two raters who differ on half of the items, each with as many of both answers: `kappa_of([[2, 0], [1, 1], [0, 2],
    [1, 1]])` is 0.
    """
    # Late: it takes a second.
    from statsmodels.stats.inter_rater import fleiss_kappa

    used = counts[:, counts.any(axis=0)]
    return None if used.shape[1] <= 1 else float(fleiss_kappa(used))
