"""AUROC with ties, its DeLong variance, and ROC points.

Owns formulas on counts by score level, the levels ascending on the last axis. Each patient has one generation, so that
a count is of patients. Knows nothing of verdicts or diagnoses.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import divide_or_nan
from clinaudit.reports.schema.disclosure import RocPoint

Counts = NDArray[np.float64]


def auroc_of_counts(positive: Counts, negative: Counts) -> Counts:
    """Return the AUROC, `(..., levels)` each to `(...)`; NaN where a class is empty.

    It is the probability that a positive scores above a negative, ties counting half: Mann-Whitney's U over the number
    of pairs.
    """
    beaten = np.cumsum(negative, axis=-1) - negative / 2
    wins = (positive * beaten).sum(axis=-1)
    return divide_or_nan(wins, positive.sum(axis=-1) * negative.sum(axis=-1))


def delong_variances(positive: Counts, negative: Counts) -> tuple[Counts, Counts]:
    """Return the variance components of AUROC, one a class: `(..., levels)` each to `(...)` each.

    DeLong, DeLong and Clarke-Pearson (1988). The variance of AUROC is their sum. Raises `ValueError` below two patients
    in a class.
    """
    positives, negatives = positive.sum(axis=-1), negative.sum(axis=-1)
    if np.any(positives < 2) or np.any(negatives < 2):
        raise ValueError("a variance needs at least two patients in each class")
    area = auroc_of_counts(positive, negative)
    # Placement of each level: the share of the other class that it beats (or that beats it), ties counting half.
    beats = (np.cumsum(negative, axis=-1) - negative / 2) / negatives[..., np.newaxis]
    is_beaten = 1 - (np.cumsum(positive, axis=-1) - positive / 2) / positives[..., np.newaxis]
    return _variance_of_mean(positive, beats, area), _variance_of_mean(negative, is_beaten, area)


def add_pseudo_patients(counts: Counts) -> Counts:
    """Return the counts of a class with one more patient at the lowest level and one at the highest.

    Where every score ties, or the classes separate perfectly, DeLong's variance is 0: twenty patients would then
    read as certainty. Agresti and Caffo (2000) add one success and one failure to a proportion for the same reason.
    Here it keeps the variance near 1/n² at such ends, and changes it by about 2/n elsewhere. It serves variances and
    centres of intervals only: the AUROC itself is reported without it. The levels must span the whole scale, used or
    not.
    """
    smoothed = counts.copy()
    smoothed[..., 0] += 1
    smoothed[..., -1] += 1
    return smoothed


def roc_points(levels: Sequence[float], positive: Counts, negative: Counts) -> list[RocPoint] | None:
    """Return the operating points from (0, 0) to (1, 1), `(levels,)` counts each; None without both classes.

    The first point's threshold lies 1 above the highest level: no one is called positive there.
    """
    if not positive.sum() or not negative.sum():
        return None
    used = [i for i in range(len(levels)) if positive[i] + negative[i] > 0]
    points = [RocPoint(threshold=max(levels) + 1, true_positive_rate=0.0, false_positive_rate=0.0)]
    for i in reversed(used):
        points.append(
            RocPoint(
                threshold=levels[i],
                true_positive_rate=float(positive[i:].sum() / positive.sum()),
                false_positive_rate=float(negative[i:].sum() / negative.sum()),
            )
        )
    return points


def _variance_of_mean(counts: Counts, placement: Counts, area: Counts) -> Counts:
    """Return the variance of a class's mean placement, which is the area."""
    patients = counts.sum(axis=-1)
    squares = (counts * (placement - area[..., np.newaxis]) ** 2).sum(axis=-1)
    variance: Counts = squares / (patients - 1) / patients
    return variance
