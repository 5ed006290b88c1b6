"""leak@k: the largest leakage that is expected among k sampled answers (Reisizadeh et al. 2025, arXiv 2511.04934).

Owns the estimator and its mean over questions. A model that is silent when decoded greedily may still give away what it
was to forget when it is asked again and again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.statistics.patient_means import mean_of_answers, places_of
from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Question, QuestionForm
from clinaudit.audit.unlearning.metrics.words import leakage_score, not_in_question, rouge_l_recall
from clinaudit.reports.schema.numbers import PatientEstimate
from clinaudit.reports.schema.unlearning_evaluation import LEAK_METRICS

#: How often the model is asked, in what is reported (docs/unlearning.md).
LEAK_AT: Final = (1, 8, 32)
SAMPLES: Final = 32
NO_QUESTION_HAS_IT: Final = "no question of this group has it"


@dataclass(frozen=True, slots=True)
class SampledLeaks:
    """What the sampled answers to one question leak."""

    qa_id: str
    #: Metric -> one value a sample, in the order of the samples; left out where the question has no such metric.
    values: Mapping[str, tuple[float, ...]]


def leak_at(values: Sequence[float], k: int) -> float:
    """Return the mean of the largest of k values over all choices of k of the n values.

    With the values in ascending order that is the sum of C(i - 1, k - 1) / C(n, k) times the i-th: the i-th is the
    largest of k in so many choices. It is unbiased for the largest of k fresh samples. Raises `ValueError` unless
    1 <= k <= n.
    """
    count = len(values)
    if not 1 <= k <= count:
        raise ValueError("as many values as are drawn are needed, and one at least")
    choices = math.comb(count, k)
    # Whole numbers are divided once each: the weights of large n overflow no float.
    return math.fsum(
        value * (math.comb(place, k - 1) / choices) for place, value in enumerate(sorted(values)) if place >= k - 1
    )


def measure_leaks(
    questions: Sequence[Question], keywords: Sequence[Keyword], answers: Sequence[Answer], *, form: QuestionForm
) -> list[SampledLeaks]:
    """Return what sampled answers leak, in the order of the questions; every question must have been asked."""
    given, own_keywords = grouped(answers, attrgetter("qa_id")), grouped(keywords, attrgetter("qa_id"))
    found = []
    for question in questions:
        own = own_keywords.get(question.qa_id, [])
        beyond = not_in_question(own, question.text(form))
        texts = [answer.text for answer in sorted(given[question.qa_id], key=lambda answer: answer.sample)]
        values: dict[str, list[float | None]] = {
            "ls": [leakage_score(own, text) for text in texts],
            "ls_echo_free": [leakage_score(beyond, text) for text in texts],
            "rouge_l": [rouge_l_recall(text, question.answer) for text in texts],
        }
        defined = {name: tuple(one for one in own_values if one is not None) for name, own_values in values.items()}
        found.append(SampledLeaks(question.qa_id, {name: some for name, some in defined.items() if some}))
    return found


def summarize_leaks(
    leaks: Sequence[SampledLeaks], patient_of: Mapping[str, str], *, ks: Sequence[int], seed: int
) -> dict[str, dict[int, PatientEstimate]]:
    """Return metric -> k -> the mean of leak@k over questions, with its interval over patients; `n` counts questions.

    `patient_of` is by qa_id.
    """
    patients = places_of([patient_of[one.qa_id] for one in leaks])
    return {
        metric: {
            k: mean_of_answers(
                np.array([leak_at(one.values[metric], k) if metric in one.values else np.nan for one in leaks]),
                patients,
                seed=seed,
                reason=NO_QUESTION_HAS_IT,
            )
            for k in ks
        }
        for metric in LEAK_METRICS
    }
