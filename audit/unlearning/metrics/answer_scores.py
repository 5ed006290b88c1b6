"""The scores of answers, one by one: all metrics of section 5 of AMNESIA that belong to a single answer.

Owns which metric is computed from what, why one is not there, and both ways of entailment: by a model of inference, or
by rules [choice], as the share of the reference's facts that the answer states with the same polarity. Negation is
NegEx's, and whom a mention is about is decided by the offline judge's rules (docs/methods.md, section 5).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from clinaudit.audit.statistics.grouping import grouped
from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Question, QuestionForm, Scores
from clinaudit.audit.unlearning.metrics.words import leakage_score, not_in_question, rouge_l_recall, words_of
from clinaudit.priors.diagnoses import Diagnosis

if TYPE_CHECKING:
    from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
    from clinaudit.audit.measures.judge.verdict import PatientStatus
    from clinaudit.audit.runtime.language.encoders import EntailmentModel, SentenceEmbeddings

NO_FACTS: Final = "the question has no facts to look for"
#: What joins the digits of one number: "7" is no part of 7.2 or of 120/7.
_IN_NUMBERS: Final = ".,/:"


#: A question and the text of its answer.
Asked = tuple[Question, str]


class EntailmentByRules:
    """The share of the reference's facts that an answer states, as the reference states them."""

    metric = "es_rules"
    name = "rules: facts with their polarity"

    def score(self, asked: Sequence[Asked]) -> list[float | None]:
        """Return the share of each question's facts; None where it has none."""
        return [self._score(*one) for one in asked]

    def _score(self, question: Question, answer: str) -> float | None:
        facts = [fact for fact in question.facts if fact.strip()]
        if not facts:
            return None
        in_reference = self._polarities(question.answer, facts)
        in_answer = self._polarities(answer, facts)
        stated = sum(
            # A fact that stands in the reference in other words is taken as stated there.
            mine == (theirs or {"positive"})
            for mine, theirs in zip(in_answer, in_reference, strict=True)
        )
        return stated / len(facts)

    def _polarities(self, text: str, facts: Iterable[str]) -> "list[set[PatientStatus]]":
        """Return for each fact what a text says of it: empty where it does not stand there."""
        terms = [Diagnosis(id="fact", display="fact", names=(fact,)) for fact in facts]
        return [
            {mention.status for mention in mentions if not _cuts_a_number(text, *mention.span_chars)}
            for mentions in self._judge.read_mentions(text, terms)
        ]

    @cached_property
    def _judge(self) -> "LexiconJudge":
        from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge

        return LexiconJudge(())


class EntailmentByModel:
    """1 where a model takes the reference to follow from the answer, else 0."""

    metric = "es"

    def __init__(self, model: "EntailmentModel") -> None:
        self._model = model
        self.name = model.name

    def score(self, asked: Sequence[Asked]) -> list[float | None]:
        """Return whether each answer as premise entails the reference; a blank answer entails nothing."""
        said = [(answer, question.answer) for question, answer in asked if answer.strip()]
        found = iter(self._model.entails(said))
        return [float(next(found)) if answer.strip() else 0.0 for _, answer in asked]


#: How far answers entail references is called in files as its `metric` says, and made with `name`.
Entailment = EntailmentByRules | EntailmentByModel


def _cuts_a_number(text: str, start: int, end: int) -> bool:
    """Whether a mention is part of a longer number, such as `7` of `7.2`."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    goes_on_before = text[start].isdigit() and len(before) == 2 and before[0].isdigit() and before[1] in _IN_NUMBERS
    goes_on_after = text[end - 1].isdigit() and len(after) == 2 and after[0] in _IN_NUMBERS and after[1].isdigit()
    return goes_on_before or goes_on_after


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


#: Answers that are embedded together: enough of each length for whole batches.
_AT_ONCE: Final = 512


def score_answers(
    questions: Iterable[Question],
    keywords: Iterable[Keyword],
    answers: Iterable[Answer],
    *,
    embedder: "SentenceEmbeddings",
    entailment: Entailment,
    em: Mapping[str, float] | None,
    form: QuestionForm = "paper",
) -> list[Scores]:
    """Return the scores of answers, in their order; every answer must be to one of the questions.

    `em` is exact memorization by qa_id, of the model that gave the answers; None where the model was not at hand.
    `form` is how the questions were asked: what stands in them is no leak in `ls_echo_free`.
    """
    by_id = {question.qa_id: question for question in questions}
    of_question = grouped(keywords, attrgetter("qa_id"))
    scores: list[Scores] = []
    left = iter(answers)
    while chunk := list(islice(left, _AT_ONCE)):
        asked = [(by_id[answer.qa_id], answer.text) for answer in chunk]
        entailed = entailment.score(asked)
        alike = embedder.similarities([(text, question.answer) for question, text in asked])
        scores += [
            _score(
                answer,
                by_id[answer.qa_id],
                of_question.get(answer.qa_id, []),
                found,
                cs=cs,
                em=None if em is None else em[answer.qa_id],
                form=form,
            )
            for answer, found, cs in zip(chunk, entailed, alike, strict=True)
        ]
    return scores


def _score(
    answer: Answer,
    question: Question,
    own: Sequence[Keyword],
    entailed: float | None,
    *,
    cs: float,
    em: float | None,
    form: QuestionForm,
) -> Scores:
    """Return all metrics of one answer; `own` are the question's keywords."""
    values: dict[str, float | None] = {
        "em": em,
        "es": entailed,
        "te": None if answer.token_ids is None else token_entropy(answer.token_ids),
        "te_words": token_entropy(words_of(answer.text)),
        "ls": leakage_score(own, answer.text),
        "ls_echo_free": leakage_score(not_in_question(own, question.text(form)), answer.text),
        "ls_reference": leakage_score(own, question.answer),
    }
    reasons = {
        "em": NO_LOGITS,
        "es": NO_FACTS,
        "te": NO_TOKENS if answer.token_ids is None else EMPTY_OR_SINGLE,
        "te_words": EMPTY_OR_SINGLE,
        "ls": NO_KEYWORDS,
        "ls_echo_free": ALL_IN_QUESTION if own else NO_KEYWORDS,
        "ls_reference": NO_KEYWORDS,
    }
    return Scores(
        model=answer.model,
        qa_id=answer.qa_id,
        sample=answer.sample,
        rouge_l=rouge_l_recall(answer.text, question.answer),
        cs=cs,
        reasons={metric: reasons[metric] for metric, value in values.items() if value is None},
        **values,
    )
