"""How much of a text another one holds: Rouge-L, and its precision, recall and F over two sets of texts.

Owns PII-Bench's fuzzy scores (F.1, Eqs. 14 to 16) and what Rouge-L compares. Knows nothing of subjects and samples.

**[choice]** Codes, quantities and dates are compared by character: rouge-score's own words are letters and digits, so
that "@ab_c" or "$4,200" would lose characters, and a number with one wrong digit would be all wrong. All else is
compared by word, case folded. Unlike rouge-score's own words, ours may hold letters beyond a to z.
"""

import math
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, Final, TypeVar

from clinaudit.audit.pii.benchmark.scoring.matching import Scores, TypedText, score_sets
from clinaudit.audit.pii.taxonomy import PiiType

Item = TypeVar("Item")
#: Types that are compared by character.
CHARACTER_TYPES: Final[frozenset[PiiType]] = frozenset({"CODE", "QUANTITY", "DATETIME"})
_WORD: Final = re.compile(r"[^\W_]+")
#: Pairs of texts kept with their similarity.
_PAIRS_KEPT: Final = 1 << 16


class _Words:
    def tokenize(self, text: str) -> list[str]:
        return _WORD.findall(text.casefold())


class _Characters:
    def tokenize(self, text: str) -> list[str]:
        return list(text)


@cache
def _scorer(*, by_character: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Characters() if by_character else _Words())


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
