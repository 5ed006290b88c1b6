"""Means over samples with 95% intervals: the bootstrap over samples, which resamples all of a sample's values at once.

Owns the choice of interval **[choice]**: the bootstrap's; Clopper and Pearson's where all samples have one value, since
the bootstrap is a point there. Knows nothing of what is averaged.
"""

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import (
    bootstrap_mean_over_patients,
    clopper_pearson_of_mean,
    newcombe_difference,
)
from clinaudit.reports.schema.numbers import Estimate

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


def mean_over_samples(values: Values, *, seed: int) -> Estimate:
    """Return the mean of one value in [0, 1] a sample; null where there is none. `n` counts samples."""
    return share_over_samples(values, np.ones(values.size, dtype=np.int64), seed=seed)


def share_over_samples(sums: Values, counts: Counts, *, seed: int) -> Estimate:
    """Return `sum(sums) / sum(counts)`: a sample's sum is of `counts` values in [0, 1], which may be none.

    `n` counts the samples that have any.
    """
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not counts.size:
        return Estimate(value=None, n=0, reason="no sample has it")
    value = float(sums.sum() / counts.sum())
    if _is_point(sums, counts):
        return clopper_pearson_of_mean(value * counts.size, counts.size)
    low, high = bootstrap_mean_over_patients(sums, counts, seed=seed)
    return Estimate(value=value, low=low, high=high, n=counts.size)


def difference_over_samples(first: Values, second: Values, counts: Counts, *, seed: int) -> Estimate:
    """Return `share_over_samples` of `first` less that of `second`, of the same values in pairs.

    Where all samples have one difference, the interval joins those of the two shares (Newcombe).
    """
    first, second, counts = first[counts > 0], second[counts > 0], counts[counts > 0]
    if not counts.size:
        return Estimate(value=None, n=0, reason="no sample has it")
    change = first - second
    if _is_point(change, counts):
        low, high = newcombe_difference(
            share_over_samples(first, counts, seed=seed), share_over_samples(second, counts, seed=seed)
        )
    else:
        low, high = bootstrap_mean_over_patients(change, counts, seed=seed)
    return Estimate(value=float(change.sum() / counts.sum()), low=low, high=high, n=counts.size)


def _is_point(sums: Values, counts: Counts) -> bool:
    means = sums / counts
    return bool(means.min() == means.max())
