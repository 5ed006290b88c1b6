"""A trial: scores of the same questions before and after something was done to the model, or asked otherwise.

Owns what is said of such a pair: both means, the change by question, and how much of what was lost came back, with its
interval. Rephrased questions, which no method trained on, are a trial too, and so are those of the other form: without
what names the patient, or with it (docs/unlearning-scores.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from clinaudit.audit.statistics.intervals import interval_of_resamples, newcombe_difference, wider_of
from clinaudit.audit.statistics.patient_means import (
    Places,
    Values,
    bootstrap_alone,
    change_of_answers,
    difference_of_groups,
    mean_of_answers,
    places_of,
    resampled_means,
    values_of,
)
from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, Scores
from clinaudit.audit.unlearning.metrics.means import summarize_group
from clinaudit.reports.schema.numbers import PatientEstimate
from clinaudit.reports.schema.unlearning_evaluation import LEAK_METRICS, Trial, TrialCounts
from clinaudit.reports.schema.unlearning_scores import Figure, Figures

NOT_SCORED: Final = "no answer of this group has it each time"
NOTHING_LOST: Final = "the model had lost nothing of it against the baseline"
NO_BASELINE: Final = "the baseline was not evaluated"
NO_REFERENCE: Final = "no reference retrained without these patients was evaluated"


def recovery(before: Values, after: Values, baseline: Values, patients: Places, *, seed: int) -> PatientEstimate:
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
) -> PatientEstimate:
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
) -> PatientEstimate:
    """Return the mean gain over the mean loss; `interval` is that of the mean gain."""
    has = np.isfinite(lost)
    count = int(has.sum())
    if not count:
        return PatientEstimate(value=None, n=0, reason=NOT_SCORED)
    mean_lost = float(lost[has].mean())
    if mean_lost <= 0:
        return PatientEstimate(value=None, n=count, reason=NOTHING_LOST)
    value = float(gain[has].mean()) / mean_lost
    resampled = resampled_means([gain, lost], patients, seed=seed)
    ratios = _ratio(resampled[:, 0], resampled[:, 1])
    of_resamples = interval_of_resamples(ratios)
    if of_resamples is None or interval[0] is None or interval[1] is None:
        return PatientEstimate(value=value, n=count)
    low, high = wider_of(of_resamples, (interval[0] / mean_lost, interval[1] / mean_lost))
    # Gain and loss are of the same resamples: a patient who lost more may gain more, too.
    narrow = bootstrap_alone(ratios, patients=len(np.unique(patients[has])))
    return PatientEstimate(value=value, low=low, high=high, n=count, bootstrap=narrow)


def _ratio(gain: Values, lost: Values) -> Values:
    ratio: Values = np.divide(gain, lost, out=np.full(gain.shape, np.nan), where=lost > 0)
    return ratio


#: What an answer keeps of a patient, each from 0 to 1: of these the change is reported.
KEPT_METRICS: Final = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es")
#: Of which the means before and after are reported.
_MEAN_METRICS: Final = (*KEPT_METRICS, "te", "ds", "mu", "afe", "mu_without_em", "afe_without_em")
NO_QUESTIONS: Final = "no question was asked both times"
ScoresById = Mapping[str, Scores]


class Tried(NamedTuple):
    """Scores by qa_id; those of questions that were not asked both times are left out of everything."""

    before: ScoresById
    after: ScoresById

    def asked(self) -> list[str]:
        """Return the questions that were asked both times."""
        return [qa_id for qa_id in self.before if qa_id in self.after]


def by_id(scores: Sequence[Scores]) -> dict[str, Scores]:
    """Return scores of one answer a question by their questions."""
    return {one.qa_id: one for one in scores}


@dataclass(frozen=True, slots=True)
class TrialWriter:
    """Describes trials of a benchmark's questions, which are by qa_id."""

    questions: Mapping[str, Question]
    #: How the document calls entailment.
    entailment_metric: str
    seed: int

    def describe(
        self, tried: Tried, *, baseline: ScoresById | None = None, reference: Tried | None = None
    ) -> dict[str, Any]:
        """Return the fields of a `Trial`: both means, the change, and where the baseline is given the recovery.

        `baseline` holds the scores of the model that knew everything, and `reference` the same trial of one that never
        saw these patients: `recovery_beyond_reference` leaves out what such a model gains.
        """
        asked = tried.asked()
        if not asked:
            return {"reason": NO_QUESTIONS}
        patients = self._patients(asked)
        before, after = (_columns(scores, asked) for scores in tried)
        described: dict[str, Any] = {
            "counts": TrialCounts(patients=int(patients.max()) + 1, questions=len(asked)),
            "before": self._means([tried.before[one] for one in asked]),
            "after": self._means([tried.after[one] for one in asked]),
            "change": self._by_metric(
                lambda metric: change_of_answers(
                    before[metric], after[metric], patients, seed=self.seed, reason=NOT_SCORED
                )
            ),
        }
        if baseline is None:
            return described
        knew = _columns(baseline, asked)
        described["recovery"] = self._by_metric(
            lambda metric: recovery(before[metric], after[metric], knew[metric], patients, seed=self.seed)
        )
        if reference is not None:
            theirs = [_columns(scores, asked) for scores in reference]

            def beyond(metric: str) -> PatientEstimate:
                own, other = (before[metric], after[metric]), (theirs[0][metric], theirs[1][metric])
                return recovery_beyond(own, other, knew[metric], patients, seed=self.seed)

            described["recovery_beyond_reference"] = self._by_metric(beyond)
        return described

    def floor(self, tried: Tried, floor: Tried) -> dict[str, Any]:
        """Return the same trial of never-trained patients, and by metric how much more is kept of the others.

        With Newcombe's interval of a difference between independent means.
        """

        def above(metric: str) -> PatientEstimate:
            return difference_of_groups(*(self._mean_after(one, metric) for one in (tried, floor)))

        return {
            "never_trained": Trial(**self.describe(floor)),
            "above_never_trained": self._by_metric(above),
        }

    def largest_leaks(self, rephrased: Sequence[Question], tried: Tried) -> Figures:
        """Return metric -> the mean over questions of the largest leak among a question and its rephrasings.

        That is what somebody gets who asks in several ways and keeps the best; each counts questions.
        """
        wordings: dict[str, list[Scores]] = {}
        for question in rephrased:
            if question.qa_id in tried.after and question.rephrased_from is not None:
                own = wordings.setdefault(question.rephrased_from, [tried.before[question.qa_id]])
                own.append(tried.after[question.qa_id])
        patient_of = {question.rephrased_from: question.patient_id for question in rephrased}
        patients = places_of([patient_of[qa_id] for qa_id in wordings])

        def largest(metric: str) -> PatientEstimate:
            values = [values_of(getattr(one, metric) for one in own) for own in wordings.values()]
            most = np.array([np.nanmax(own) if np.isfinite(own).any() else np.nan for own in values])
            return mean_of_answers(most, patients, seed=self.seed, reason=NO_REPHRASINGS)

        return {metric: Figure.of(largest(metric)) for metric in LEAK_METRICS}

    def _by_metric(self, measure: Callable[[str], PatientEstimate]) -> Figures:
        return {self._written(metric): Figure.of(measure(metric)) for metric in KEPT_METRICS}

    def _means(self, scores: Sequence[Scores]) -> Figures:
        means = summarize_group(scores, self.questions, seed=self.seed).metrics
        return {self._written(metric): Figure.of(means[metric]) for metric in _MEAN_METRICS}

    def _mean_after(self, tried: Tried, metric: str) -> PatientEstimate:
        asked = tried.asked()
        values = _columns(tried.after, asked)[metric]
        return mean_of_answers(values, self._patients(asked), seed=self.seed, reason=NOT_SCORED)

    def _patients(self, asked: Sequence[str]) -> Places:
        return places_of([self.questions[qa_id].patient_id for qa_id in asked])

    def _written(self, metric: str) -> str:
        return self.entailment_metric if metric == "es" else metric


def _columns(scores: ScoresById, asked: Sequence[str]) -> dict[str, Values]:
    """Return the values of each metric over some questions, not a number where a question has none."""
    own = [scores.get(qa_id) for qa_id in asked]
    return {metric: values_of(getattr(one, metric, None) for one in own) for metric in KEPT_METRICS}


OTHER_FORM: Final[Mapping[QuestionForm, QuestionForm]] = {"paper": "addressed", "addressed": "paper"}
NO_REPHRASINGS: Final = "no question of these patients was rephrased"


def pair_rephrased(questions: Sequence[Question], scores: ScoresById) -> Tried:
    """Return each rephrasing beside the question it rephrases, both under the rephrasing's id.

    `questions` and `scores` hold both; a rephrasing without scores, or of a question without, is left out.
    """
    before = {qa_id: one for qa_id, one in under_rephrasings(questions, scores).items() if qa_id in scores}
    return Tried(before, {qa_id: scores[qa_id] for qa_id in before})


def under_rephrasings(questions: Sequence[Question], scores: ScoresById) -> dict[str, Scores]:
    """Return the scores of the questions that were rephrased, each under the id of each of its rephrasings."""
    return {
        one.qa_id: replace(original, qa_id=one.qa_id)
        for one in questions
        if (original := scores.get(one.rephrased_from or "")) is not None
    }
