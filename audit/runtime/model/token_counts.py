"""How likely texts are by counts of tokens alone: what a model that has learned anything of such texts surpasses."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import NamedTuple

Ids = Sequence[int]


class CountedLikelihood(NamedTuple):
    """Mean ln p of texts' tokens after the first, by how often tokens stand in other texts, and by how often pairs."""

    of_tokens: float
    of_pairs: float


def likelihood_by_counts(texts: Sequence[Ids], others: Sequence[Ids], *, vocabulary: int) -> CountedLikelihood:
    """Return how likely `texts` of two tokens or more are by the counts in `others`.

    Each token of the vocabulary counts half a time more (Jeffreys' prior). Pairs are smoothed by their second token: a
    token that many different ones follow says less of the next (Witten and Bell 1991).
    """
    tokens = Counter(token for text in others for token in text)
    pairs = Counter(pair for text in others for pair in pairwise(text))
    begun, followers = Counter[int](), Counter[int]()
    for (first, _), count in pairs.items():
        begun[first] += count
        followers[first] += 1
    total = tokens.total() + vocabulary / 2
    by_tokens, by_pairs = [], []
    for first, second in (pair for text in texts for pair in pairwise(text)):
        alone = (tokens[second] + 0.5) / total
        seen = begun[first] + followers[first]
        by_tokens.append(log(alone))
        by_pairs.append(log((pairs[first, second] + followers[first] * alone) / seen if seen else alone))
    return CountedLikelihood(sum(by_tokens) / len(by_tokens), sum(by_pairs) / len(by_pairs))
