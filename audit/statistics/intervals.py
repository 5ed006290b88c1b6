"""Confidence intervals and multiplicity: Wilson, Clopper-Pearson, the bootstrap over patients, Newcombe (MOVER), Holm.

Owns formulas on counts and sums, and the mean of one number a patient, bounded from how many patients lie in which bin
(docs/methods.md, section 2b): of a number that is never negative it is the area under the share of patients above each
value. Knows nothing of generations, diagnoses or verdicts. All intervals are two-sided 95% (docs/methods.md, sections 2
and 5). An estimate made from no data is null with a reason, never 0. A *share* is a binomial proportion: successes of
trials.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik, betaincinv, ndtr, ndtri

from clinaudit.reports.schema.numbers import Estimate

#: Two-sided error of every interval.
ALPHA = 0.05
#: 97.5% point of the normal distribution.
Z = float(ndtri(1 - ALPHA / 2))
#: Bootstrap resamples (docs/methods.md, section 2).
RESAMPLES = 2000
#: Share of undefined resamples above which there is no bootstrap interval (docs/methods.md, section 5): it would rest
#: on a selection of the resamples.
MAXIMUM_UNDEFINED_SHARE = 0.01
#: Trials below which a share's interval is the union of Wilson's and Clopper and Pearson's. Wilson's alone covers a
#: share of 0.105 in 92.1% at 10 trials (Brown, Cai and DasGupta 2001 on such dips of coverage).
FEW_TRIALS = 20
#: Of the resamples, beyond each end of `resampled_share`.
_TAIL_OF_RESAMPLES = 0.02
#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS = 2_000_000


def wilson(successes: int, trials: int) -> Estimate:
    """Return a share with its score interval (Wilson 1927); null where there are no trials."""
    if not trials:
        return Estimate(value=None, n=0, reason="there was nothing to count")
    _check_count(successes, trials)
    share = successes / trials
    low, high = wilson_bounds(share, trials)
    return Estimate(value=share, low=low, high=high, n=trials)


def wilson_bounds(share: float, trials: int) -> tuple[float, float]:
    """Return the Wilson interval of `share` (0..1) of `trials` > 0."""
    shrink = 1 + Z**2 / trials
    middle = (share + Z**2 / (2 * trials)) / shrink
    half = Z * math.sqrt(share * (1 - share) / trials + Z**2 / (4 * trials**2)) / shrink
    # At 0 and at 1 the formula gives the end itself but for rounding.
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    high = 1.0 if share >= 1 else min(1.0, middle + half)
    return low, high


def clopper_pearson(successes: int, trials: int) -> Estimate:
    """Return a share with its exact interval (Clopper and Pearson 1934); null without trials.

    Conservative; unlike the bootstrap's it has a width at 0 and at all.
    """
    if not trials:
        return Estimate(value=None, n=0, reason="there was nothing to count")
    _check_count(successes, trials)
    return clopper_pearson_of_mean(float(successes), trials)


def resampled_share(successes: NDArray[np.float64], trials: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ends, `(2, ...)`, between which a bootstrap's 95% interval of shares lies, but for its own chance.

    Of few patients they lie further out than Wilson's: without the one failure of 58, a resample has none. The tails
    are binomial, between whole numbers, since the trials may vary with the resample.
    """
    shares = np.clip(successes / trials, 1e-9, 1 - 1e-9)
    low, failures = (_resampled_low(share, trials) for share in (shares, 1 - shares))
    return np.stack([low, 1 - failures])


def _resampled_low(shares: NDArray[np.float64], trials: NDArray[np.float64]) -> NDArray[np.float64]:
    has_none = (1 - shares) ** trials >= _TAIL_OF_RESAMPLES
    return np.where(has_none, 0.0, bdtrik(_TAIL_OF_RESAMPLES, trials, shares) / trials)


def estimate_share(successes: int, trials: int) -> Estimate:
    """Return a share with Wilson's interval; below `FEW_TRIALS` trials the union of it and Clopper and Pearson's."""
    share = wilson(successes, trials)
    if not 0 < trials < FEW_TRIALS:
        return share
    low, high = wider_of(interval_of(share), interval_of(clopper_pearson(successes, trials)))
    return share.model_copy(update={"low": low, "high": high})


def interval_of(estimate: Estimate) -> tuple[float, float]:
    """Return an estimate's interval. Raises `ValueError` where it has none."""
    if estimate.low is None or estimate.high is None:
        raise ValueError("an interval was expected")
    return estimate.low, estimate.high


def wider_of(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the union of two intervals (their convex hull): conservative, it covers wherever one of them does."""
    return min(first[0], second[0]), max(first[1], second[1])


def zero_numerator_bound(trials: int) -> float:
    """Return the upper bound of a share with numerator zero: Clopper and Pearson's one-sided 95% limit; `trials` > 0.

    Near 3 / n, the rule of three (Hanley and Lippman-Hand 1983), which exceeds 1 below three trials.
    """
    return 1.0 - float(ALPHA ** (1 / trials))


def clopper_pearson_of_mean(total: float, count: int) -> Estimate:
    """Return the mean `total / count` of a bounded variable in [0, 1] with its Clopper-Pearson interval (Beta bounds).

    The sum takes the place of the count of successes, and may be fractional: low Beta(a/2; s, n-s+1), high
    Beta(1-a/2; s+1, n-s). Of all variables in [0, 1] with one mean, the 0/1 one has the largest variance: the interval
    is conservative. The gate decides by it. `count` is the number of independent values, that is of patients.
    """
    if not count:
        return Estimate(value=None, n=0, reason="there was nothing to average")
    # A sum of floats may pass its bounds by rounding, but by no more.
    if not -1e-9 <= total <= count + 1e-9:
        raise ValueError("a sum of values in [0, 1] lies outside its possible range")
    total = min(max(total, 0.0), float(count))
    low = 0.0 if total <= 0 else float(betaincinv(total, count - total + 1, ALPHA / 2))
    high = 1.0 if total >= count else float(betaincinv(total + 1, count - total, 1 - ALPHA / 2))
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


def score_test_p_value(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the one-sided p-value that the first share is larger: the score (z) test, variance pooled under equality.

    `(successes, trials)` each.
    """
    (a, m), (b, n) = first, second
    pooled = (a + b) / (m + n)
    error = float(np.sqrt(pooled * (1 - pooled) * (1 / m + 1 / n)))
    return float(ndtr(-(a / m - b / n) / error)) if error else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiplicity (Holm 1979, step-down Bonferroni), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _check_count(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError("a count of successes lies outside 0 to the number of trials")


#: Where nobody is seen above it, the last step still reaches up to this: an unseen patient may have one a query.
LEAST_REACH = 1.0
#: Two-sided 95% ends of a share.
Ends = tuple[float, float]


def binned_mean_bounds(
    edges: Sequence[tuple[float, float | None]], used: Sequence[bool], above: Sequence[Ends]
) -> tuple[float, float | None]:
    """Return the ends of a mean's interval; no upper one where somebody lies in a bin without end.

    `edges` are the bins, each a least and a largest number, the first that of nobody's zero; `used` says whether
    anybody lies in a bin, or may; `above` holds the ends of the share of patients in later bins, one a bin. Each step
    is taken at the share's own end. That is wider than the mean's own interval, as the shares do not all err alike.
    """
    lows = [low for low, _ in edges]
    low = sum((upper - lower) * ends[0] for lower, upper, ends in zip(lows, lows[1:], above, strict=False))
    last = max((place for place, some in enumerate(used) if some), default=0)
    high, reached = 0.0, 0.0
    for place, (_, upper) in enumerate(edges[: last + 1]):
        if upper is None:
            return low, None
        if place:
            high += (upper - reached) * above[place - 1][1]
        reached = upper
    return low, high + max(0.0, LEAST_REACH - reached) * above[last][1]


def bounds_of_bins(bins: Sequence[tuple[float, float | None, int]]) -> tuple[float, float | None] | None:
    """Return the ends of the mean of counted patients: each bin's numbers, and how many lie in it; None of nobody.

    Each share has Clopper and Pearson's ends.
    """
    counts = [count for _, _, count in bins]
    patients = sum(counts)
    if not patients:
        return None
    above = [interval_of(clopper_pearson(sum(counts[place + 1 :]), patients)) for place in range(len(counts))]
    return binned_mean_bounds([(low, high) for low, high, _ in bins], [count > 0 for count in counts], above)
