"""Disclosure figures of one tier averaged over the diagnoses (the black line of the paper's Figures 3 and 11).

Owns the joint bootstrap. Knows nothing of single diagnoses' intervals, which are `clinaudit.audit.leakage`'s.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.exposure import METRICS, OUTCOMES, Metric, compute_figures
from clinaudit.audit.intervals import RESAMPLES
from clinaudit.audit.leakage import ONE_CLASS_REASON, Reading, interval_of_resamples, tabulate
from clinaudit.reports.results import Arm, Estimate, MeanOverDiagnoses

Counts = NDArray[np.float64]


class _Figures(NamedTuple):
    """By diagnosis and metric: the figure, and its `(resamples,)` values."""

    points: dict[str, dict[Metric, float]]
    resampled: dict[str, dict[Metric, Counts]]


def mean_over_diagnoses(
    readings: Mapping[str, Sequence[Reading]],
    *,
    prevalences: Mapping[str, float | None],
    has_nontrain: bool,
    seed: int,
    resamples: int = RESAMPLES,
) -> MeanOverDiagnoses:
    """Return the mean of every figure at one tier over the diagnoses that have it; `readings` by diagnosis.

    A patient can stand in the cohorts of several diagnoses, with the diagnosis in one and without it in another, so the
    means of diagnoses vary together. Whole patients are therefore drawn, within their arm, and with them all their
    readings; status cannot be held fixed for all diagnoses at once, so that class sizes vary a little as well, which
    widens the interval slightly. `n` of an estimate is the number of diagnoses averaged. With `has_nontrain` false,
    `nontrain` and `delta` are empty.
    """
    arms: tuple[Arm, ...] = ("train", "nontrain") if has_nontrain else ("train",)
    figures = {
        arm: _resample_arm(
            {diagnosis: [r for r in rows if r.arm == arm] for diagnosis, rows in sorted(readings.items())},
            prevalences,
            np.random.default_rng((seed, position)),
            resamples,
        )
        for position, arm in enumerate(arms)
    }
    means = {arm: {str(metric): _average(metric, [figures[arm]]) for metric in METRICS} for arm in arms}
    delta = {}
    if has_nontrain:
        both = [figures["train"], figures["nontrain"]]
        delta = {str(metric): _average(metric, both) for metric in METRICS}
    return MeanOverDiagnoses(train=means["train"], nontrain=means.get("nontrain", {}), delta=delta)


def _resample_arm(
    readings: Mapping[str, Sequence[Reading]],
    prevalences: Mapping[str, float | None],
    rng: np.random.Generator,
    resamples: int,
) -> _Figures:
    patients = sorted({reading.patient_id for rows in readings.values() for reading in rows})
    drawn = np.zeros((resamples, 0))
    if patients:
        drawn = rng.multinomial(len(patients), [1 / len(patients)] * len(patients), size=resamples).astype(float)
    points, resampled = {}, {}
    for diagnosis, rows in readings.items():
        present, absent = tabulate(rows, patients=patients)
        prevalence = prevalences.get(diagnosis)
        totals = compute_figures(present.sum(axis=0), absent.sum(axis=0), prevalence=prevalence)
        points[diagnosis] = {metric: float(totals[metric]) for metric in METRICS}
        # One product for both tables: (resamples, patients) @ (patients, 10).
        counts = drawn @ np.hstack([present, absent])
        width = len(OUTCOMES)
        resampled[diagnosis] = compute_figures(counts[:, :width], counts[:, width:], prevalence=prevalence)
    return _Figures(points, resampled)


def _average(metric: Metric, arms: Sequence[_Figures]) -> Estimate:
    """Return the mean of one arm's figures, or of the differences between the first and the second arm."""
    known = [d for d in arms[0].points if all(np.isfinite(arm.points[d][metric]) for arm in arms)]
    if not known:
        return Estimate(value=None, n=0, reason="no diagnosis has this figure")
    values = [float(np.mean([arm.points[d][metric] for d in known])) for arm in arms]
    means = [np.mean([arm.resampled[d][metric] for d in known], axis=0) for arm in arms]
    value, drawn = (values[0] - values[1], means[0] - means[1]) if len(arms) == 2 else (values[0], means[0])
    interval = interval_of_resamples(drawn)
    if interval is None:
        return Estimate(value=value, n=len(known), reason=ONE_CLASS_REASON)
    return Estimate(value=value, low=interval[0], high=interval[1], n=len(known))
