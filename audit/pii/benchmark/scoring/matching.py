"""Comparing two sets, exactly and by Rouge-L, and matching the subjects that a system names with those of a sample.

Owns precision, recall and F1 of sets, the optimal assignment of subjects and its averages (PII-Bench, F.1), and the
fuzzy scores (Eqs. 14 to 16). **[choice]** Two empty sets agree (1); of one empty set and one that is not, all is 0.

**[choice]** Codes, quantities and dates are compared by character: rouge-score's own words are letters and digits, so
that "@ab_c" or "$4,200" would lose characters, and a number with one wrong digit would be all wrong. All else is
compared by word, case folded. Unlike rouge-score's own words, ours may hold letters beyond a to z.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from clinaudit.audit.pii.taxonomy import PiiType

Item = TypeVar("Item")
#: The weight of the entity-only F1 in the assignment. It decides between assignments of equal strict F1 alone: sums of
#: strict F1 that differ at all differ by more than this for subjects of any size that occurs.
_TIE_WEIGHT: Final = 1e-8
#: Sums that differ by less are equal: 100 times the rounding error of a sum of 20 numbers up to 1.
_ROUNDING: Final = 1e-13


class TypedText(NamedTuple):
    """An entity as strict scores compare it."""

    text: str
    type: PiiType


class Scores(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


NOTHING_RIGHT: Final = Scores(0.0, 0.0, 0.0)
_ALL_RIGHT: Final = Scores(1.0, 1.0, 1.0)


def score_sets(predicted: AbstractSet[Item], gold: AbstractSet[Item]) -> Scores:
    """Return precision, recall and F1 of a set (Eqs. 1 to 6, 11 to 13)."""
    if not predicted or not gold:
        return NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
    shared = len(predicted & gold)
    # F1 in one division, so that equal sets give exactly 1.
    return Scores(shared / len(predicted), shared / len(gold), 2 * shared / (len(predicted) + len(gold)))


def texts_of(entities: Iterable[TypedText]) -> frozenset[str]:
    """Return the texts of entities, without their types."""
    return frozenset(entity.text for entity in entities)


def match_subjects(
    predicted: Sequence[AbstractSet[TypedText]], gold: Sequence[AbstractSet[TypedText]]
) -> list[tuple[int, int]]:
    """Return the one-to-one matching M* that maximises the sum of strict F1 (Eq. 7), as (predicted, gold) by gold.

    As many are matched as the smaller side has. **[choice]** Of several such matchings the one with the largest sum of
    entity-only F1; of several of those, the one that gives the first gold subject the earliest predicted one, then the
    second, and so on (none counts as later than any).
    """
    if not predicted or not gold:
        return []
    weights = np.array(
        [[score_sets(p, g).f1 + _TIE_WEIGHT * score_sets(texts_of(p), texts_of(g)).f1 for g in gold] for p in predicted]
    )
    return _first_best_assignment(weights)


def _first_best_assignment(weights: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the first of all assignments of largest weight `(rows, columns)`, as (row, column) by column."""

    def largest_sum(rows: Sequence[int], columns: Sequence[int]) -> float:
        part = weights[np.ix_(rows, columns)]
        return float(part[linear_sum_assignment(part, maximize=True)].sum())

    rows, columns = list(range(weights.shape[0])), list(range(weights.shape[1]))
    pairs: list[tuple[int, int]] = []
    left = largest_sum(rows, columns)
    while columns and rows:
        column = columns.pop(0)
        for row in rows:
            others = [other for other in rows if other != row]
            rest = largest_sum(others, columns)
            if weights[row, column] + rest >= left - _ROUNDING:
                pairs.append((row, column))
                rows, left = others, rest
                break
    return pairs


def average_over_subjects(
    predicted: Sequence[AbstractSet[TypedText]],
    gold: Sequence[AbstractSet[TypedText]],
    matching: Sequence[tuple[int, int]],
    score_pair: Callable[[AbstractSet[TypedText], AbstractSet[TypedText]], Scores],
) -> Scores:
    """Return a sample's scores over matched subjects (Eqs. 8 to 10); whoever is unmatched adds 0.

    The sums are divided by the number of predicted subjects, of gold subjects, and by the larger of the two: F1 is no
    harmonic mean of the other two.
    """
    if not predicted or not gold:
        return NOTHING_RIGHT if predicted or gold else _ALL_RIGHT
    scores = [score_pair(predicted[p], gold[g]) for p, g in matching]
    return Scores(
        sum(score.precision for score in scores) / len(predicted),
        sum(score.recall for score in scores) / len(gold),
        sum(score.f1 for score in scores) / max(len(predicted), len(gold)),
    )


#: Types that are compared by character.
CHARACTER_TYPES: Final[frozenset[PiiType]] = frozenset({"CODE", "QUANTITY", "DATETIME"})
_WORD: Final = re.compile(r"[^\W_]+")
#: Pairs of texts kept with their similarity.
_PAIRS_KEPT: Final = 1 << 16


class _Tokenizer:
    def __init__(self, *, by_character: bool) -> None:
        self._by_character = by_character

    def tokenize(self, text: str) -> list[str]:
        return list(text) if self._by_character else _WORD.findall(text.casefold())


@cache
def _scorer(*, by_character: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Tokenizer(by_character=by_character))


@lru_cache(maxsize=_PAIRS_KEPT)
def rouge_l(predicted: str, gold: str, *, by_character: bool) -> float:
    """Return Rouge-L's F (Lin 2004) of two texts, 0 to 1; equal texts give 1, whatever they hold."""
    if predicted == gold:
        return 1.0
    return float(_scorer(by_character=by_character).score(gold, predicted)["rougeL"].fmeasure)


def typed_similarity(predicted: TypedText, gold: TypedText) -> float:
    """Return the Rouge-L of two entities of one type, 0 where their types differ **[choice]**.

    In the paper's Table 6 the fuzzy score lies below the entity-only one: it cannot be blind to types.
    """
    if predicted.type != gold.type:
        return 0.0
    return rouge_l(predicted.text, gold.text, by_character=gold.type in CHARACTER_TYPES)


def score_overlap(
    predicted: AbstractSet[Item], gold: AbstractSet[Item], similarity: Callable[[Item, Item], float]
) -> Scores:
    """Return the mean of each predicted item's best similarity, of each gold item's, and their harmonic mean.

    Eqs. 14 to 16. `similarity` is of a predicted and a gold item, and 1 for equal ones. Both sets empty: 1; one of
    them: 0 **[choice]**.
    """
    if not predicted or not gold:
        return score_sets(predicted, gold)
    # `fsum`: a set has no order, and the same answers must give the same bits in every run.
    precision = math.fsum(_best(item, gold, similarity) for item in predicted) / len(predicted)
    recall = math.fsum(_best(item, predicted, lambda g, p: similarity(p, g)) for item in gold) / len(gold)
    both = precision + recall
    return Scores(precision, recall, 2 * precision * recall / both if both else 0.0)


def _best(item: Item, others: AbstractSet[Item], similarity: Callable[[Item, Item], float]) -> float:
    # Most items are found as they are, and then no pair is compared.
    return 1.0 if item in others else max(similarity(item, other) for other in others)
