"""Disclosure figures of one tier averaged over the diagnoses (the black line of the paper's Figures 3 and 11).

Owns the joint bootstrap and how it is combined with the diagnoses' own intervals. Knows nothing of how those came
about.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.audit.disclosure.arm_intervals import ONE_CLASS_REASON
from clinaudit.audit.disclosure.metrics import DISCLOSURE_METRICS, OUTCOMES, Metric, compute_figures
from clinaudit.audit.disclosure.readings import COLUMNS, Counts, Reading, split_arms
from clinaudit.audit.statistics.intervals import RESAMPLES, interval_of, interval_of_resamples, wider_of
from clinaudit.reports.schema.disclosure import DisclosurePair, MeanOverDiagnoses
from clinaudit.reports.schema.estimate import ARMS, Arm, Estimate


class MeasuredDiagnosis(NamedTuple):
    """One diagnosis at the tier: its readings, its figures, and how common it is."""

    readings: Sequence[Reading]
    pair: DisclosurePair
    prevalence: float | None


def mean_over_diagnoses(
    measured: Mapping[str, MeasuredDiagnosis], *, seed: int, resamples: int = RESAMPLES
) -> MeanOverDiagnoses:
    """Return the mean of every figure at one tier over the diagnoses that have it; `measured` by diagnosis.

    A patient can stand in the cohorts of several diagnoses, with the diagnosis in one and without it in another, so the
    means of diagnoses vary together. Whole patients are therefore drawn, within their arm, and with them all their
    readings; status cannot be held fixed for all diagnoses at once, so that class sizes vary a little as well, which
    widens the interval slightly. `n` of an estimate is the number of diagnoses averaged.
    """
    resampled = {
        arm: _resample_arm(measured, arm, np.random.default_rng((seed, position)), resamples)
        for position, arm in enumerate(ARMS)
    }
    differences = {
        diagnosis: {metric: resampled["train"][diagnosis][metric] - drawn[metric] for metric in DISCLOSURE_METRICS}
        for diagnosis, drawn in resampled["nontrain"].items()
    }
    return MeanOverDiagnoses(
        train=_average_all(measured, "train", resampled["train"]),
        nontrain=_average_all(measured, "nontrain", resampled["nontrain"]),
        delta=_average_all(measured, "delta", differences),
    )


def _average_all(
    measured: Mapping[str, MeasuredDiagnosis], side: str, resampled: Mapping[str, Mapping[Metric, Counts]]
) -> dict[str, Estimate]:
    """Return the mean of every figure of one side (an arm, or `delta`) of the pairs."""
    figures = {diagnosis: getattr(one.pair, side) for diagnosis, one in sorted(measured.items())}
    return {
        str(metric): _average(
            {diagnosis: getattr(record, metric) for diagnosis, record in figures.items()},
            {diagnosis: drawn[metric] for diagnosis, drawn in resampled.items()},
        )
        for metric in DISCLOSURE_METRICS
    }


def _resample_arm(
    measured: Mapping[str, MeasuredDiagnosis], arm: Arm, rng: np.random.Generator, resamples: int
) -> dict[str, dict[Metric, Counts]]:
    """Return `(resamples,)` values by diagnosis and metric."""
    readings = {diagnosis: split_arms(one.readings)[arm] for diagnosis, one in sorted(measured.items())}
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
        diagnosis: compute_figures(
            by_status[:, position, 0], by_status[:, position, 1], prevalence=measured[diagnosis].prevalence
        )
        for position, diagnosis in enumerate(readings)
    }


def _average(figures: Mapping[str, Estimate], resampled: Mapping[str, Counts]) -> Estimate:
    """Return the mean with the wider ends of two intervals: of the resampled means, and of the figures' own intervals.

    Resampling few patients sees too little chance, and none where every resample is alike; the figures' own intervals
    do, but not how the figures vary together, which the resamples tell.
    """
    known = {diagnosis: figure for diagnosis, figure in figures.items() if figure.value is not None}
    if not known:
        return Estimate(value=None, n=0, reason="no diagnosis has this figure")
    values = [figure.value or 0.0 for figure in known.values()]
    value = float(np.mean(values))
    drawn = np.array([resampled[diagnosis] for diagnosis in known])
    interval = interval_of_resamples(drawn.mean(axis=0))
    if interval is None or any(figure.low is None for figure in known.values()):
        return Estimate(value=value, n=len(known), reason=ONE_CLASS_REASON)
    own = _combine(list(known.values()), _correlate(drawn))
    low, high = wider_of(interval, own)
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=len(known))


def _combine(figures: Sequence[Estimate], correlations: Counts) -> tuple[float, float]:
    """Return the interval of the mean of correlated figures from their own (Zou 2008)."""
    values = np.array([figure.value for figure in figures], dtype=np.float64)
    below, above = (np.abs(values - np.array([interval_of(figure)[side] for figure in figures])) for side in range(2))
    half = [math.sqrt(float(side @ correlations @ side)) / len(figures) for side in (below, above)]
    return float(values.mean()) - half[0], float(values.mean()) + half[1]


def _correlate(drawn: Counts) -> Counts:
    """Return how the figures vary together, `(figures, resamples)` to `(figures, figures)`, from 0 to 1.

    Where resamples do not tell, since they are all alike, 1: the widest interval. A negative correlation, which would
    narrow it, is taken as none.
    """
    complete = drawn[:, np.isfinite(drawn).all(axis=0)]
    deviations = complete - complete.mean(axis=1, keepdims=True)
    spreads = np.sqrt((deviations**2).sum(axis=1))
    scale = np.outer(spreads, spreads)
    correlations: Counts = np.divide(deviations @ deviations.T, scale, out=np.ones_like(scale), where=scale > 1e-9)
    np.fill_diagonal(correlations, 1.0)
    return np.clip(correlations, 0.0, 1.0)
