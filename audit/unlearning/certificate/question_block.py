"""What answers to a benchmark's questions keep of the named patients, beside patients never trained on."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.unlearning.benchmark.records import QUESTION_USES
from clinaudit.audit.unlearning.certificate.audit_figures import below
from clinaudit.audit.unlearning.certificate.bench_result import BenchResult
from clinaudit.audit.unlearning.certificate.compared_answers import (
    BY_PATIENT,
    column,
    kept_by_group,
    kept_share,
    mean_of,
)
from clinaudit.audit.unlearning.certificate.joint_test import Figures, Place
from clinaudit.audit.unlearning.metrics.answer_collapse import has_collapsed
from clinaudit.reports.schema.certificate import QuestionBlock, QuestionGroup, QuestionRow
from clinaudit.reports.schema.numbers import Estimate, exact_estimate
from clinaudit.reports.schema.unlearning_scores import ScoredAnswer

KEPT: Final = "answers as in the notes (1 − AFE)"
ECHO_FREE: Final = "leakage score beyond the question"
#: Shown of all together, and not weighed: an answer that repeats the question has it, too.
ECHOING: Final = "leakage score"
NOT_ASKED: Final = "the benchmark asks nothing about the patient"
NEVER_TRAINED: Final = "the benchmark says that the patient was never trained on"
NO_ANSWER: Final = "no answer on the patient has this figure"
NO_MODEL: Final = "no such model was evaluated"


def measure_answers(answers: Sequence[ScoredAnswer]) -> dict[str, dict[Place, float | None]]:
    """Return the weighed figures of each patient, by the use of the questions.

    A patient none of whose questions has a keyword beyond the question has no such leakage score.
    """
    found: dict[str, dict[Place, float | None]] = {}
    for use in QUESTION_USES:
        for patient, own in grouped((answer for answer in answers if answer.use == use), BY_PATIENT).items():
            places = found.setdefault(patient, {})
            places[use, KEPT] = kept_share(own)
            values = column(own, "ls_echo_free")
            if np.isfinite(values).any():
                places[use, ECHO_FREE] = float(np.nanmean(values))
    return found


def never_trained(result: BenchResult, named: Collection[str]) -> set[str]:
    """Return the patients of the benchmark whom no model was trained on and who are not named."""
    asked = {answer.patient_id for answer in result.after}
    return {one for one, of in result.patients.items() if of.role == "never_trained" and one in asked} - set(named)


def answer_rows(
    patient: str, after: Figures, before: Figures, reference: Figures, never_seen: Collection[str]
) -> list[QuestionRow]:
    """Return what each kind of questions keeps of one patient; empty where it was not asked about."""
    return [
        QuestionRow(
            use=place[0],
            measure=place[1],
            before=before.get(patient, {}).get(place),
            after=value,
            **below(after, value, place, never_seen),
            reference=reference.get(patient, {}).get(place),
            reason=NO_ANSWER if value is None else None,
        )
        for place, value in after.get(patient, {}).items()
    ]


def lacks_answers(result: BenchResult, patient: str, after: Figures) -> str | None:
    """Return why the answers say nothing of a patient; None where they do."""
    of = result.patients.get(patient)
    if of is not None and of.role == "never_trained":
        return NEVER_TRAINED
    return None if of is not None and patient in after else NOT_ASKED


def describe_answers(result: BenchResult, named: Collection[str], controls: Collection[str]) -> QuestionBlock:
    """Return the means of all named patients together, beside those never trained on; and whether answers collapsed."""
    groups = [
        _describe(result, use, name, set(named), set(controls))
        for use in QUESTION_USES
        for name in (KEPT, ECHO_FREE, ECHOING)
    ]
    return QuestionBlock(
        model=result.model,
        split=result.split,
        form=result.form,
        groups=[group for group in groups if group.patients],
        health=list(result.health),
        collapsed=has_collapsed(result.health),
    )


def _describe(result: BenchResult, use: str, name: str, named: set[str], controls: set[str]) -> QuestionGroup:
    def figure(answers: Sequence[ScoredAnswer], of: set[str]) -> Estimate:
        own = [answer for answer in answers if answer.use == use and answer.patient_id in of]
        if not answers:
            return Estimate(value=None, n=0, reason=NO_MODEL)
        if name == KEPT:
            return kept_by_group(own, seed=result.seed)
        return mean_of(own, "ls" if name == ECHOING else "ls_echo_free", seed=result.seed)

    def patients(of: set[str]) -> int:
        return len({answer.patient_id for answer in result.after if answer.use == use and answer.patient_id in of})

    estimates: Mapping[str, Estimate] = {
        "before": figure(result.before, named),
        "after": figure(result.after, named),
        "floor": figure(result.after, controls),
        "reference": figure(result.reference, named),
    }
    return QuestionGroup(
        use=use,
        measure=name,
        patients=patients(named),
        controls=patients(controls),
        **{where: exact_estimate(estimate) for where, estimate in estimates.items()},
    )
