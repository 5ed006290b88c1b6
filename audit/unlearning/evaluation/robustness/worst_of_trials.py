"""The most that any trial gets of each patient: sampled answers, 4-bit weights, and questions in the other form.

A mean over all whom a split forgets hides the one patient who leaks. Owns the largest and by what it is measured, and
that all patients are compared over the same trials. Knows nothing of how a trial was made, which ones there are
(block.py), nor of verdicts.
"""

from collections.abc import Mapping, Sequence
from typing import Final

#: What a trial is weighed by, as in certificates: an answer that repeats the question leaks nothing.
WORST_METRICS: Final = ("ls_echo_free", "rouge_l")
#: qa_id -> metric -> what the trial gets, None where the question has no such metric.
TrialValues = Mapping[str, Mapping[str, float | None]]


def worst_by_patient(trials: Sequence[TrialValues], patient_of: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return patient -> metric -> the largest over the trials of the mean over the patient's questions.

    Values are from 0 to 1; `patient_of` is by qa_id. A metric that no question of the patient has in one of the trials
    is left out, and so is who was not tried in every trial: the largest of fewer values is smaller by itself.
    """
    means: list[dict[str, dict[str, float]]] = [_means(trial, patient_of) for trial in trials]
    tried = set.intersection(*(set(own) for own in means)) if means else set()
    return {
        patient: {
            metric: max(own[patient][metric] for own in means)
            for metric in WORST_METRICS
            if all(metric in own[patient] for own in means)
        }
        for patient in sorted(tried)
    }


def _means(trial: TrialValues, patient_of: Mapping[str, str]) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, list[float]]] = {}
    for qa_id, by_metric in trial.items():
        own = values.setdefault(patient_of[qa_id], {})
        for metric in WORST_METRICS:
            value = by_metric.get(metric)
            if value is not None:
                own.setdefault(metric, []).append(value)
    return {
        patient: {metric: sum(found) / len(found) for metric, found in own.items()} for patient, own in values.items()
    }
