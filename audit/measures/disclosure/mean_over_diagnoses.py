"""Disclosure metrics of one tier averaged over the diagnoses (the black line of the paper's Figures 3 and 11).

Owns the joint bootstrap over patients and its union with the diagnoses' own intervals (MOVER for correlated estimates,
Zou 2008). Knows nothing of how those intervals came about.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import (
    COLUMNS,
    DISCLOSURE_METRICS,
    OUTCOMES,
    Counts,
    Metric,
    Reading,
    compute_metrics,
    split_sides,
)
from clinaudit.audit.measures.disclosure.train_delta import ONE_CLASS_REASON
from clinaudit.audit.statistics.intervals import RESAMPLES, interval_of, interval_of_resamples, wider_of
from clinaudit.reports.schema.disclosure import SIDES, MeanOverDiagnoses, MeasuredPair, Side, compared_sides
from clinaudit.reports.schema.numbers import Estimate


class MeasuredDiagnosis(NamedTuple):
    """One diagnosis at the tier: its readings, its metrics, and its prevalence."""

    readings: Sequence[Reading]
    pair: MeasuredPair
    prevalence: float | None


def mean_over_diagnoses(
    measured: Mapping[str, MeasuredDiagnosis], *, seed: int, resamples: int = RESAMPLES
) -> MeanOverDiagnoses:
    """Return the mean of every metric at one tier over the diagnoses that have it; `measured` by diagnosis.

    A patient can stand in the cohorts of several diagnoses, with the diagnosis in one and without it in another: the
    metrics of the diagnoses are correlated. Hence whole patients are resampled, within their arm, with all their
    readings (cluster bootstrap). Status cannot be held fixed for all diagnoses at once. So class sizes vary a little as
    well, which widens the interval slightly. `n` of an estimate is the number of diagnoses averaged.
    """
    resampled = {
        side: _resample_arm(measured, side, np.random.default_rng((seed, position)), resamples)
        for position, side in enumerate(SIDES)
        if all(getattr(one.pair, side) is not None for one in measured.values())
    }
    means = {side: _average_all(measured, side, of_side) for side, of_side in resampled.items()}
    train, *others = compared_sides(resampled)
    differences = {
        diagnosis: {metric: drawn[metric] - resampled[other][diagnosis][metric] for metric in DISCLOSURE_METRICS}
        for other in others
        for diagnosis, drawn in resampled[train].items()
    }
    return MeanOverDiagnoses(
        train=means[train],
        nontrain=means.get("nontrain", {}),
        control=means.get("control", {}),
        delta=_average_all(measured, "delta", differences) if others else {},
    )


def _average_all(
    measured: Mapping[str, MeasuredDiagnosis], side: str, resampled: Mapping[str, Mapping[Metric, Counts]]
) -> dict[str, Estimate]:
    """Return the mean of every metric of one side (or `delta`) of the pairs."""
    records = {diagnosis: getattr(one.pair, side) for diagnosis, one in sorted(measured.items())}
    return {
        str(metric): _average(
            {diagnosis: getattr(record, metric) for diagnosis, record in records.items()},
            {diagnosis: drawn[metric] for diagnosis, drawn in resampled.items()},
        )
        for metric in DISCLOSURE_METRICS
    }


def _resample_arm(
    measured: Mapping[str, MeasuredDiagnosis], arm: Side, rng: np.random.Generator, resamples: int
) -> dict[str, dict[Metric, Counts]]:
    """Return `(resamples,)` values by diagnosis and metric."""
    readings = {diagnosis: split_sides(one.readings)[arm] for diagnosis, one in sorted(measured.items())}
    patients = sorted({reading.patient_id for rows in readings.values() for reading in rows})
    row = {patient_id: i for i, patient_id in enumerate(patients)}
    width = len(OUTCOMES)
    # For each diagnosis, columns of those with it and of those without it: a patient has a 1 in at most one of them.
    table = np.zeros((len(patients), len(readings) * 2 * width))
    for position, rows in enumerate(readings.values()):
        for reading in rows:
            column = (2 * position + (not reading.present)) * width + COLUMNS[reading.outcome]
            table[row[reading.patient_id], column] += 1
    counts = np.zeros((resamples, table.shape[1]))
    if patients:
        # Equal patients are drawn as one kind, which is cheap.
        kinds, frequency = np.unique(table, axis=0, return_counts=True)
        counts = rng.multinomial(len(patients), frequency / len(patients), size=resamples) @ kinds
    by_status = counts.reshape(resamples, len(readings), 2, width)
    return {
        diagnosis: compute_metrics(
            by_status[:, position, 0], by_status[:, position, 1], prevalence=measured[diagnosis].prevalence
        )
        for position, diagnosis in enumerate(readings)
    }


def _average(estimates: Mapping[str, Estimate], resampled: Mapping[str, Counts]) -> Estimate:
    """Return the mean of the diagnoses' estimates; its interval is the union of a bootstrap and a MOVER interval.

    The bootstrap of few patients is too narrow, and degenerate where every resample is alike. The diagnoses' own
    intervals are neither, but lack the correlations, which the resamples give.
    """
    known = {diagnosis: estimate for diagnosis, estimate in estimates.items() if estimate.value is not None}
    if not known:
        return Estimate(value=None, n=0, reason="no diagnosis has this figure")
    values = [estimate.value or 0.0 for estimate in known.values()]
    value = float(np.mean(values))
    drawn = np.array([resampled[diagnosis] for diagnosis in known])
    interval = interval_of_resamples(drawn.mean(axis=0))
    if interval is None or any(estimate.low is None for estimate in known.values()):
        return Estimate(value=value, n=len(known), reason=ONE_CLASS_REASON)
    own = _combine(list(known.values()), _correlate(drawn))
    low, high = wider_of(interval, own)
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=len(known))


def _combine(estimates: Sequence[Estimate], correlations: Counts) -> tuple[float, float]:
    """Return the interval of the mean of correlated estimates from their own intervals: MOVER (Zou 2008)."""
    values = np.array([estimate.value for estimate in estimates], dtype=np.float64)
    limits = [np.array([interval_of(estimate)[side] for estimate in estimates]) for side in range(2)]
    below, above = (np.abs(values - of_side) for of_side in limits)
    half = [math.sqrt(float(side @ correlations @ side)) / len(estimates) for side in (below, above)]
    return float(values.mean()) - half[0], float(values.mean()) + half[1]


def _correlate(drawn: Counts) -> Counts:
    """Return the correlations of the diagnoses, 0 to 1: `(diagnoses, resamples)` to `(diagnoses, diagnoses)`.

    Where all resamples are alike, the correlation is undefined and taken as 1, which gives the widest interval. A
    negative correlation would narrow the interval, and is taken as 0.
    """
    complete = drawn[:, np.isfinite(drawn).all(axis=0)]
    deviations = complete - complete.mean(axis=1, keepdims=True)
    spreads = np.sqrt((deviations**2).sum(axis=1))
    scale = np.outer(spreads, spreads)
    correlations: Counts = np.divide(deviations @ deviations.T, scale, out=np.ones_like(scale), where=scale > 1e-9)
    np.fill_diagonal(correlations, 1.0)
    return np.clip(correlations, 0.0, 1.0)
