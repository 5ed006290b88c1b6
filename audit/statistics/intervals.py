"""Confidence intervals, multiplicity and agreement: Beta bounds, bootstrap, Newcombe (MOVER), pairs, Holm, kappa.

Owns formulas on counts, sums and one value a patient (docs/methods.md, sections 7 and 8). All intervals are two-sided
95%. An estimate made from no data is null with a reason, never 0.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.estimates.intervals import ALPHA, beta_bounds
from clinaudit.reports.schema.record import Estimate

#: Bootstrap resamples (docs/methods.md, section 12).
RESAMPLES = 2000
#: Share of undefined resamples above which there is no bootstrap interval (docs/methods.md, section 5): it would rest
#: on a selection of the resamples.
MAXIMUM_UNDEFINED_SHARE = 0.01
#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS = 2_000_000


def clopper_pearson_of_mean(total: float, count: int, *, reason: str = "there was nothing to average") -> Estimate:
    """Return the mean `total / count` of a bounded variable in [0, 1] with its Clopper-Pearson interval (Beta bounds).

    `count` is the number of independent values, that is of patients (`beta_bounds`); of none there is the `reason`.
    """
    if not count:
        return Estimate(value=None, n=0, reason=reason)
    low, high = bounds_of_mean(total, count)
    return Estimate(value=min(max(total, 0.0), float(count)) / count, low=low, high=high, n=count)


def bounds_of_mean(total: float, count: int) -> tuple[float, float]:
    """Return the Beta bounds of `total / count`, at least one value in [0, 1], alone."""
    # A sum of floats may pass its bounds by rounding, but by no more.
    if not -1e-9 <= total <= count + 1e-9:
        raise ValueError("a sum of values in [0, 1] lies outside its possible range")
    return beta_bounds(min(max(total, 0.0), float(count)), count)


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64 | np.int64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the mean of each metric in each resample of the patients, `(resamples, metrics)`.

    `sums` and `counts` are `(patients, metrics)`: of a patient's answers, the sum of a metric and how many have it. A
    patient is drawn with all of its answers, and the same patients for all metrics. Not a number where nobody drawn has
    the metric. Raises `ValueError` without a patient.
    """
    patients = len(sums)
    if not patients or sums.shape != counts.shape:
        raise ValueError("sums and counts must hold one row for each of at least one patient")
    rng = np.random.default_rng(seed)
    step = max(1, _CHUNK_CELLS // patients)
    means = []
    for start in range(0, resamples, step):
        drawn = rng.integers(0, patients, size=(min(step, resamples - start), patients))
        cells = drawn + patients * np.arange(len(drawn))[:, None]
        times = np.bincount(cells.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)
        means.append(divide_or_nan(times @ sums, times @ counts))
    return np.concatenate(means)


def interval_of_resamples(resampled: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the 95% percentile interval of the defined resamples; None where over 1% of them are undefined."""
    defined = resampled[np.isfinite(resampled)]
    if not defined.size or defined.size < (1 - MAXIMUM_UNDEFINED_SHARE) * resampled.size:
        return None
    low, high = np.quantile(defined, (ALPHA / 2, 1 - ALPHA / 2))
    return float(low), float(high)


def divide_or_nan(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient, NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: NDArray[np.float64] = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)
    return quotient


def newcombe_difference(first: Estimate | Row, second: Estimate | Row) -> tuple[float, float]:
    """Return the 95% interval of `first - second` from the intervals of two independent figures.

    Square-and-add: Newcombe (1998) for shares with Wilson's intervals; MOVER, the method of variance estimates recovery
    (Zou and Donner 2008), for others. Raises `ValueError` without both intervals.
    """
    a, a_low, a_high, b, b_low, b_high = first.value, first.low, first.high, second.value, second.low, second.high
    if a is None or a_low is None or a_high is None or b is None or b_low is None or b_high is None:
        raise ValueError("both figures need a value and an interval")
    below, above = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
    return a - b - below, a - b + above


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiplicity (Holm 1979, step-down Bonferroni), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


#: `(items, answers)`: how many raters gave an item which answer; each item has the same raters, two or more.
Counts = NDArray[np.int64]


def observed_agreement(counts: Counts) -> float:
    """Return the share of pairs of raters who give an item the same answer, mean over items (at least one)."""
    raters = counts[0].sum()
    return float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean())


def kappa_of(counts: Counts) -> float | None:
    """Return Fleiss' kappa (1971), which takes out chance; None without an item, and where chance agreement is 1.

    That is where all answers are one. Raters who differ on half of the items, each with as many of both answers, agree
    by chance: `[[2, 0], [1, 1], [0, 2], [1, 1]]` gives 0.
    """
    # Late: it takes a second.
    from statsmodels.stats.inter_rater import fleiss_kappa

    used = counts[:, counts.any(axis=0)]
    return None if used.shape[1] <= 1 else float(fleiss_kappa(used))


Values = NDArray[np.float64]
NOBODY_PAIRED = "no patient has it in both runs"


def paired_difference(before: Values, after: Values) -> Estimate:
    """Return the mean of `after - before` (B minus A) of the same patients, one value in [0, 1] a patient and run.

    Its interval is conservative, without resampling, and has a width where nobody changed (docs/methods.md, section 8).
    The mean rise and the mean fall, each with its Beta quantiles, are joined by MOVER with their correlation (Zou and
    Donner 2008): nobody rises and falls, so that it is below 0 and widens the interval. Simulated on rare, binary and
    U-shaped changes of 20 to 500 patients it covers at least 95%; without the correlation 87%. Raises `ValueError`
    where the shapes differ. Example: the value of `paired_difference(np.array([0.5, 0]), np.array([0, 0]))` is -0.25.
    """
    if before.shape != after.shape:
        raise ValueError("every pair has a value in both runs")
    if not before.size:
        return Estimate(value=None, n=0, reason=NOBODY_PAIRED)
    change = after - before
    rise, fall = np.maximum(change, 0), np.maximum(-change, 0)
    (rise_low, rise_high), (fall_low, fall_high) = (bounds_of_mean(float(of.sum()), of.size) for of in (rise, fall))
    spread = float(rise.std() * fall.std())
    apart = float(((rise - rise.mean()) * (fall - fall.mean())).mean()) / spread if spread > 0 else 0.0
    value = float(change.mean())
    down, up = float(rise.mean()) - rise_low, fall_high - float(fall.mean())
    low = value - math.sqrt(down**2 + up**2 - 2 * apart * down * up)
    down, up = float(fall.mean()) - fall_low, rise_high - float(rise.mean())
    high = value + math.sqrt(down**2 + up**2 - 2 * apart * down * up)
    return Estimate(value=value, low=max(-1.0, low), high=min(1.0, high), n=change.size)
