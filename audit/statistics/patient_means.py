"""Figures of several answers a patient: means, changes, harmonic means, each with one interval over patients.

Owns formulas on sums and counts by patient: answers of a patient are drawn together. The interval is safe, the union of
the bootstrap and of Beta bounds, which has a width where all patients are alike. Where enough patients make the figure
it is the bootstrap's alone, which is several times narrower (docs/methods.md, section 12).
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
from clinaudit.reports.schema.record import Estimate

Values = NDArray[np.float64]
#: Patients from whom on the bootstrap's interval may stand alone [choice].
FEWEST_PATIENTS: Final = 80
#: Skewness of the resampled figure above which it may not. Cochran (1977, section 2.15) takes the normal approximation
#: to a mean where n > 25 G², G being the values' skewness; the mean's own is G / sqrt(n), so that this is 1 / 5.
MOST_SKEWNESS: Final = 0.2


def values_of(found: Iterable[float | None]) -> Values:
    """Return values, not a number where there is none."""
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


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
    """One metric: of each patient the sum of its answers' values and how many have it; its mean in each resample."""

    sums: Values
    counts: Values
    resampled: Values

    @property
    def patients(self) -> int:
        """How many patients have it."""
        return int(np.count_nonzero(self.counts))

    @property
    def value(self) -> float:
        """The mean over all answers that have it, one at least."""
        return float(self.sums.sum() / self.counts.sum())

    def bounds(self) -> tuple[float, float]:
        """Return the Beta bounds of the mean, each patient counted as one value."""
        return bounds_of_mean(self.value * self.patients, self.patients)

    def mean(self, reason: str) -> Estimate:
        """Return the mean of a metric in [0, 1]; `n` counts patients, and `reason` says why there is none."""
        if not self.patients:
            return Estimate(value=None, n=0, reason=reason)
        return _estimate(self.value, self.bounds(), self.resampled, self.patients)


def columns_of(sums: Values, counts: Values, *, seed: int) -> list[PatientColumn]:
    """Return the columns of sums and counts, each `(patients, metrics)`; all are drawn alike."""
    drawn = resample_means(sums, counts, seed=seed)
    return [PatientColumn(sums[:, at], counts[:, at], drawn[:, at]) for at in range(sums.shape[1])]


def change_of_means(before: PatientColumn, after: PatientColumn, *, reason: str) -> Estimate:
    """Return the mean of `after - before`: of the same answers of the same patients, drawn alike.

    The safe interval unites the bootstrap, which is paired, with the mean rise and the mean fall, each with its Beta
    bounds, joined by square-and-add (Newcombe 1998): where nobody changed, the bootstrap degenerates to a point.
    Without a value, for the `reason`, where nobody has it, or not of the same answers.
    """
    if not after.patients or not np.array_equal(before.counts, after.counts):
        return Estimate(value=None, n=0, reason=reason)
    total, patients = after.counts.sum(), after.patients
    change = after.sums - before.sums
    rise, fall = (
        clopper_pearson_of_mean(float(np.maximum(part, 0.0).sum() / total) * patients, patients)
        for part in (change, -change)
    )
    bounds = newcombe_difference(rise, fall)
    resampled = after.resampled - before.resampled
    return _estimate(float(change.sum() / total), bounds, resampled, patients, least=-1.0)


def difference_of_groups(first: Estimate, second: Estimate) -> Estimate:
    """Return `first - second` of two groups of other patients, by square-and-add; null where one is null."""
    if first.value is None or second.value is None:
        return Estimate(value=None, n=0, reason=first.reason if first.value is None else second.reason)
    low, high = newcombe_difference(first, second)
    return Estimate(value=first.value - second.value, low=low, high=high, n=(first.n or 0) + (second.n or 0))


def harmonic_mean(values: Values) -> Values:
    """Return the harmonic mean along the last axis; 0 where a value is 0, not a number where one is none."""
    # 1 less a mean may fall below 0 by rounding. SciPy's hmean goes through an array row by row where it holds a NaN.
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.mean(1.0 / (np.clip(values, 0.0, 1.0) + 0.0), axis=-1))


def harmonic_mean_of(columns: Sequence[PatientColumn], *, is_inverted: bool) -> Estimate:
    """Return the harmonic mean of means, or of 1 less each; `n` counts the patients of its scarcest part.

    The safe interval unites the bootstrap's with the harmonic means of all parts' lower and of all their upper Beta
    bounds: it never falls where a part rises, so that those hold wherever the parts' own bounds do.
    """
    patients = min(column.patients for column in columns)
    return _estimate(*_resampled_harmonic(columns, is_inverted=is_inverted), patients)


def change_of_harmonic_means(
    before: Sequence[PatientColumn], after: Sequence[PatientColumn], *, is_inverted: bool
) -> Estimate:
    """Return the harmonic mean of the columns after less that of those before, all drawn alike.

    The safe interval unites the bootstrap, which is paired, with both harmonic means' intervals, joined by
    square-and-add as if they were independent.
    """
    patients = min(column.patients for column in (*before, *after))
    sides = [_resampled_harmonic(columns, is_inverted=is_inverted) for columns in (after, before)]
    bounds = newcombe_difference(*(_estimate(*side, patients) for side in sides))
    (value, _, resampled), (earlier, _, earlier_resampled) = sides
    return _estimate(value - earlier, bounds, resampled - earlier_resampled, patients, least=-1.0)


def _resampled_harmonic(
    columns: Sequence[PatientColumn], *, is_inverted: bool
) -> tuple[float, tuple[float, float], Values]:
    """Return the harmonic mean, its bounds, and itself in each resample."""
    means = np.array([column.value for column in columns])
    resampled = np.stack([column.resampled for column in columns], axis=1)
    bounds = np.array([column.bounds() for column in columns])
    if is_inverted:
        means, resampled, bounds = 1 - means, 1 - resampled, 1 - bounds[:, ::-1]
    # At once: each call of scipy's takes a millisecond.
    found = harmonic_mean(np.vstack([means, bounds.T, resampled]))
    value, low, high = map(float, found[:3])
    return value, (low, high), found[3:]


def _estimate(
    value: float, bounds: tuple[float, float], resampled: Values, patients: int, *, least: float = 0.0
) -> Estimate:
    """Return an estimate of [`least`, 1]: with the bootstrap's interval where it may stand alone, else the union."""
    alone, interval = bootstrap_alone(resampled, patients=patients), interval_of_resamples(resampled)
    # The union covers wherever one of the two does.
    ends = [alone] if alone is not None else [bounds] if interval is None else [bounds, interval]
    low, high = max(least, min(low for low, _ in ends)), min(1.0, max(high for _, high in ends))
    return Estimate(value=value, low=low, high=high, n=patients)
