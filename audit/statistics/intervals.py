"""Confidence intervals and multiplicity: Beta bounds of a mean, the bootstrap over patients, Newcombe (MOVER), Holm.

Owns formulas on counts and sums. Knows nothing of generations, diagnoses or verdicts. All intervals are two-sided 95%
(docs/methods.md, sections 2 and 5). An estimate made from no data is null with a reason, never 0.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.estimates.intervals import ALPHA, beta_bounds
from clinaudit.reports.schema.numbers import Estimate

#: Bootstrap resamples (docs/methods.md, section 2).
RESAMPLES = 2000
#: Share of undefined resamples above which there is no bootstrap interval (docs/methods.md, section 5): it would rest
#: on a selection of the resamples.
MAXIMUM_UNDEFINED_SHARE = 0.01
#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS = 2_000_000


def interval_of(estimate: Estimate) -> tuple[float, float]:
    """Return an estimate's interval. Raises `ValueError` where it has none."""
    if estimate.low is None or estimate.high is None:
        raise ValueError("an interval was expected")
    return estimate.low, estimate.high


def wider_of(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the union of two intervals (their convex hull): conservative, it covers wherever one of them does."""
    return min(first[0], second[0]), max(first[1], second[1])


def clopper_pearson_of_mean(total: float, count: int) -> Estimate:
    """Return the mean `total / count` of a bounded variable in [0, 1] with its Clopper-Pearson interval (Beta bounds).

    `count` is the number of independent values, that is of patients (`beta_bounds`).
    """
    if not count:
        return Estimate(value=None, n=0, reason="there was nothing to average")
    # A sum of floats may pass its bounds by rounding, but by no more.
    if not -1e-9 <= total <= count + 1e-9:
        raise ValueError("a sum of values in [0, 1] lies outside its possible range")
    total = min(max(total, 0.0), float(count))
    low, high = beta_bounds(total, count)
    return Estimate(value=total / count, low=low, high=high, n=count)


def bootstrap_mean_over_patients(
    sums: NDArray[np.float64], counts: NDArray[np.int64], *, seed: int
) -> tuple[float, float]:
    """Return the 95% percentile interval of the ratio `sum(sums) / sum(counts)`: the cluster bootstrap, by patient.

    `sums` and `counts` hold one number a patient, `(patients,)`: the sum of its generations' values, and the number of
    its generations. Patients without a generation are left out beforehand. Raises `ValueError` on no patient or a count
    below 1.
    """
    sums = np.asarray(sums, dtype=np.float64)
    counts = np.asarray(counts, dtype=np.int64)
    if sums.ndim != 1 or sums.shape != counts.shape or not sums.size:
        raise ValueError("sums and counts must hold one number for each of at least one patient")
    if counts.min() < 1:
        raise ValueError("every patient must have at least one generation")
    drawn = _draw_patients(sums.size, seed=seed, resamples=RESAMPLES)
    return percentile_interval(np.concatenate([sums[own].sum(axis=1) / counts[own].sum(axis=1) for own in drawn]))


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the mean of each metric in each resample of the patients, `(resamples, metrics)`.

    `sums` and `counts` are `(patients, metrics)`: of a patient's answers, the sum of a metric and how many have it. A
    patient is drawn with all of its answers, and the same patients for all metrics. Not a number where nobody drawn has
    the metric. Raises `ValueError` without a patient.
    """
    patients = len(sums)
    if not patients or sums.shape != counts.shape:
        raise ValueError("sums and counts must hold one row for each of at least one patient")
    means = []
    for drawn in _draw_patients(patients, seed=seed, resamples=resamples):
        cells = drawn + patients * np.arange(len(drawn))[:, None]
        times = np.bincount(cells.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)
        means.append(divide_or_nan(times @ sums, times @ counts))
    return np.concatenate(means)


def _draw_patients(patients: int, *, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    """Yield the patients of each resample by their places, `(some resamples, patients)`."""
    rng = np.random.default_rng(seed)
    step = max(1, _CHUNK_CELLS // patients)
    for start in range(0, resamples, step):
        yield rng.integers(0, patients, size=(min(step, resamples - start), patients))


def percentile_interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 2.5% and 97.5% points of resampled values (1-D, finite)."""
    low, high = np.quantile(resampled, (ALPHA / 2, 1 - ALPHA / 2))
    return float(low), float(high)


def interval_of_resamples(resampled: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the 95% percentile interval of the defined resamples; None where over 1% of them are undefined."""
    defined = resampled[np.isfinite(resampled)]
    if not defined.size or defined.size < (1 - MAXIMUM_UNDEFINED_SHARE) * resampled.size:
        return None
    return percentile_interval(defined)


def divide_or_nan(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient, NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: NDArray[np.float64] = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return quotient


def newcombe_difference(first: Estimate, second: Estimate) -> tuple[float, float]:
    """Return the 95% interval of `first - second` from the intervals of two independent estimates.

    Square-and-add: Newcombe (1998) for shares with Wilson's intervals; MOVER, the method of variance estimates recovery
    (Zou and Donner 2008), for others. Raises `ValueError` without both intervals.
    """
    if None in (first.value, first.low, first.high, second.value, second.low, second.high):
        raise ValueError("both figures need a value and an interval")
    a, a_low, a_high = float(first.value or 0), float(first.low or 0), float(first.high or 0)
    b, b_low, b_high = float(second.value or 0), float(second.low or 0), float(second.high or 0)
    difference = a - b
    return (
        difference - math.hypot(a - a_low, b_high - b),
        difference + math.hypot(a_high - a, b - b_low),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiplicity (Holm 1979, step-down Bonferroni), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
