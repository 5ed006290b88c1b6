"""What forgetting cost the retained patients: those with a named patient's disease apart (AMNESIA, Figure 4).

Owns who is retained, by how far answers on each became worse, and how much of their notes the runs write
(docs/comparing-runs.md). It bears on no verdict: it is the price. Knows nothing of files, nor of what may be published.
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from clinaudit.audit.comparison.evidence import RunEvidence
from clinaudit.audit.comparison.memorization import common_generations
from clinaudit.audit.memorization.summary import GenerationMetrics, attributable_part
from clinaudit.audit.statistics.paired_differences import mean_of_patients, paired_difference
from clinaudit.audit.unlearning.benchmark.categories.taxonomy import OTHER
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult, ScoredAnswer
from clinaudit.audit.unlearning.certificate.compared_answers import AFE, by_patient, part_means, utility_change
from clinaudit.audit.unlearning.certificate.forgetting_verdict import PURGED
from clinaudit.reports.schema.certificate_blocks import CollateralGroup
from clinaudit.reports.schema.comparison import COLLATERAL_CHANGES
from clinaudit.reports.schema.numbers import Estimate, exact_estimate


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


SAME: Final = "same"
OTHERS: Final = "others"
#: A patient's change in the mean of the parts that have a reference, and what it is called; the last is of all above.
BINS: Final = tuple(zip((-0.1, -0.02, 0.02), COLLATERAL_CHANGES, strict=False))
BETTER: Final = COLLATERAL_CHANGES[-1]
_OWN_WORDS: Final = ("train", "holdout")


def measure_collateral(
    result: BenchResult, named: Collection[str], evidence: tuple[RunEvidence, RunEvidence] | None = None
) -> list[CollateralGroup] | None:
    """Return what it cost retained patients, by whether they share a disease; None without a model before.

    The disease is the patient's first category; who has none of the taxonomy shares it with nobody. Without the
    `evidence` of both runs nothing is said of notes.
    """
    if not result.before:
        return None
    categories = {result.patients[patient].category for patient in named if patient in result.patients} - {OTHER}
    retained = {
        patient: SAME if of.category in categories else OTHERS
        for patient, of in result.patients.items()
        if of.role == "retain" and patient not in set(named)
    }
    groups = []
    for group in (SAME, OTHERS):
        patients = {patient for patient, own in retained.items() if own == group}
        before, after = _pair(result, patients)
        estimates = [exact_estimate(one) for one in utility_change(before, after, seed=result.seed)]
        changes = [_bin(change) for change in _changes(before, after)]
        text = _text_change(evidence, patients, seed=result.seed)
        groups.append(
            CollateralGroup(
                group=group,
                patients=len(changes),
                before=estimates[0],
                after=estimates[1],
                change=estimates[2],
                bins={name: changes.count(name) for name in COLLATERAL_CHANGES},
                text_before=exact_estimate(text[0]),
                text_after=exact_estimate(text[1]),
                text_change=exact_estimate(text[2]),
            )
        )
    return groups


def _text_change(
    evidence: tuple[RunEvidence, RunEvidence] | None, patients: Collection[str], *, seed: int
) -> tuple[Estimate, Estimate, Estimate]:
    if evidence is None:
        none = Estimate(value=None, n=0, reason=PURGED)
        return none, none, none
    return attributable_change(evidence, patients, seed=seed)


def _pair(result: BenchResult, patients: Collection[str]) -> tuple[list[ScoredAnswer], list[ScoredAnswer]]:
    """Return the answers to the same questions before and after, in one order."""
    known = {answer.qa_id: answer for answer in result.before}
    after = [
        answer
        for answer in result.after
        if answer.patient_id in patients and answer.use in _OWN_WORDS and answer.qa_id in known
    ]
    return [known[answer.qa_id] for answer in after], after


def _changes(before: Sequence[ScoredAnswer], after: Sequence[ScoredAnswer]) -> list[float]:
    """Return each patient's change: of one patient's few answers a harmonic mean is 0 as soon as one part is."""
    known = by_patient(before)
    changes = []
    for patient, own in by_patient(after).items():
        means = part_means(known[patient], AFE), part_means(own, AFE)
        if means[0] is not None and means[1] is not None:
            changes.append(float(means[1].mean() - means[0].mean()))
    return changes


def _bin(change: float) -> str:
    return next((name for limit, name in BINS if change < limit), BETTER)
