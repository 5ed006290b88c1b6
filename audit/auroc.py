"""AUROC with ties, its DeLong variance, and ROC points.

Owns figures on tables of scores: one row a patient, one column a score level in ascending order, cells counting that
patient's generations. Knows nothing of verdicts or diagnoses. Every patient belongs to one class only.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.results import RocPoint

Table = NDArray[np.float64]


def tabulate_scores(positive: Sequence[float], negative: Sequence[float]) -> tuple[list[float], Table, Table]:
    """Return the distinct scores, ascending, and a table for each class with one patient a score."""
    levels = sorted({*positive, *negative})
    column = {level: i for i, level in enumerate(levels)}

    def table(scores: Sequence[float]) -> Table:
        rows = np.zeros((len(scores), len(levels)))
        rows[np.arange(len(scores)), [column[score] for score in scores]] = 1
        return rows

    return levels, table(positive), table(negative)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the chance that a positive scores above a negative, ties counting half; NaN without both classes."""
    _, positive_table, negative_table = tabulate_scores(positive, negative)
    return float(auroc_of_counts(positive_table.sum(axis=0), negative_table.sum(axis=0)))


def auroc_of_counts(positive: Table, negative: Table) -> NDArray[np.float64]:
    """Return AUROC from counts by level: `(..., levels)` each to `(...)`; NaN where a class is empty."""
    beaten = np.cumsum(negative, axis=-1) - negative / 2
    wins = (positive * beaten).sum(axis=-1)
    pairs = np.asarray(positive.sum(axis=-1) * negative.sum(axis=-1), dtype=np.float64)
    area: NDArray[np.float64] = np.divide(wins, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    return area


def delong_variance(positive: Table, negative: Table) -> float:
    """Return the variance of AUROC, `(patients, levels)` each; raises `ValueError` below two patients a class.

    DeLong, DeLong and Clarke-Pearson (1988) with Obuchowski's (1997) sums over a patient's generations; with one
    generation a patient it is DeLong's own. It vanishes where a class is all ties: see `smoothed_delong_variance`.
    """
    return sum(class_variances(positive, negative))


def class_variances(positive: Table, negative: Table, *, smoothed: bool = False) -> tuple[float, float]:
    """Return what each class adds to `delong_variance`, or to the smoothed one."""
    if smoothed:
        positive, negative = _with_pseudo_patients(positive), _with_pseudo_patients(negative)
    if len(positive) < 2 or len(negative) < 2:
        raise ValueError("a variance needs at least two patients in each class")
    positives, negatives = positive.sum(axis=0), negative.sum(axis=0)
    area = float(auroc_of_counts(positives, negatives))
    # Placement of each level: the share of the other class that it beats (or that beats it), ties counting half.
    beats = (np.cumsum(negatives) - negatives / 2) / negatives.sum()
    is_beaten = 1 - (np.cumsum(positives) - positives / 2) / positives.sum()
    return _between_patients(positive, beats, area), _between_patients(negative, is_beaten, area)


def smoothed_delong_variance(positive: Table, negative: Table) -> float:
    """Return DeLong's variance with a pseudo-patient at the lowest and one at the highest level added to each class.

    Where every score ties, or the classes separate perfectly, DeLong's variance is 0: twenty patients would then
    read as certainty. One success and one failure added to a class is what Agresti and Caffo (2000) add to a share
    for the same reason; it keeps the variance near 1/n² at such ends, and changes it by about 2/n elsewhere. Only the
    variance is smoothed: the AUROC itself is reported as it is. Levels must span the whole scale, used or not.
    """
    return sum(class_variances(positive, negative, smoothed=True))


def smoothed_auroc(positive: Table, negative: Table) -> float:
    """Return the AUROC with the same pseudo-patients: a centre for intervals, never the figure."""
    positives, negatives = (_with_pseudo_patients(table).sum(axis=0) for table in (positive, negative))
    return float(auroc_of_counts(positives, negatives))


def roc_points(levels: Sequence[float], positive: Table, negative: Table) -> list[RocPoint] | None:
    """Return the operating points from (0, 0) to (1, 1), counts by ascending level each; None without both classes.

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


def _between_patients(table: Table, placement: Table, area: float) -> float:
    """Return the variance that one class adds: between its patients' summed deviations from the area."""
    patients, generations = len(table), table.sum()
    deviations = table @ placement - table.sum(axis=1) * area
    return float(patients / (patients - 1) * (deviations**2).sum() / generations**2)


def _with_pseudo_patients(table: Table) -> Table:
    ends = np.zeros((2, table.shape[1]))
    ends[0, 0] = ends[1, -1] = 1
    return np.vstack([table, ends])
