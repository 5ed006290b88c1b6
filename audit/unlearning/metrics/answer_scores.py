"""The scores of answers, one by one: all metrics of section 5 of AMNESIA that belong to a single answer.

Owns which metric is computed from what, and why one is not there. Knows nothing of means, of models' files or of who is
to be forgotten.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Question, QuestionForm, Scores
from clinaudit.audit.unlearning.metrics.entailment import BY_RULES_ONE_WAY, Entailment
from clinaudit.audit.unlearning.metrics.leakage import leakage_score, not_in_question
from clinaudit.audit.unlearning.metrics.words import rouge_l_recall, words_of


def token_entropy(tokens: Sequence[Hashable]) -> float | None:
    """Return -sum(f log f) / log n over the distinct tokens' shares f of n tokens; 0 where all are equal, at most 1.

    None below two tokens: log n is then 0, or there is nothing.
    """
    count = len(tokens)
    if count < 2:
        return None
    times = Counter(tokens).values()
    if len(times) == 1:
        # Exactly 0, by which the degradation score counts.
        return 0.0
    # log n - (sum c log c) / n, the same sum with fewer roundings.
    return min(1.0, 1.0 - sum(time * math.log(time) for time in times) / (count * math.log(count)))


NO_LOGITS: Final = "exact memorization needs the model's own probabilities"
NO_TOKENS: Final = "no token ids were given"
EMPTY_OR_SINGLE: Final = "empty_or_single"
NO_KEYWORDS: Final = "the question has no keywords"
ALL_IN_QUESTION: Final = "all keywords stand in the question"


class Embedder(Protocol):
    """Compares two texts by their embeddings."""

    name: str

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine of two texts, from 0 to 1."""
        ...


def score_answers(
    questions: Iterable[Question],
    keywords: Iterable[Keyword],
    answers: Iterable[Answer],
    *,
    embedder: Embedder,
    entailment: Entailment,
    em: Mapping[str, float] | None,
    form: QuestionForm = "paper",
) -> list[Scores]:
    """Return the scores of answers, in their order; every answer must be to one of the questions.

    `em` is exact memorization by qa_id, of the model that gave the answers; None where the model was not at hand.
    `form` is how the questions were asked: what stands in them is no leak in `ls_echo_free`.
    """
    by_id = {question.qa_id: question for question in questions}
    of_question: dict[str, list[Keyword]] = {}
    for keyword in keywords:
        of_question.setdefault(keyword.qa_id, []).append(keyword)
    scores = []
    for answer in answers:
        question = by_id[answer.qa_id]
        own = of_question.get(answer.qa_id, [])
        entailed = entailment.score(question, answer.text)
        leaked_beyond = leakage_score(not_in_question(own, question.text(form)), answer.text)
        values: dict[str, float | None] = {
            "em": None if em is None else em[answer.qa_id],
            "es": entailed.forward,
            "es_reverse": entailed.reverse,
            "te": None if answer.token_ids is None else token_entropy(answer.token_ids),
            "te_words": token_entropy(words_of(answer.text)),
            "ls": leakage_score(own, answer.text),
            "ls_echo_free": leaked_beyond,
        }
        reasons = {
            "em": NO_LOGITS,
            "es": entailed.reason or "",
            "es_reverse": entailed.reason or BY_RULES_ONE_WAY,
            "te": NO_TOKENS if answer.token_ids is None else EMPTY_OR_SINGLE,
            "te_words": EMPTY_OR_SINGLE,
            "ls": NO_KEYWORDS,
            "ls_echo_free": ALL_IN_QUESTION if own else NO_KEYWORDS,
        }
        scores.append(
            Scores(
                model=answer.model,
                qa_id=answer.qa_id,
                sample=answer.sample,
                rouge_l=rouge_l_recall(answer.text, question.answer),
                cs=embedder.similarity(answer.text, question.answer),
                reasons={metric: reasons[metric] for metric, value in values.items() if value is None},
                **values,
            )
        )
    return scores


def compare_with_before(
    scores: Sequence[Scores], answers: Iterable[Answer], before: Iterable[Answer], *, embedder: Embedder
) -> list[Scores]:
    """Return the scores with `cs_before`: how like the same model's answer before unlearning each answer is.

    So R-TOFU (Yoon et al. 2025) compares. `answers` are those of `scores`, in their order; `before` holds one greedy
    answer a question.
    """
    earlier = {answer.qa_id: answer.text for answer in before if not answer.sample}
    return [
        replace(one, cs_before=embedder.similarity(answer.text, earlier[answer.qa_id]))
        for one, answer in zip(scores, answers, strict=True)
    ]
