"""A brute-force twin of the matching of subjects: every assignment, in exact fractions.

It shares nothing with the code under test: no float, no library, other formulas for F1.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import permutations
from typing import TypeVar

Entity = tuple[str, str]
Item = TypeVar("Item")
#: Later than any predicted subject.
NOBODY = 1_000


def f1(predicted: AbstractSet[Item], gold: AbstractSet[Item]) -> Fraction:
    """The harmonic mean of precision and recall."""
    if not predicted and not gold:
        return Fraction(1)
    right = len(predicted & gold)
    if not right:
        return Fraction(0)
    precision, recall = Fraction(right, len(predicted)), Fraction(right, len(gold))
    return 2 * precision * recall / (precision + recall)


def texts(entities: AbstractSet[Entity]) -> set[str]:
    return {text for text, _ in entities}


def best_matching(
    predicted: Sequence[AbstractSet[Entity]], gold: Sequence[AbstractSet[Entity]]
) -> list[tuple[int, int]]:
    """The best of all assignments: strict F1, then entity-only F1, then the earliest predicted subjects."""
    if not predicted or not gold:
        return []
    candidates = [*range(len(predicted)), *[NOBODY] * max(0, len(gold) - len(predicted))]
    best = None
    for chosen in set(permutations(candidates, len(gold))):
        pairs = [(p, g) for g, p in enumerate(chosen) if p != NOBODY]
        strict = sum((f1(predicted[p], gold[g]) for p, g in pairs), Fraction(0))
        entity = sum((f1(texts(predicted[p]), texts(gold[g])) for p, g in pairs), Fraction(0))
        key = (strict, entity, tuple(-p for p in chosen))
        if best is None or key > best[0]:
            best = (key, pairs)
    assert best is not None
    return best[1]
