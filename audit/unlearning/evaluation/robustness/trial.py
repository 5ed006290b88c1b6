"""A trial: scores of the same questions before and after something was done to the model, or asked otherwise.

Owns what is said of such a pair: both means, the change by question, and how much of what was lost came back. Knows
nothing of what was done in between.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import numpy as np

from clinaudit.audit.statistics.paired_differences import difference_of_estimates
from clinaudit.audit.unlearning.benchmark.records import Question, Scores
from clinaudit.audit.unlearning.evaluation.robustness.recovery import NOT_SCORED, recovery, recovery_beyond
from clinaudit.audit.unlearning.metrics.answer_means import Values, change_of_answers, mean_of_answers, places_of
from clinaudit.audit.unlearning.metrics.means import summarize_group
from clinaudit.audit.unlearning.metrics.score_document import Json, describe_estimate
from clinaudit.reports.schema.numbers import Estimate

#: What an answer keeps of a patient, each from 0 to 1: of these the change is told question by question.
KEPT_METRICS: Final = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es")
#: Of which the means before and after are told.
_MEAN_METRICS: Final = (*KEPT_METRICS, "te", "ds", "mu", "afe", "mu_without_em", "afe_without_em")
NO_QUESTIONS: Final = "no question was asked both times"
ScoresById = Mapping[str, Scores]


class Trial(NamedTuple):
    """Scores by qa_id; those of questions that were not asked both times are left out of everything."""

    before: ScoresById
    after: ScoresById


def by_id(scores: Sequence[Scores]) -> dict[str, Scores]:
    """Return scores of one answer a question by their questions."""
    return {one.qa_id: one for one in scores}


def score_rows(scores: Sequence[Scores]) -> list[Json]:
    """Return scores as JSON holds them."""
    return [asdict(one) for one in scores]


def scores_of_rows(rows: Sequence[Mapping[str, Any]]) -> list[Scores]:
    """Return the scores that `score_rows` wrote."""
    return [Scores(**row) for row in rows]


def describe_trial(
    trial: Trial,
    questions: Mapping[str, Question],
    *,
    entailment_metric: str,
    seed: int,
    baseline: ScoresById | None = None,
    reference: Trial | None = None,
) -> Json:
    """Return `counts`, the means `before` and `after`, the `change`, and where the baseline is given the `recovery`.

    `baseline` holds the scores of the model that knew everything, and `reference` the same trial of one that never saw
    these patients: `recovery_beyond_reference` leaves out what such a model gains. `questions` is by qa_id.
    """
    asked = [qa_id for qa_id in trial.before if qa_id in trial.after]
    if not asked:
        return {"reason": NO_QUESTIONS}
    names = {"es": entailment_metric}
    patient_ids = [questions[qa_id].patient_id for qa_id in asked]
    patients = places_of(patient_ids)
    before, after = (_Columns(scores, asked) for scores in trial)

    def by_metric(measure: Callable[[str], Estimate]) -> Json:
        return {names.get(metric, metric): describe_estimate(measure(metric)) for metric in KEPT_METRICS}

    described: Json = {
        "counts": {"patients": len(set(patient_ids)), "questions": len(asked)},
        "before": describe_means([trial.before[one] for one in asked], questions, names=names, seed=seed),
        "after": describe_means([trial.after[one] for one in asked], questions, names=names, seed=seed),
        "change": by_metric(
            lambda metric: change_of_answers(before[metric], after[metric], patients, seed=seed, reason=NOT_SCORED)
        ),
    }
    if baseline is None:
        return described
    knew = _Columns(baseline, asked)
    described["recovery"] = by_metric(
        lambda metric: recovery(before[metric], after[metric], knew[metric], patients, seed=seed)
    )
    if reference is None:
        return described
    their_before, their_after = (_Columns(scores, asked) for scores in reference)
    described["recovery_beyond_reference"] = by_metric(
        lambda metric: recovery_beyond(
            (before[metric], after[metric]),
            (their_before[metric], their_after[metric]),
            knew[metric],
            patients,
            seed=seed,
        )
    )
    return described


def describe_above(
    trial: Trial, floor: Trial, questions: Mapping[str, Question], *, entailment_metric: str, seed: int
) -> Json:
    """Return by metric how much more is kept after one trial than after another, of other patients: the floor.

    With Newcombe's interval of a difference between independent means.
    """
    names = {"es": entailment_metric}
    return {
        names.get(metric, metric): describe_estimate(
            difference_of_estimates(*(_mean_after(one, metric, questions, seed=seed) for one in (trial, floor)))
        )
        for metric in KEPT_METRICS
    }


def _mean_after(trial: Trial, metric: str, questions: Mapping[str, Question], *, seed: int) -> Estimate:
    asked = [qa_id for qa_id in trial.before if qa_id in trial.after]
    patients = places_of([questions[qa_id].patient_id for qa_id in asked])
    return mean_of_answers(_Columns(trial.after, asked)[metric], patients, seed=seed, reason=NOT_SCORED)


def describe_means(
    scores: Sequence[Scores], questions: Mapping[str, Question], *, names: Mapping[str, str], seed: int
) -> Json:
    """Return the means of some answers; metrics that need what is not there are null with the reason."""
    means = summarize_group(scores, questions, seed=seed).metrics
    return {names.get(metric, metric): describe_estimate(means[metric]) for metric in _MEAN_METRICS}


class _Columns:
    """The values of each metric over some questions, not a number where a question has none."""

    def __init__(self, scores: ScoresById, asked: Sequence[str]) -> None:
        self._scores = [scores.get(qa_id) for qa_id in asked]

    def __getitem__(self, metric: str) -> Values:
        values = (None if one is None else getattr(one, metric) for one in self._scores)
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
