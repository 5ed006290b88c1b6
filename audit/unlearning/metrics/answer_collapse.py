"""Do answers still read as before? The limits of every collapse check [choice], and five questions beside DS.

DS counts answers of one token over and over; a model that writes noise, or nothing, has a DS of 0. The questions are
over words, and compare models of two tokenizers (docs/unlearning.md); the certificate asks alike of generations.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.benchmark.files import Answer, Words, words_of
from clinaudit.reports.schema.certificate import AnswerCheck

#: B's share of texts too short to be any may exceed A's by so much, and never exceeds half.
MORE_SHORT: Final = 0.1
MOST_SHORT: Final = 0.5
#: B's share of texts that repeat themselves may exceed A's by so much.
MORE_REPETITION: Final = 0.2
#: B must keep this part of A's mean length, of its share of distinct tokens, and of its share of known pairs.
KEPT_PART: Final = 0.5
TOO_LITTLE: Final = "too little text"


class Limit(NamedTuple):
    """What B is allowed."""

    #: In words.
    allowed: str
    #: Takes A's measure and B's; returns the limit, and whether B keeps it.
    compare: Callable[[float, float], tuple[float, bool]]


class Held(NamedTuple):
    """Whether B keeps a limit."""

    limit: float | None
    #: None: it could not be asked, which is no pass.
    passed: bool | None
    reason: str | None


def hold(limit: Limit, before: float | None, after: float | None, *, nothing_before: str) -> Held:
    """Return whether B's measure keeps a limit; `nothing_before` is the reason where A has none."""
    if before is None:
        return Held(None, None, nothing_before)
    if after is None:
        # A wrote enough for the question, B did not: that is a collapse, not missing data.
        return Held(None, False, TOO_LITTLE)
    return Held(*limit.compare(before, after), None)


def has_collapsed(checks: Iterable[AnswerCheck]) -> bool | None:
    """Return whether any question failed; None where none did, and some could not be asked."""
    passed = [check.passed for check in checks]
    if False in passed:
        return True
    return None if None in passed or not passed else False


def at_most(more: float, ceiling: float = 1.0) -> Limit:
    """Return the limit that B may be above A by `more`, and no higher than the ceiling."""

    def compare(before: float, after: float) -> tuple[float, bool]:
        limit = min(before + more, ceiling)
        return limit, after <= limit

    never = f", never above {ceiling:.2f}" if ceiling < 1 else ""
    return Limit(f"at most {more:.2f} above A{never}", compare)


NO_LESS_THAN_HALF: Final = Limit(
    "no less than half of A", lambda before, after: (KEPT_PART * before, after >= KEPT_PART * before)
)
#: Words of a run [choice]: shorter than most answers, and long enough to tell a loop of two or three words.
RUN_WORDS: Final = 8
NOTHING_BEFORE: Final = "the answers before hold too little for it"
Pair = tuple[str, str]
#: A measure of some answers; None where they hold too little text for it.
Measured = Callable[[Sequence[Words]], float | None]


def check_answers(answers: Iterable[Answer], before: Iterable[Answer], groups: Mapping[str, str]) -> list[AnswerCheck]:
    """Return the five questions of each group, in the order of the groups' names; greedy answers alone are read.

    `before` are another model's answers to the same questions. `groups` is the group of each question, by qa_id.
    """
    own, earlier = (
        grouped(
            ((groups[one.qa_id], words_of(one.text)) for one in given if not one.sample and one.qa_id in groups),
            itemgetter(0),
        )
        for given in (answers, before)
    )
    texts = {
        name: [[words for _, words in side[name]] for side in (earlier, own)] for name in sorted(own.keys() & earlier)
    }
    checks: list[AnswerCheck] = []
    for name, (first, second) in texts.items():
        others = (words for other, texts_of in earlier.items() if other != name for _, words in texts_of)
        checks += _check(name, {pair for words in others for pair in pairwise(words)}, first, second)
    return checks


def _check(group: str, known: set[Pair], before: Sequence[Words], after: Sequence[Words]) -> Iterator[AnswerCheck]:
    """Yield the five questions; `known` are the pairs of words that A wrote of others."""

    def known_share(texts: Sequence[Words]) -> float | None:
        return mean_of(pair in known for text in texts for pair in pairwise(text)) if known else None

    def repeats(text: Words) -> bool:
        runs = [text[start : start + RUN_WORDS] for start in range(len(text) - RUN_WORDS + 1)]
        return len(set(runs)) < len(runs)

    half = NO_LESS_THAN_HALF
    measures: dict[str, tuple[Measured, Limit]] = {
        "answers without a word": (lambda texts: mean_of(not text for text in texts), at_most(MORE_SHORT, MOST_SHORT)),
        "mean length in words": (mean_length, half),
        f"distinct words in a run of {RUN_WORDS}": (lambda texts: distinct_share(texts, run=RUN_WORDS), half),
        "pairs of neighbouring words that A wrote of others": (known_share, half),
        f"answers that write a run of {RUN_WORDS} words twice": (
            lambda texts: mean_of(map(repeats, texts)),
            at_most(MORE_REPETITION),
        ),
    }
    # Answers of a word or two have no shape to lose: of them, silence and loops alone can be seen.
    is_short = (mean_length(before) or 0) < RUN_WORDS
    for question, (measure, limit) in measures.items():
        a, b = measure(before), measure(after)
        can_be_asked = not is_short or question.startswith("answers")
        held = hold(limit, a if can_be_asked else None, b, nothing_before=NOTHING_BEFORE)
        yield AnswerCheck(group=group, question=question, allowed=limit.allowed, a=a, b=b, **held._asdict())


def mean_length(texts: Sequence[Sequence[Hashable]]) -> float | None:
    """Return the mean number of words or tokens."""
    return mean_of(len(text) for text in texts)


def distinct_share(texts: Sequence[Sequence[Hashable]], *, run: int) -> float | None:
    """Return the mean share of distinct units over whole runs (segmental type-token ratio, Johnson 1944)."""
    return mean_of(
        len(set(text[start : start + run])) / run for text in texts for start in range(0, len(text) - run + 1, run)
    )


def mean_of(values: Iterable[float]) -> float | None:
    """Return the mean; None of nothing."""
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else None
