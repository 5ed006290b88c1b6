"""Other words for the same question: whether what was forgotten answers to them (docs/unlearning-scores.md).

Owns which answers are compared. A question is compared with its own rephrasings, which no method trained on, and with
itself in the other form: without what names the patient, or with it. Knows nothing of how questions are rephrased.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from clinaudit.audit.unlearning.benchmark.records import Question, QuestionForm, Scores
from clinaudit.audit.unlearning.evaluation.robustness.trial import ScoresById, Trial
from clinaudit.audit.unlearning.metrics.answer_means import mean_of_answers, places_of
from clinaudit.reports.schema.numbers import Estimate

OTHER_FORM: Final[Mapping[QuestionForm, QuestionForm]] = {"paper": "addressed", "addressed": "paper"}
NO_REPHRASINGS: Final = "no question of these patients was rephrased"
#: Of which the largest over all wordings is told.
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
            np.array([_largest(own, metric) for own in wordings.values()], dtype=np.float64),
            patients,
            seed=seed,
            reason=NO_REPHRASINGS,
        )
        for metric in _LEAK_METRICS
    }


def _largest(scores: Sequence[Scores], metric: str) -> float:
    values = [value for one in scores if (value := getattr(one, metric)) is not None]
    return max(values, default=float("nan"))
