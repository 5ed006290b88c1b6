"""Means over samples with 95% intervals, of a frame of items; and two systems on the same samples.

Owns the choice of interval **[choice]**: that of the bootstrap over samples, which resamples all of a sample's values
at once; Clopper and Pearson's where all samples have one value, since the bootstrap is a point there.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import (
    bootstrap_mean_over_patients,
    clopper_pearson_of_mean,
    holm,
    newcombe_difference,
)
from clinaudit.audit.statistics.paired_differences import mcnemar_p_value
from clinaudit.reports.schema.numbers import Estimate

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


def mean_of_items(items: pl.DataFrame, *, seed: int) -> Estimate:
    """Return the mean of the values of some items, as `share_over_samples`."""
    return share_over_samples(items["value"].to_numpy(), items["count"].to_numpy(), seed=seed)


def share_of_values(values: Iterable[float], *, seed: int) -> Estimate:
    """Return the mean of one value in [0, 1] a sample."""
    known = np.fromiter(values, dtype=np.float64)
    return share_over_samples(known, np.ones(known.size, dtype=np.int64), seed=seed)


def share_over_samples(sums: Values, counts: Counts, *, seed: int) -> Estimate:
    """Return `sum(sums) / sum(counts)`: a sample's sum is of `counts` values in [0, 1], which may be none.

    `n` counts the samples that have any; without one the value is null.
    """
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not counts.size:
        return Estimate(value=None, n=0, reason="no sample has it")
    value = float(sums.sum() / counts.sum())
    if _is_point(sums, counts):
        return clopper_pearson_of_mean(value * counts.size, counts.size)
    low, high = bootstrap_mean_over_patients(sums, counts, seed=seed)
    return Estimate(value=value, low=low, high=high, n=counts.size)


def mean_difference(first: Values, second: Values, *, seed: int) -> Estimate:
    """Return the mean of `first` less that of `second`, of one value in [0, 1] a sample each.

    Where all samples have one difference, the interval joins those of the two means (Newcombe).
    """
    change, once = first - second, np.ones(first.size, dtype=np.int64)
    if _is_point(change, once):
        low, high = newcombe_difference(share_of_values(first, seed=seed), share_of_values(second, seed=seed))
    else:
        low, high = bootstrap_mean_over_patients(change, once, seed=seed)
    return Estimate(value=float(change.sum() / change.size), low=low, high=high, n=change.size)


def _is_point(sums: Values, counts: Counts) -> bool:
    means = sums / counts
    return bool(means.min() == means.max())


def compare_systems(items: pl.DataFrame, *, seed: int) -> Iterator[tuple[Estimate, dict[str, Any]]]:
    """Yield how each two systems differ in one task: mean strict F1 of the first less the second, and who is exact.

    The fields are those of `BenchDifference`. All systems were asked of the same samples.
    """
    f1, exact = (
        items.filter(metric=metric).pivot(on="system", index="sample", values="value", maintain_order=True)
        for metric in ("strict_f1.f1", "exact")
    )
    pairs = list(combinations(f1.columns[1:], 2))
    alone = [
        (int((exact[first] > exact[second]).sum()), int((exact[first] < exact[second]).sum()))
        for first, second in pairs
    ]
    p_values = [mcnemar_p_value(*counts) for counts in alone]
    for (first, second), (only_first, only_second), p_value, adjusted in zip(
        pairs, alone, p_values, holm(p_values), strict=True
    ):
        yield (
            mean_difference(f1[first].to_numpy(), f1[second].to_numpy(), seed=seed),
            {
                "first": first,
                "second": second,
                "only_first_exact": only_first,
                "only_second_exact": only_second,
                "p_value": p_value,
                "p_value_adjusted": adjusted,
            },
        )
