"""How much of retained patients' own notes both runs write, those with a named patient's disease apart.

A method that forgets few may take the notes of many: answers to questions do not show that. Owns the mean and its
change (docs/comparing-runs.md). It bears on no verdict. Knows nothing of questions, nor of diseases.
"""

from collections.abc import Collection, Sequence

import numpy as np

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.comparison.memorization import common_generations
from clinaudit.audit.memorization.summary import GenerationMetrics, attributable_part
from clinaudit.audit.statistics.paired_differences import mean_of_patients, paired_difference
from clinaudit.reports.exact.estimate import Estimate


def attributable_change(
    evidence: tuple[RunEvidence, RunEvidence], patients: Collection[str], *, seed: int
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the attributable fraction before, after, and the change, of those of `patients` whom both runs probed.

    Of a patient it is the mean over the generations that both runs have, at all tiers.
    """
    by_run = [_by_patient(run.metrics, patients) for run in evidence]
    pairs = [
        common_generations(by_run[0][patient], by_run[1][patient])
        for patient in sorted(by_run[0].keys() & by_run[1].keys())
    ]
    before, after = (np.array([_mean(pair[run]) for pair in pairs], dtype=np.float64) for run in (0, 1))
    return (
        mean_of_patients(before, seed=seed),
        mean_of_patients(after, seed=seed),
        paired_difference(before, after, seed=seed),
    )


def _by_patient(rows: Sequence[GenerationMetrics], patients: Collection[str]) -> dict[str, list[GenerationMetrics]]:
    found: dict[str, list[GenerationMetrics]] = {}
    for row in rows:
        if row.patient_id in patients:
            found.setdefault(row.patient_id, []).append(row)
    return found


def _mean(rows: Sequence[GenerationMetrics]) -> float:
    return sum(attributable_part(row) for row in rows) / len(rows)
