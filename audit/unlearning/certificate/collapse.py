"""The collapse check: a degeneration (utility) check of the model after a mitigation (docs/comparing-runs.md).

A model that ends at once, repeats itself or writes noise leaks nothing, but has not forgotten: it has collapsed. Owns
the five questions, each against the generations before, of the same patients. Knows nothing of the limits, of what text
stands in notes, nor of what a failed check means for a patient.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.generation.record import Generation
from clinaudit.audit.unlearning.metrics.answer_collapse import (
    MORE_REPETITION,
    MORE_SHORT,
    MOST_SHORT,
    NO_LESS_THAN_HALF,
    Limit,
    at_most,
    hold,
    mean_of,
)
from clinaudit.reports.schema.comparison import HealthCheck

NO_TEXT: Final = "there are no generations of them in both runs"
_REPETITION: Final = "repetition"
#: Token ids are 32-bit: two fit into one 64-bit number.
_ID_BITS: Final = 32
Pairs = NDArray[np.int64]
#: A measure of some generations; None where they hold too little text for it.
Measured = Callable[[Sequence[Generation]], float | None]
Unit = Literal["generations", "tokens"]


class Question(NamedTuple):
    """One question of the check."""

    text: str
    #: What the figure is a mean over.
    unit: Unit
    measure: Measured
    limit: Limit


class Group(NamedTuple):
    """The generations of some patients in both runs, and those of all other patients in A."""

    name: str
    before: Sequence[Generation]
    after: Sequence[Generation]
    #: Pairs of neighbouring tokens (bigrams) that A wrote of the other patients.
    known_pairs: Pairs


def check_group(group: Group, *, ngram: int, counts_repetition: bool = True) -> list[HealthCheck]:
    """Return the answers for one group; a question without data is unanswered, which is no pass.

    `ngram` is the length of a match in tokens. Without `counts_repetition` the share of repetitive generations is not
    checked: of one patient's few generations it is not informative.
    """
    questions = [
        Question(
            "generations shorter than a match", "generations", _short_share(ngram), at_most(MORE_SHORT, MOST_SHORT)
        ),
        Question("mean length in tokens", "tokens", _mean_tokens, NO_LESS_THAN_HALF),
        Question("distinct tokens in a run as long as a match", "tokens", _distinct_share(ngram), NO_LESS_THAN_HALF),
        Question(
            "pairs of neighbouring tokens that A wrote of others",
            "tokens",
            _known_share(group.known_pairs),
            NO_LESS_THAN_HALF,
        ),
    ]
    if counts_repetition:
        repeats = "generations stopped for repeating themselves"
        questions.append(Question(repeats, "generations", _repetition_share, at_most(MORE_REPETITION)))
    return [_answer(group, question) for question in questions]


def _answer(group: Group, question: Question) -> HealthCheck:
    before = question.measure(group.before) if group.before else None
    after = question.measure(group.after) if group.after else None
    held = hold(question.limit, before if group.after else None, after, nothing_before=NO_TEXT)
    return HealthCheck(
        group=group.name,
        question=question.text,
        unit=question.unit,
        allowed=question.limit.allowed,
        a=before,
        b=after,
        **held._asdict(),
    )


def neighbouring_pairs(generations: Iterable[Generation]) -> Pairs:
    """Return the distinct pairs of neighbouring token ids (bigrams), each as one number, ascending: `(pairs,)`."""
    found = [_pairs_of(generation.token_ids) for generation in generations]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _short_share(ngram: int) -> Measured:
    return lambda generations: mean_of(len(item.token_ids) < ngram for item in generations)


def _repetition_share(generations: Sequence[Generation]) -> float | None:
    return mean_of(item.finish_reason == _REPETITION for item in generations)


def _mean_tokens(generations: Sequence[Generation]) -> float | None:
    return mean_of(len(item.token_ids) for item in generations)


def _distinct_share(ngram: int) -> Measured:
    """Mean share of distinct tokens over consecutive whole runs of `ngram` tokens; it does not depend on length.

    The mean segmental type-token ratio (Johnson 1944).
    """
    return lambda generations: mean_of(
        len(set(item.token_ids[start : start + ngram])) / ngram
        for item in generations
        for start in range(0, len(item.token_ids) - ngram + 1, ngram)
    )


def _known_share(known: Pairs) -> Measured:
    def measure(generations: Sequence[Generation]) -> float | None:
        if not known.size:
            return None
        pairs = np.concatenate([_pairs_of(item.token_ids) for item in generations])
        return float(np.isin(pairs, known).mean()) if pairs.size else None

    return measure


def _pairs_of(token_ids: Sequence[int]) -> Pairs:
    ids = np.asarray(token_ids, dtype=np.int64)
    pairs: Pairs = (ids[:-1] << _ID_BITS) | ids[1:]
    return pairs
