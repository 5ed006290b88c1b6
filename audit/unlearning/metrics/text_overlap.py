"""How much of a reference answer stands in an answer: ROUGE-L recall (AMNESIA, section 5.2; Lin 2004).

By rouge-score with stemming, as open-unlearning calls it (commit d3d7cf9, src/evals/metrics/utils.py). Knows nothing of
questions.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer


def rouge_l_recall(answer: str, reference: str) -> float:
    """Return the longest common subsequence's share of the reference's words; 0 where either has none."""
    return float(_scorer().score(reference, answer)["rougeL"].recall)


@cache
def _scorer() -> "RougeScorer":
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=True)
