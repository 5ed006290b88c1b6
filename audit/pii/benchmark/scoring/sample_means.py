"""Means over samples with 95% intervals: the bootstrap over samples, which resamples all of a sample's values at once.

Owns the choice of interval **[choice]**: the bootstrap's; Clopper and Pearson's where all samples have one value, since
the bootstrap is a point there. And the comparison of two systems on the same samples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.pii.benchmark.scoring.scores import SampleScores
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


def mean_over_samples(values: Iterable[float | None], *, seed: int) -> Estimate:
    """Return the mean of one value in [0, 1] a sample, those without one left out; null without any. `n`: samples."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    return share_over_samples(known, np.ones(known.size, dtype=np.int64), seed=seed)


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


def mean_difference(first: Values, second: Values, *, seed: int) -> Estimate:
    """Return the mean of `first` less that of `second`, of one value in [0, 1] a sample each.

    Where all samples have one difference, the interval joins those of the two means (Newcombe).
    """
    change, once = first - second, np.ones(first.size, dtype=np.int64)
    if _is_point(change, once):
        low, high = newcombe_difference(mean_over_samples(first, seed=seed), mean_over_samples(second, seed=seed))
    else:
        low, high = bootstrap_mean_over_patients(change, once, seed=seed)
    return Estimate(value=float(change.sum() / change.size), low=low, high=high, n=change.size)


def _is_point(sums: Values, counts: Counts) -> bool:
    means = sums / counts
    return bool(means.min() == means.max())


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemComparison:
    """Two systems in one task, on the same samples."""

    first: str
    second: str
    samples: int
    #: Mean strict F1 of the first less that of the second.
    strict_f1: Estimate
    #: Samples on which one of them alone gave exactly the gold answer.
    only_first_exact: int
    only_second_exact: int
    #: That either is exact as often: McNemar's test, exact, two-sided; and the same adjusted over all pairs (Holm).
    p_value: float
    p_value_adjusted: float


def compare_systems(by_system: Mapping[str, Sequence[SampleScores]], *, seed: int) -> list[SystemComparison]:
    """Return how each two systems differ in one task; all have the same samples, in one order (else `ValueError`)."""
    compared = []
    for (first, ours), (second, theirs) in combinations(by_system.items(), 2):
        if [row.sample for row in ours] != [row.sample for row in theirs]:
            raise ValueError("both systems are scored on the same samples, in one order")
        exact = [(a.scores.is_exact, b.scores.is_exact) for a, b in zip(ours, theirs, strict=True)]
        only_first, only_second = exact.count((True, False)), exact.count((False, True))
        f1, other_f1 = (np.array([row.scores.strict_f1.f1 for row in rows]) for rows in (ours, theirs))
        p_value = mcnemar_p_value(only_first, only_second)
        compared.append(
            SystemComparison(
                first=first,
                second=second,
                samples=len(ours),
                strict_f1=mean_difference(f1, other_f1, seed=seed),
                only_first_exact=only_first,
                only_second_exact=only_second,
                p_value=p_value,
                p_value_adjusted=p_value,
            )
        )
    adjusted = holm([one.p_value for one in compared])
    return [replace(one, p_value_adjusted=p_value) for one, p_value in zip(compared, adjusted, strict=True)]
