"""Texts as words, as the leakage score compares them (AMNESIA, appendix E.2).

A word is a run of letters and digits, in lower case. ROUGE-L takes words of its own.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer

_WORD: Final = re.compile(r"[^\W_]+")
Words = tuple[str, ...]


def words_of(text: str) -> Words:
    """Return the words of a text, in order."""
    return tuple(_WORD.findall(text.lower()))


def count_occurrences(phrase: Sequence[str], words: Sequence[str]) -> int:
    """Return at how many places the words of a phrase stand one after the other; a phrase without words nowhere."""
    size = len(phrase)
    if not size:
        return 0
    return sum(
        words[start] == phrase[0] and tuple(words[start : start + size]) == tuple(phrase)
        for start in range(len(words) - size + 1)
    )


def stands_in(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words of a phrase stand one after the other somewhere among the words."""
    return count_occurrences(phrase, words) > 0


def rouge_l_recall(answer: str, reference: str) -> float:
    """Return the longest common subsequence's share of the reference's words; 0 where either has none.

    ROUGE-L recall (AMNESIA, section 5.2; Lin 2004) by rouge-score with stemming, as open-unlearning calls it (commit
    d3d7cf9, src/evals/metrics/utils.py).
    """
    return float(_scorer().score(reference, answer)["rougeL"].recall)


@cache
def _scorer() -> "RougeScorer":
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=True)
