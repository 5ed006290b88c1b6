"""A filter before a model, which refuses questions on named patients: what is cheap, beside what unlearns.

Owns which questions are refused, and what is said instead. The model behind it is as it was: who asks it in other
words, or holds its weights, gets what it remembers. Knows nothing of networks or scores.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from clinaudit.audit.unlearning.benchmark.files import Bench
from clinaudit.audit.unlearning.benchmark.questions.addresses import name_in
from clinaudit.audit.unlearning.benchmark.records import Answer, Question, QuestionForm, Split
from clinaudit.audit.unlearning.evaluation.asked_model import Advance, Answerer
from clinaudit.audit.unlearning.metrics.words import stands_in, words_of

#: What a blocked question is answered with [choice].
REFUSAL: Final = "I cannot answer questions about this patient."


class NameFilter:
    """Blocks questions in which one of some names stands, word for word."""

    def __init__(self, name: str, blocked: Iterable[str], *, refusal_ids: Sequence[int]) -> None:
        """`name` is what answers through it are told by; `refusal_ids` are the token ids of `REFUSAL`."""
        self.name = name
        self._blocked = frozenset(words for one in blocked if (words := words_of(one)))
        self._refusal_ids = tuple(refusal_ids)

    def blocks(self, question: Question, form: QuestionForm) -> bool:
        """Whether a question names one of the patients, as it is asked."""
        words = words_of(question.text(form))
        return any(stands_in(name, words) for name in self._blocked)

    def filter_answers(
        self,
        answers: Iterable[Answer],
        questions: Sequence[Question],
        form: QuestionForm,
        *,
        samples: Iterable[int] = (0,),
    ) -> list[Answer]:
        """Return what comes through of a model's answers, which hold at least those to the questions not blocked."""
        given = {(answer.qa_id, answer.sample): replace(answer, model=self.name) for answer in answers}
        numbers = tuple(samples)
        return [
            Answer(self.name, question.qa_id, REFUSAL, self._refusal_ids, sample=sample)
            if self.blocks(question, form)
            else given[question.qa_id, sample]
            for question in questions
            for sample in numbers
        ]


class FilteredModel:
    """A model behind a filter of names: the model is asked only what is not blocked."""

    def __init__(self, model: Answerer, name_filter: NameFilter) -> None:
        self.name = name_filter.name
        self._model = model
        self._filter = name_filter

    def answer(
        self, questions: Sequence[Question], form: QuestionForm, *, advance: Advance | None = None
    ) -> list[Answer]:
        """Return the greedy answers; a refusal to each blocked question."""
        asked = self._let_through(questions, form, advance, count=1)
        return self._filter.filter_answers(self._model.answer(asked, form, advance=advance), questions, form)

    def sample(
        self,
        questions: Sequence[Question],
        form: QuestionForm,
        *,
        count: int,
        seed: int,
        advance: Advance | None = None,
    ) -> list[Answer]:
        """Return the sampled answers; `count` refusals to each blocked question."""
        asked = self._let_through(questions, form, advance, count=count)
        drawn = self._model.sample(asked, form, count=count, seed=seed, advance=advance)
        return self._filter.filter_answers(drawn, questions, form, samples=range(1, count + 1))

    def _let_through(
        self, questions: Sequence[Question], form: QuestionForm, advance: Advance | None, *, count: int
    ) -> list[Question]:
        asked = [question for question in questions if not self._filter.blocks(question, form)]
        if advance is not None:
            advance(count * (len(questions) - len(asked)))
        return asked


def filter_name(split: Split) -> str:
    """Return what the filter of a split's forgotten patients is called."""
    return f"prompt filter {split.name}"


def forgotten_names(bench: Bench, split: Split) -> frozenset[str]:
    """Return the names of forgotten patients that stand in the addresses of their questions."""
    forgotten = set(split.forget)
    named = (name_in(question.address) for question in bench.questions if question.patient_id in forgotten)
    return frozenset(name for name in named if name)
