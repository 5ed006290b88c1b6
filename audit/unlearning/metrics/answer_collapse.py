"""Do answers still read as before? Five questions beside the degradation score (docs/unlearning-scores.md).

DS counts answers of one token over and over; a model that writes noise, or nothing, has a DS of 0. Owns the five
questions, over words: they need no token ids, and compare models of two tokenizers. The limits are those of the
certificate's collapse check (collapse_limits.py). Knows nothing of what an answer should say.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from clinaudit.audit.unlearning.benchmark.records import Answer
from clinaudit.audit.unlearning.metrics.collapse_limits import (
    MORE_REPETITION,
    MORE_SHORT,
    MOST_SHORT,
    NO_LESS_THAN_HALF,
    Limit,
    at_most,
    hold,
)
from clinaudit.audit.unlearning.metrics.words import Words, words_of
from clinaudit.reports.schema.answer_check import AnswerCheck

#: Words of a run [choice]: shorter than most answers, and long enough to tell a loop of two or three words.
RUN_WORDS: Final = 8
NOTHING_BEFORE: Final = "the answers before hold too little for it"
Pair = tuple[str, str]
#: A measure of some answers; None where they hold too little text for it.
Measured = Callable[[Sequence[Words]], float | None]


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    measure: Measured
    limit: Limit
    #: Whether A's answers must be sentences: one of a word or two has no shape to lose.
    needs_sentences: bool = True


def check_answers(answers: Iterable[Answer], before: Iterable[Answer], groups: Mapping[str, str]) -> list[AnswerCheck]:
    """Return the five questions of each group, in the order of the groups' names; greedy answers alone are read.

    `before` are another model's answers to the same questions. `groups` is the group of each question, by qa_id; a
    question without a group is in none.
    """
    own, earlier = _by_group(answers, groups), _by_group(before, groups)
    checks: list[AnswerCheck] = []
    for name in sorted(own.keys() & earlier.keys()):
        known = {pair for other, texts in earlier.items() if other != name for text in texts for pair in pairwise(text)}
        checks += [_check(name, question, earlier[name], own[name]) for question in _questions(known)]
    return checks


def _by_group(answers: Iterable[Answer], groups: Mapping[str, str]) -> dict[str, list[Words]]:
    found: dict[str, list[Words]] = {}
    for answer in answers:
        if not answer.sample and answer.qa_id in groups:
            found.setdefault(groups[answer.qa_id], []).append(words_of(answer.text))
    return found


def _questions(known: set[Pair]) -> list[_Question]:
    def known_share(texts: Sequence[Words]) -> float | None:
        return mean_of(pair in known for text in texts for pair in pairwise(text)) if known else None

    return [
        _Question("answers without a word", _empty_share, at_most(MORE_SHORT, MOST_SHORT), needs_sentences=False),
        _Question("mean length in words", _mean_length, NO_LESS_THAN_HALF),
        _Question(f"distinct words in a run of {RUN_WORDS}", _distinct_share, NO_LESS_THAN_HALF),
        _Question("pairs of neighbouring words that A wrote of others", known_share, NO_LESS_THAN_HALF),
        _Question(
            f"answers that write a run of {RUN_WORDS} words twice",
            _repeating_share,
            at_most(MORE_REPETITION),
            needs_sentences=False,
        ),
    ]


def _check(group: str, question: _Question, before: Sequence[Words], after: Sequence[Words]) -> AnswerCheck:
    a, b = question.measure(before), question.measure(after)
    is_short = (_mean_length(before) or 0) < RUN_WORDS
    can_be_asked = not (question.needs_sentences and is_short)
    held = hold(question.limit, a if can_be_asked else None, b, nothing_before=NOTHING_BEFORE)
    allowed = question.limit.allowed
    return AnswerCheck(group=group, question=question.text, allowed=allowed, a=a, b=b, **held._asdict())


def _empty_share(texts: Sequence[Words]) -> float | None:
    return mean_of(not text for text in texts)


def _mean_length(texts: Sequence[Words]) -> float | None:
    return mean_of(len(text) for text in texts)


def _distinct_share(texts: Sequence[Words]) -> float | None:
    """Mean share of distinct words over consecutive whole runs (Johnson 1944): it does not depend on length."""
    return mean_of(
        len(set(text[start : start + RUN_WORDS])) / RUN_WORDS
        for text in texts
        for start in range(0, len(text) - RUN_WORDS + 1, RUN_WORDS)
    )


def _repeating_share(texts: Sequence[Words]) -> float | None:
    def repeats(text: Words) -> bool:
        runs = [text[start : start + RUN_WORDS] for start in range(len(text) - RUN_WORDS + 1)]
        return len(set(runs)) < len(runs)

    return mean_of(repeats(text) for text in texts)


def mean_of(values: Iterable[float]) -> float | None:
    """Return the mean; None of nothing."""
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else None
