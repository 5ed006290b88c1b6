"""Figures of several answers a patient: means, changes, harmonic means, each with two intervals over patients.

Owns formulas on one value an answer, not a number where an answer has none. Answers of a patient are drawn together.
Every estimate has the safe interval, the union of the bootstrap and of Beta bounds: it has a width where all patients
are alike. Where enough patients make the figure, it has the bootstrap's interval too, which is several times narrower
and is written in its place (docs/methods.md, section 12). Knows nothing of questions or models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import (
    bounds_of_mean,
    clopper_pearson_of_mean,
    interval_of_resamples,
    newcombe_difference,
    resample_means,
)
from clinaudit.reports.schema.numbers import Estimate, PatientEstimate

Values = NDArray[np.float64]
#: The place of each answer's patient among the patients: `(answers,)`.
Places = NDArray[np.int64]
#: Patients from whom on the bootstrap's interval may stand alone [choice].
FEWEST_PATIENTS: Final = 80
#: Skewness of the resampled figure above which it may not. Cochran (1977, section 2.15) takes the normal approximation
#: to a mean where n > 25 G², G being the values' skewness; the mean's own is G / sqrt(n), so that this is 1 / 5.
MOST_SKEWNESS: Final = 0.2
#: Why there is no change, or no difference.
NOT_SCORED: Final = "no answer of this group has it each time"


def places_of(patient_ids: Sequence[str]) -> Places:
    """Return each answer's patient as a number from 0."""
    _, places = np.unique(np.array(patient_ids), return_inverse=True)
    return np.asarray(places, dtype=np.int64)


def values_of(found: Iterable[float | None]) -> Values:
    """Return values, not a number where there is none."""
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def resampled_means(columns: Sequence[Values], patients: Places, *, seed: int) -> Values:
    """Return the mean of each column in each resample of patients, `(resamples, columns)`: the same draws for all."""
    values = np.stack(columns, axis=1)
    has = np.isfinite(values)
    sums, counts = (np.zeros((int(patients.max()) + 1, values.shape[1])) for _ in range(2))
    np.add.at(sums, patients, np.where(has, values, 0.0))
    np.add.at(counts, patients, has)
    return resample_means(sums, counts, seed=seed)


def bootstrap_alone(resampled: Values, *, patients: int) -> tuple[float, float] | None:
    """Return the 95% percentile interval of the resamples; None where it would be too narrow.

    It is with few patients, and where the resampled figure is skewed: where a few patients make the mean, or none
    differs. `patients` counts those with the figure.
    """
    interval = interval_of_resamples(resampled)
    if interval is None or patients < FEWEST_PATIENTS:
        return None
    defined = resampled[np.isfinite(resampled)]
    away = defined - defined.mean()
    spread = float(np.sqrt((away**2).mean()))
    # Rounding gives equal figures a spread, too.
    if spread < 1e-9 or abs(float((away**3).mean())) > MOST_SKEWNESS * spread**3:
        return None
    return interval


@dataclass(frozen=True, slots=True)
class PatientColumn:
    """One metric's values, not a number where an answer has none, and its means in resamples of patients."""

    values: Values
    patients: Places
    resampled: Values

    @property
    def is_empty(self) -> bool:
        """Whether no answer has it."""
        return not np.isfinite(self.values).any()

    @property
    def count(self) -> int:
        """How many patients have it."""
        return len(np.unique(self.patients[np.isfinite(self.values)]))

    def bounds(self) -> tuple[float, float]:
        """Return the Beta bounds of the mean, each patient counted as one value."""
        return bounds_of_mean(float(self.values[np.isfinite(self.values)].mean()) * self.count, self.count)

    def mean(self, reason: str) -> PatientEstimate:
        """Return the mean over the answers that have it; `n` counts these, and `reason` says why there is none."""
        if self.is_empty:
            return PatientEstimate(value=None, n=0, reason=reason)
        has = np.isfinite(self.values)
        return _estimate(
            float(self.values[has].mean()), self.bounds(), self.resampled, patients=self.count, n=int(has.sum())
        )


def columns_of(values: Sequence[Values], patients: Places, *, seed: int) -> list[PatientColumn]:
    """Return columns of one resampling: the same draws for all."""
    drawn = resampled_means(values, patients, seed=seed)
    return [PatientColumn(own, patients, drawn[:, place]) for place, own in enumerate(values)]


def mean_of_answers(values: Values, patients: Places, *, seed: int, reason: str) -> PatientEstimate:
    """Return the mean of a metric in [0, 1] over the answers that have it; `n` counts these.

    `values` holds one an answer, not a number where it has none. `reason` is why there is no mean where none has one.
    """
    if not np.isfinite(values).any():
        return PatientEstimate(value=None, n=0, reason=reason)
    return columns_of([values], patients, seed=seed)[0].mean(reason)


def change_of_answers(before: Values, after: Values, patients: Places, *, seed: int) -> PatientEstimate:
    """Return the mean of `after - before` over the answers that have the metric both times; `n` counts these.

    Both are of the same questions, so that the bootstrap is paired. The safe interval unites it with the mean rise and
    the mean fall, each with its Beta bounds, joined by square-and-add (Newcombe 1998), as in `paired_difference`: where
    nobody changed, the bootstrap degenerates to a point.
    """
    change = after - before
    if not np.isfinite(change).any():
        return PatientEstimate(value=None, n=0, reason=NOT_SCORED)
    return _mean_change(columns_of([change], patients, seed=seed)[0])


def change_of_columns(before: PatientColumn, after: PatientColumn, *, reason: str) -> PatientEstimate:
    """Return `change_of_answers` of two columns of one resampling, which have gaps at the same answers."""
    change = PatientColumn(after.values - before.values, after.patients, after.resampled - before.resampled)
    return PatientEstimate(value=None, n=0, reason=reason) if change.is_empty else _mean_change(change)


def _mean_change(change: PatientColumn) -> PatientEstimate:
    has = np.isfinite(change.values)
    rise, fall = (
        _bounded_mean(np.where(has, np.maximum(part, 0.0), np.nan), change.patients)
        for part in (change.values, -change.values)
    )
    return _estimate(
        float(change.values[has].mean()),
        newcombe_difference(rise, fall),
        change.resampled,
        patients=change.count,
        n=int(has.sum()),
        least=-1.0,
    )


def difference_of_groups(first: PatientEstimate, second: PatientEstimate) -> PatientEstimate:
    """Return `first - second` of two groups of other patients, by square-and-add; null where one is null.

    The bootstrap's interval is of both bootstraps' own ends, and None where one of them has none.
    """
    if first.value is None or second.value is None:
        return PatientEstimate(value=None, n=0, reason=first.reason if first.value is None else second.reason)
    narrow = None
    if first.bootstrap is not None and second.bootstrap is not None:
        ends = (
            Estimate(value=one.value, low=own[0], high=own[1])
            for one, own in ((first, first.bootstrap), (second, second.bootstrap))
        )
        narrow = newcombe_difference(*ends)
    low, high = newcombe_difference(first, second)
    n = (first.n or 0) + (second.n or 0)
    return PatientEstimate(value=first.value - second.value, low=low, high=high, n=n, bootstrap=narrow)


def harmonic_mean(values: Values) -> Values:
    """Return the harmonic mean along the last axis; 0 where a value is 0, not a number where one is none."""
    from scipy.stats import hmean

    # 1 less a mean may fall below 0 by rounding.
    return np.asarray(hmean(np.clip(values, 0.0, 1.0), axis=-1))


def harmonic_mean_of(columns: Sequence[PatientColumn], *, is_inverted: bool) -> PatientEstimate:
    """Return the harmonic mean of means, or of 1 less each; `n` counts the answers.

    The safe interval unites the bootstrap's with the harmonic means of all parts' lower and of all their upper Beta
    bounds: it never falls where a part rises, so that those hold wherever the parts' own bounds do.
    """
    patients = min(column.count for column in columns)
    return _estimate(
        *_resampled_harmonic(columns, is_inverted=is_inverted), patients=patients, n=len(columns[0].values)
    )


def change_of_harmonic_means(
    before: Sequence[PatientColumn], after: Sequence[PatientColumn], *, is_inverted: bool
) -> PatientEstimate:
    """Return the harmonic mean of the columns after less that of those before; `n` counts the answers.

    All columns are of one resampling and of the same answers, so that the bootstrap is paired. The safe interval unites
    it with both harmonic means' safe intervals, joined by square-and-add as if they were independent.
    """
    patients, answers = min(column.count for column in (*before, *after)), len(after[0].values)
    sides = [_resampled_harmonic(columns, is_inverted=is_inverted) for columns in (after, before)]
    estimates = [_estimate(*side, patients=patients, n=answers) for side in sides]
    (value, _, resampled), (earlier, _, earlier_resampled) = sides
    return _estimate(
        value - earlier,
        newcombe_difference(*estimates),
        resampled - earlier_resampled,
        patients=patients,
        n=answers,
        least=-1.0,
    )


def _resampled_harmonic(
    columns: Sequence[PatientColumn], *, is_inverted: bool
) -> tuple[float, tuple[float, float], Values]:
    """Return the harmonic mean, its bounds, and itself in each resample."""
    means = np.array([np.nanmean(column.values) for column in columns])
    resampled = np.stack([column.resampled for column in columns], axis=1)
    bounds = np.array([column.bounds() for column in columns])
    if is_inverted:
        means, resampled, bounds = 1 - means, 1 - resampled, 1 - bounds[:, ::-1]
    # At once: each call of scipy's takes a millisecond.
    found = harmonic_mean(np.vstack([means, bounds.T, resampled]))
    value, low, high = map(float, found[:3])
    return value, (low, high), found[3:]


def _bounded_mean(values: Values, patients: Places) -> Estimate:
    has = np.isfinite(values)
    count = len(np.unique(patients[has]))
    return clopper_pearson_of_mean(float(values[has].mean()) * count, count)


def _estimate(
    value: float, bounds: tuple[float, float], resampled: Values, *, patients: int, n: int, least: float = 0.0
) -> PatientEstimate:
    """Return an estimate of [`least`, 1] with both intervals."""
    interval = interval_of_resamples(resampled)
    # The union covers wherever one of the two does.
    ends = [bounds] if interval is None else [bounds, interval]
    return PatientEstimate(
        value=value,
        low=max(least, min(low for low, _ in ends)),
        high=min(1.0, max(high for _, high in ends)),
        n=n,
        bootstrap=bootstrap_alone(resampled, patients=patients),
    )
