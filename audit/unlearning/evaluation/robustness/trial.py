"""A trial: scores of the same questions before and after something was done to the model, or asked otherwise.

Owns what is said of such a pair: both means, the change by question, and how much of what was lost came back, with its
interval. Rephrased questions, which no method trained on, are a trial too, and so are those of the other form: without
what names the patient, or with it (docs/unlearning-scores.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

import numpy as np

from clinaudit.audit.statistics.intervals import interval_of_resamples, newcombe_difference, wider_of
from clinaudit.audit.statistics.paired_differences import difference_of_estimates
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, Scores
from clinaudit.audit.unlearning.metrics.means import (
    Places,
    Values,
    change_of_answers,
    mean_of_answers,
    places_of,
    resampled_means,
    summarize_group,
)
from clinaudit.audit.unlearning.metrics.score_document import Json, describe_estimate
from clinaudit.reports.schema.numbers import Estimate

NOT_SCORED: Final = "no answer of this group has it each time"
NOTHING_LOST: Final = "the model had lost nothing of it against the baseline"
NO_BASELINE: Final = "the baseline was not evaluated"
NO_REFERENCE: Final = "no reference retrained without these patients was evaluated"


def recovery(before: Values, after: Values, baseline: Values, patients: Places, *, seed: int) -> Estimate:
    """Return (after - before) / (baseline - before), of means over the same answers: 1 where all is back, 0 where none.

    One value an answer each, not a number where it has none; an answer counts where it has all three. Below 0 the model
    lost more, above 1 it says more than the baseline. None where the baseline's mean is not above the one before: there
    is nothing that could come back.

    The interval unites the bootstrap over patients of the ratio with the interval of the gain over the observed loss.
    It is none where over 1% of the resamples have lost nothing: too few patients show that anything was lost.
    """
    before, after, baseline = _where_all_are(before, after, baseline)
    gain = change_of_answers(before, after, patients, seed=seed, reason=NOT_SCORED)
    interval = (gain.low, gain.high)
    return _over_loss(after - before, interval, baseline - before, patients, seed=seed)


def recovery_beyond(
    tried: tuple[Values, Values], reference: tuple[Values, Values], baseline: Values, patients: Places, *, seed: int
) -> Estimate:
    """Return the recovery less what the same trial gave to a reference that never saw these patients.

    `tried` and `reference` are (before, after). The reference's gain is no memory: the form of the answers, say, is
    learned by anybody. It is subtracted from the model's gain, and the rest divided by what the model had lost:
    ((after - before) - (reference after - reference before)) / (baseline - before). The interval is as that of
    `recovery`; that of the difference of both gains is theirs joined by square-and-add.
    """
    before, after, knew, *other = _where_all_are(*tried, baseline, *reference)
    gain = change_of_answers(before, after, patients, seed=seed, reason=NOT_SCORED)
    theirs = change_of_answers(other[0], other[1], patients, seed=seed, reason=NOT_SCORED)
    interval = (None, None) if gain.value is None else newcombe_difference(gain, theirs)
    return _over_loss((after - before) - (other[1] - other[0]), interval, knew - before, patients, seed=seed)


def _where_all_are(*columns: Values) -> list[Values]:
    """Return the columns without what stands beside a gap in another."""
    has = np.isfinite(np.stack(columns)).all(axis=0)
    return [np.where(has, column, np.nan) for column in columns]


def _over_loss(
    gain: Values, interval: tuple[float | None, float | None], lost: Values, patients: Places, *, seed: int
) -> Estimate:
    """Return the mean gain over the mean loss; `interval` is that of the mean gain."""
    has = np.isfinite(lost)
    count = int(has.sum())
    if not count:
        return Estimate(value=None, n=0, reason=NOT_SCORED)
    mean_lost = float(lost[has].mean())
    if mean_lost <= 0:
        return Estimate(value=None, n=count, reason=NOTHING_LOST)
    value = float(gain[has].mean()) / mean_lost
    resampled = resampled_means([gain, lost], patients, seed=seed)
    of_resamples = interval_of_resamples(_ratio(resampled[:, 0], resampled[:, 1]))
    if of_resamples is None or interval[0] is None or interval[1] is None:
        return Estimate(value=value, n=count)
    low, high = wider_of(of_resamples, (interval[0] / mean_lost, interval[1] / mean_lost))
    return Estimate(value=value, low=low, high=high, n=count)


def _ratio(gain: Values, lost: Values) -> Values:
    ratio: Values = np.divide(gain, lost, out=np.full(gain.shape, np.nan), where=lost > 0)
    return ratio


#: What an answer keeps of a patient, each from 0 to 1: of these the change is reported.
KEPT_METRICS: Final = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es")
#: Of which the means before and after are reported.
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

    before, after = (_columns(scores, asked) for scores in trial)

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
    knew = _columns(baseline, asked)
    described["recovery"] = by_metric(
        lambda metric: recovery(before[metric], after[metric], knew[metric], patients, seed=seed)
    )
    if reference is None:
        return described
    theirs = [_columns(scores, asked) for scores in reference]

    def beyond(metric: str) -> Estimate:
        tried, other = (before[metric], after[metric]), (theirs[0][metric], theirs[1][metric])
        return recovery_beyond(tried, other, knew[metric], patients, seed=seed)

    described["recovery_beyond_reference"] = by_metric(beyond)
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
    return mean_of_answers(_columns(trial.after, asked)[metric], patients, seed=seed, reason=NOT_SCORED)


def describe_means(
    scores: Sequence[Scores], questions: Mapping[str, Question], *, names: Mapping[str, str], seed: int
) -> Json:
    """Return the means of some answers; metrics that need what is not there are null with the reason."""
    means = summarize_group(scores, questions, seed=seed).metrics
    return {names.get(metric, metric): describe_estimate(means[metric]) for metric in _MEAN_METRICS}


def _columns(scores: ScoresById, asked: Sequence[str]) -> dict[str, Values]:
    """Return the values of each metric over some questions, not a number where a question has none."""
    own = [scores.get(qa_id) for qa_id in asked]
    values = {metric: [getattr(one, metric, None) for one in own] for metric in KEPT_METRICS}
    return {
        metric: np.array([np.nan if value is None else value for value in of], dtype=np.float64)
        for metric, of in values.items()
    }


OTHER_FORM: Final[Mapping[QuestionForm, QuestionForm]] = {"paper": "addressed", "addressed": "paper"}
NO_REPHRASINGS: Final = "no question of these patients was rephrased"
#: Of which the largest over all wordings is reported.
_LEAK_METRICS: Final = ("ls", "ls_echo_free", "rouge_l")


def pair_rephrased(questions: Sequence[Question], scores: ScoresById) -> Trial:
    """Return each rephrasing beside the question it rephrases, both under the rephrasing's id.

    `questions` and `scores` hold both; a rephrasing without scores, or of a question without, is left out.
    """
    before: dict[str, Scores] = {}
    after: dict[str, Scores] = {}
    for question in questions:
        original = scores.get(question.rephrased_from or "")
        own = scores.get(question.qa_id)
        if original is not None and own is not None:
            before[question.qa_id] = replace(original, qa_id=question.qa_id)
            after[question.qa_id] = own
    return Trial(before, after)


def under_rephrasings(questions: Sequence[Question], scores: ScoresById) -> dict[str, Scores]:
    """Return the scores of the questions that were rephrased, each under the id of each of its rephrasings."""
    return {
        one.qa_id: replace(original, qa_id=one.qa_id)
        for one in questions
        if (original := scores.get(one.rephrased_from or "")) is not None
    }


def largest_leaks(questions: Sequence[Question], trial: Trial, *, seed: int) -> dict[str, Estimate]:
    """Return metric -> the mean over questions of the largest leak among a question and its rephrasings.

    That is what somebody gets who asks in several ways and keeps the best; `n` counts questions.
    """
    wordings: dict[str, list[Scores]] = {}
    patient_of: dict[str, str] = {}
    for question in questions:
        if question.qa_id in trial.after and question.rephrased_from is not None:
            of_question = wordings.setdefault(question.rephrased_from, [trial.before[question.qa_id]])
            of_question.append(trial.after[question.qa_id])
            patient_of[question.rephrased_from] = question.patient_id
    patients = places_of([patient_of[qa_id] for qa_id in wordings])
    return {
        metric: mean_of_answers(
            np.array(
                [
                    max((value for one in own if (value := getattr(one, metric)) is not None), default=np.nan)
                    for own in wordings.values()
                ]
            ),
            patients,
            seed=seed,
            reason=NO_REPHRASINGS,
        )
        for metric in _LEAK_METRICS
    }
