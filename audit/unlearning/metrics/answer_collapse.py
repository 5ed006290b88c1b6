"""Do answers still read as before? The limits of every collapse check [choice], and five questions beside DS.

DS counts answers of one token over and over; a model that writes noise, or nothing, has a DS of 0. The questions are
over words, and compare models of two tokenizers (docs/unlearning.md); the certificate asks alike of generations.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from clinaudit.audit.statistics.estimates import grouped
from clinaudit.audit.unlearning.benchmark.files import Answer, Words, words_of
from clinaudit.reports.schema.certificate import AnswerCheck


class Limit(NamedTuple):
    """What B is allowed beside A."""

    #: In words.
    allowed: str
    #: Of A's measure.
    of: Callable[[float], float]
    #: Whether B must reach it, or else must not exceed it.
    is_least: bool = False

    def hold(self, before: float | None, after: float | None, *, nothing_before: str) -> dict[str, Any]:
        """Return the fields of a check that say what B may be, and whether it is that.

        `nothing_before` is the reason where A has no such measure: then it is not asked, which is no pass.
        """
        limit, passed, reason = None, None, None
        if before is None:
            reason = nothing_before
        elif after is None:
            # A wrote enough for the question, B did not: that is a collapse, not missing data.
            passed, reason = False, "too little text"
        else:
            limit = self.of(before)
            passed = after >= limit if self.is_least else after <= limit
        return {"allowed": self.allowed, "limit": limit, "passed": passed, "reason": reason}


#: Of the share of texts that are too short to be any, and of those that repeat themselves.
FEW_SHORT: Final = Limit("at most 0.10 above A, never above 0.50", lambda before: min(before + 0.1, 0.5))
FEW_LOOPS: Final = Limit("at most 0.20 above A", lambda before: min(before + 0.2, 1.0))
#: Of the mean length, and of the shares of distinct tokens and of known pairs.
HALF: Final = Limit("no less than half of A", lambda before: before / 2, is_least=True)
#: Words of a run [choice]: shorter than most answers, and long enough to tell a loop of two or three words.
RUN_WORDS: Final = 8
NOTHING_BEFORE: Final = "the answers before hold too little for it"


def has_collapsed(checks: Iterable[AnswerCheck]) -> bool | None:
    """Return whether any question failed; None where none did, and some could not be asked."""
    passed = [check.passed for check in checks]
    if False in passed:
        return True
    return None if None in passed or not passed else False


def check_answers(answers: Iterable[Answer], before: Iterable[Answer], groups: Mapping[str, str]) -> list[AnswerCheck]:
    """Return the five questions of each group, in the order of the groups' names; greedy answers alone are read.

    `before` are another model's answers to the same questions. `groups` is the group of each question, by qa_id.
    """
    earlier, own = (
        grouped(
            ((groups[one.qa_id], words_of(one.text)) for one in given if not one.sample and one.qa_id in groups),
            itemgetter(0),
        )
        for given in (before, answers)
    )
    checks: list[AnswerCheck] = []
    for name in sorted(own.keys() & earlier):
        others = (words for other in earlier.keys() - {name} for _, words in earlier[other])
        known = {pair for words in others for pair in pairwise(words)}
        checks += _check(name, known, *([words for _, words in side[name]] for side in (earlier, own)))
    return checks


def _check(
    group: str, known: Collection[tuple[str, str]], before: Sequence[Words], after: Sequence[Words]
) -> Iterator[AnswerCheck]:
    """Yield the five questions; `known` are the pairs of words that A wrote of others."""

    def repeats(text: Words) -> bool:
        runs = [text[start : start + RUN_WORDS] for start in range(len(text) - RUN_WORDS + 1)]
        return len(set(runs)) < len(runs)

    measures: dict[str, tuple[Callable[[Sequence[Words]], float | None], Limit]] = {
        "answers without a word": (lambda texts: mean_of(not text for text in texts), FEW_SHORT),
        "mean length in words": (mean_length, HALF),
        f"distinct words in a run of {RUN_WORDS}": (lambda texts: distinct_share(texts, run=RUN_WORDS), HALF),
        "pairs of neighbouring words that A wrote of others": (lambda texts: known_share(texts, known), HALF),
        f"answers that write a run of {RUN_WORDS} words twice": (lambda texts: mean_of(map(repeats, texts)), FEW_LOOPS),
    }
    # Answers of a word or two have no shape to lose: of them, silence and loops alone can be seen.
    is_short = (mean_length(before) or 0) < RUN_WORDS
    for question, (measure, limit) in measures.items():
        a, b = measure(before), measure(after)
        can_be_asked = not is_short or question.startswith("answers")
        held = limit.hold(a if can_be_asked else None, b, nothing_before=NOTHING_BEFORE)
        yield AnswerCheck(group=group, question=question, a=a, b=b, **held)


def mean_length(texts: Sequence[Sequence[Hashable]]) -> float | None:
    """Return the mean number of words or tokens."""
    return mean_of(len(text) for text in texts)


def distinct_share(texts: Sequence[Sequence[Hashable]], *, run: int) -> float | None:
    """Return the mean share of distinct units over whole runs (segmental type-token ratio, Johnson 1944)."""
    return mean_of(
        len(set(text[start : start + run])) / run for text in texts for start in range(0, len(text) - run + 1, run)
    )


def known_share(texts: Iterable[Sequence[Hashable]], known: Collection[object]) -> float | None:
    """Return the share of known ones among all pairs of neighbours; None where no pair is known of anybody."""
    return mean_of(pair in known for text in texts for pair in pairwise(text)) if known else None


def mean_of(values: Iterable[float]) -> float | None:
    """Return the mean; None of nothing."""
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else None
