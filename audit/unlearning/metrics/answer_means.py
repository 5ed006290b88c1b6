"""The mean of one metric over answers, and of its change, with intervals over patients (docs/unlearning-scores.md).

Owns the two intervals that are united, so that a figure which is the same for every patient has a width, too. A patient
has several answers, which are drawn together. Knows nothing of metrics, groups or models.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import (
    RESAMPLES,
    clopper_pearson_of_mean,
    divide_or_nan,
    interval_of,
    interval_of_resamples,
    newcombe_difference,
    wider_of,
)
from clinaudit.reports.schema.numbers import Estimate

#: Resampled cells held in memory at a time (8 bytes each).
_CHUNK_CELLS: Final = 2_000_000


def resample_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return the mean of each metric in each resample of the patients, `(resamples, metrics)`.

    `sums` and `counts` are `(patients, metrics)`: of a patient's answers, the sum of a metric and how many have it. A
    patient is drawn with all of its answers. Not a number where nobody drawn has the metric. Raises `ValueError`
    without a patient.
    """
    patients = len(sums)
    if not patients or sums.shape != counts.shape:
        raise ValueError("sums and counts must hold one row for each of at least one patient")
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _CHUNK_CELLS // patients)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(0, patients, size=(size, patients)) + patients * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * patients).reshape(size, patients).astype(np.float64)
        means[start : start + size] = divide_or_nan(times @ sums, times @ counts)
    return means


Values = NDArray[np.float64]
#: The place of each answer's patient among the patients: `(answers,)`.
Places = NDArray[np.int64]


def places_of(patient_ids: Sequence[str]) -> Places:
    """Return each answer's patient as a number from 0."""
    _, places = np.unique(np.array(patient_ids), return_inverse=True)
    return np.asarray(places, dtype=np.int64)


def mean_of_answers(values: Values, patients: Places, *, seed: int, reason: str) -> Estimate:
    """Return the mean of a metric in [0, 1] over the answers that have it; `n` counts these.

    `values` holds one an answer, not a number where it has none. `reason` is why there is no mean where none has one.
    """
    has = np.isfinite(values)
    if not has.any():
        return Estimate(value=None, n=0, reason=reason)
    low, high = bounds_of_mean(values, patients)
    resampled = interval_of_resamples(resampled_means([values], patients, seed=seed)[:, 0])
    if resampled is not None:
        low, high = wider_of((low, high), resampled)
    return Estimate(value=float(values[has].mean()), low=low, high=high, n=int(has.sum()))


def change_of_answers(before: Values, after: Values, patients: Places, *, seed: int, reason: str) -> Estimate:
    """Return the mean of `after - before` over the answers that have the metric both times; `n` counts these.

    The interval unites the bootstrap over patients with the mean rise and the mean fall, each with its Clopper-Pearson
    interval, joined by square-and-add (Newcombe 1998), as in `paired_difference`: where nobody changed, the bootstrap
    degenerates to a point.
    """
    change = after - before
    has = np.isfinite(change)
    if not has.any():
        return Estimate(value=None, n=0, reason=reason)
    rise, fall = (
        _estimate_of_mean(np.where(has, np.maximum(part, 0.0), np.nan), patients) for part in (change, -change)
    )
    low, high = newcombe_difference(rise, fall)
    resampled = interval_of_resamples(resampled_means([change], patients, seed=seed)[:, 0])
    if resampled is not None:
        low, high = wider_of((low, high), resampled)
    return Estimate(value=float(change[has].mean()), low=max(-1.0, low), high=min(1.0, high), n=int(has.sum()))


def bounds_of_mean(values: Values, patients: Places) -> tuple[float, float]:
    """Return the Clopper-Pearson bounds of a mean, each patient counted as one value."""
    return interval_of(_estimate_of_mean(values, patients))


def resampled_means(columns: Sequence[Values], patients: Places, *, seed: int) -> Values:
    """Return the mean of each column in each resample of patients, `(resamples, columns)`: the same draws for all."""
    values = np.stack(columns, axis=1)
    has = np.isfinite(values)
    sums, counts = (np.zeros((int(patients.max()) + 1, values.shape[1])) for _ in range(2))
    np.add.at(sums, patients, np.where(has, values, 0.0))
    np.add.at(counts, patients, has)
    return resample_means(sums, counts, seed=seed)


def _estimate_of_mean(values: Values, patients: Places) -> Estimate:
    has = np.isfinite(values)
    count = len(np.unique(patients[has]))
    return clopper_pearson_of_mean(float(values[has].mean()) * count, count)
