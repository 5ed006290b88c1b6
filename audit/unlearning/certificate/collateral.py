"""What forgetting cost the retained patients, those with a named patient's disease apart (AMNESIA, Figure 4).

The price is by how far answers on each retained patient became worse, and how much of their notes the runs write
(docs/forgetting.md); it bears on no verdict. Means of answers are those of AMNESIA (equations 2 and 3) without
exact memorization, which nobody sees who is given answers alone.
"""

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean
from typing import Final

import numpy as np

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.statistics.intervals import clopper_pearson_of_mean, interval_of_resamples, resample_means
from clinaudit.audit.statistics.paired_differences import NOBODY_PAIRED, paired_difference
from clinaudit.audit.statistics.patient_means import Values, harmonic_mean
from clinaudit.audit.unlearning.benchmark.taxonomy import OTHER
from clinaudit.audit.unlearning.certificate.bench_result import AFE, BY_PATIENT, BenchResult, PatientAnswers, part_means
from clinaudit.audit.unlearning.certificate.evidence import Answer, EvidencePair
from clinaudit.audit.unlearning.certificate.verdict import PURGED
from clinaudit.audit.unlearning.metrics.means import MU_PARTS
from clinaudit.reports.schema.certificate import CollateralGroup, PriceFigure
from clinaudit.reports.schema.forgetting import COLLATERAL_CHANGES
from clinaudit.reports.schema.numbers import Estimate

NO_ANSWERS: Final = "no answer has it"
SAME: Final = "same"
OTHERS: Final = "others"
#: A patient's change in the mean of the parts that have a reference, and what it is called; the last is of all above.
BINS: Final = tuple(zip((-0.1, -0.02, 0.02), COLLATERAL_CHANGES, strict=False))
_MU: Final = tuple(part for part in MU_PARTS if part != "em")
#: Before, after, and the difference.
Change = tuple[Estimate, Estimate, Estimate]


def measure_collateral(
    result: BenchResult, named: Collection[str], evidence: EvidencePair | None = None
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
        estimates = _utility_change(before, after, seed=result.seed)
        changes = [
            next((name for limit, name in BINS if one < limit), COLLATERAL_CHANGES[-1])
            for one in _changes(before, after)
        ]
        nothing = (Estimate(value=None, n=0, reason=PURGED),) * 3
        text = nothing if evidence is None else _attributable_change(evidence, patients)
        groups.append(
            CollateralGroup(
                group=group,
                patients=len(changes),
                before=estimates[0],
                after=estimates[1],
                change=estimates[2],
                bins={name: changes.count(name) for name in COLLATERAL_CHANGES},
                text_before=text[0],
                text_after=text[1],
                text_change=text[2],
            )
        )
    return groups


def _utility_change(before: Sequence[PatientAnswers], after: Sequence[PatientAnswers], *, seed: int) -> Change:
    """Return MU before, after, and their difference over the same resamples of patients.

    Both hold the same questions in the same order.
    """
    means = [part_means(answers, _MU) for answers in (before, after)]
    if means[0] is None or means[1] is None:
        none = Estimate(value=None, n=0, reason=NO_ANSWERS)
        return none, none, none
    values = [float(harmonic_mean(own)) for own in (means[0], means[1])]
    patients = {patient: place for place, patient in enumerate(sorted({one.patient_id for one in before}))}
    sums, counts = (np.zeros((len(patients), 2 * len(_MU))) for _ in range(2))
    for side, answers in enumerate((before, after)):
        for answer in answers:
            for part, (value, count) in answer.figures.items():
                if part in _MU:
                    place = patients[answer.patient_id], side * len(_MU) + _MU.index(part)
                    sums[place] += value * count
                    counts[place] += count
    # `(resamples, parts)`, those before and those after: the same draws for both.
    drawn = np.hsplit(resample_means(sums, counts, seed=seed), 2)
    resampled = [harmonic_mean(own) for own in drawn]
    answered = int(counts[:, 0].sum())
    return (
        _estimate(values[0], resampled[0], answered),
        _estimate(values[1], resampled[1], answered),
        _estimate(values[1] - values[0], resampled[1] - resampled[0], answered),
    )


def _estimate(value: float, resampled: Values, count: int) -> Estimate:
    interval = interval_of_resamples(resampled)
    low, high = (None, None) if interval is None else interval
    return Estimate(value=value, low=low, high=high, n=count)


def measure_price(evidence: EvidencePair, groups: Mapping[str, Collection[str]]) -> list[PriceFigure]:
    """Return how well both models predict a token of the notes of each group's patients; empty without scores.

    A patient's value is exp(-loss), the loss a mean over the tokens of a note and then over notes.
    """
    losses = [run.losses for run in evidence]
    found = []
    for group, patients in groups.items():
        scored = sorted(losses[0].keys() & losses[1].keys() & set(patients))
        if scored:
            before, after = (np.exp([-own[patient][0] for patient in scored]) for own in losses)
            first, second = (
                clopper_pearson_of_mean(float(of.sum()), of.size, reason=NOBODY_PAIRED) for of in (before, after)
            )
            change = paired_difference(before, after)
            found.append(PriceFigure(group=group, before=first, after=second, change=change))
    return found


def _attributable_change(evidence: EvidencePair, patients: Collection[str]) -> Change:
    """Return the attributable fraction before, after, and the change, of those of `patients` whom both runs probed.

    Of a patient it is the mean over the generations that both runs have, at all tiers.
    """
    by_run = [grouped((row for row in run.metrics if row.patient_id in patients), BY_PATIENT) for run in evidence]
    pairs = [_common_answers(*(own[patient] for own in by_run)) for patient in sorted(by_run[0].keys() & by_run[1])]
    before, after = (
        np.array([fmean(answer.attributable_part for answer in pair[run]) for pair in pairs], dtype=np.float64)
        for run in (0, 1)
    )
    first, second = (clopper_pearson_of_mean(float(of.sum()), of.size, reason=NOBODY_PAIRED) for of in (before, after))
    return first, second, paired_difference(before, after)


def _common_answers(first: Sequence[Answer], second: Sequence[Answer]) -> tuple[Sequence[Answer], Sequence[Answer]]:
    """Return a patient's answers to the prompts that both runs asked, or all where there are none."""
    shared = {row.generation_id for row in first} & {row.generation_id for row in second}
    if not shared:
        return first, second
    return [row for row in first if row.generation_id in shared], [row for row in second if row.generation_id in shared]


def _pair(result: BenchResult, patients: Collection[str]) -> tuple[list[PatientAnswers], list[PatientAnswers]]:
    """Return the answers on patients before and after: every model answers every question."""
    before, after = (
        [answer for answer in answers if answer.patient_id in patients] for answers in (result.before, result.after)
    )
    return before, after


def _changes(before: Sequence[PatientAnswers], after: Sequence[PatientAnswers]) -> list[float]:
    """Return each patient's change: of one patient's few answers a harmonic mean is 0 as soon as one part is."""
    known = grouped(before, BY_PATIENT)
    changes = []
    for patient, own in grouped(after, BY_PATIENT).items():
        means = part_means(known[patient], AFE), part_means(own, AFE)
        if means[0] is not None and means[1] is not None:
            changes.append(float(means[1].mean() - means[0].mean()))
    return changes
