"""Distribution of a fraction over patients: histogram, deciles, mean of the worst tenth.

Owns order statistics of one number a patient. Knows nothing of tokens, tiers or what is published. The mean of the
worst tenth is the conditional tail expectation (expected shortfall) at 90%.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import RESAMPLES, percentile_interval
from clinaudit.reports.schema.memorization import Decile
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.tally.classes import Interval

#: Fractions above which patients are counted [choice]: any, one in a hundred tokens, one in ten, half.
THRESHOLDS: Final = (0.0, 0.01, 0.1, 0.5)
#: Share of the patients in the upper tail, who are the worst off.
TAIL: Final = 0.1
#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS = 2_000_000


class PatientDistribution(NamedTuple):
    """Deciles of a fraction over patients, and the mean over the tenth who are worst off."""

    deciles: list[Decile]
    worst_tenth: Estimate


def describe_distribution(fractions: Mapping[str, Sequence[float]], *, seed: int) -> PatientDistribution:
    """Return the distribution over patients, each of whom counts once, by the mean over its generations.

    `fractions` are by patient, one a generation. Raises `ValueError` without a patient, or where one has no generation.
    """
    if not fractions or not all(fractions.values()):
        raise ValueError("every patient must have at least one generation")
    values = np.sort([float(np.mean(own)) for own in fractions.values()])
    count = len(values)
    low, high = _tail_interval(values, seed)
    return PatientDistribution(
        deciles=[Decile(share=k / 10, fraction=float(np.quantile(values, k / 10))) for k in range(1, 10)],
        worst_tenth=Estimate(value=float(values[-tail_size(count) :].mean()), low=low, high=high, n=tail_size(count)),
    )


def bin_fractions(values: NDArray[np.float64]) -> list[tuple[Interval, int]]:
    """Return the patients by bin: at zero, and above each threshold up to the next; `values` holds one a patient."""
    bins = [(Interval(0.0, 0.0), int((values == 0).sum()))]
    for low, high in itertools.pairwise((*THRESHOLDS, 1.0)):
        inside = (values > low) & ((values <= high) | (high == 1.0))
        bins.append((Interval(low, high), int(inside.sum())))
    return bins


def tail_size(patients: int) -> int:
    """Return how many patients make the worst tenth, at least one."""
    return -(-patients // round(1 / TAIL))


def _tail_interval(values: NDArray[np.float64], seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    size, tail = values.size, tail_size(values.size)
    means = np.empty(RESAMPLES)
    step = max(1, _CHUNK_CELLS // size)
    for start in range(0, RESAMPLES, step):
        stop = min(start + step, RESAMPLES)
        # Of sorted values, the largest of a resample are those of its largest places: integers sort faster.
        places = np.partition(rng.integers(0, size, size=(stop - start, size)), size - tail, axis=1)[:, size - tail :]
        means[start:stop] = values[places].mean(axis=1)
    return percentile_interval(means)
