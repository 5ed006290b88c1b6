"""Privacy, utility and balance of a masked text (PII-Bench, F.2, Table 8).

Owns the three formulas. Knows nothing of who masks and who answers. P counts strings and not information: what can be
guessed from what is left is measured in residual_inference.py.
"""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from clinaudit.audit.pii.benchmark.masked_text import find_occurrences
from clinaudit.audit.pii.benchmark.matching import comparable_text

#: The weight of privacy against utility (F.2.3), and the weights of the curve.
ALPHA: Final = 0.5
ALPHAS: Final = tuple(step / 10 for step in range(11))
#: A judge's ratings (F.2.2).
LOWEST_RATING: Final = 1
HIGHEST_RATING: Final = 10


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of the entities' occurrences that are left (Eq. 17); None where none stood.

    It is negative where a masked text names an entity more often than the original. Texts are compared after NFKC.
    """
    texts = {comparable_text(entity) for entity in entities}
    stood = len(find_occurrences(texts, comparable_text(original)))
    return 1 - len(find_occurrences(texts, comparable_text(masked))) / stood if stood else None


def cosine_similarity(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of two answers' embeddings (Eq. 18); raises `ValueError` for one without a direction."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    if not norms:
        raise ValueError("an embedding of zeros has no direction")
    return float(a @ b) / norms


def utility_score(similarity: float, rating: float) -> float:
    """Return U, the mean of the answers' cosine and of the judge's rating put on 0 to 1 **[choice]**.

    PII-Bench names both parts (Eqs. 18 and 19) and not how they are combined. Nothing masked has U = 1 by definition.
    Raises `ValueError` for a rating outside 1 to 10.
    """
    if not LOWEST_RATING <= rating <= HIGHEST_RATING:
        raise ValueError(f"a rating is from {LOWEST_RATING} to {HIGHEST_RATING}")
    return (similarity + (rating - LOWEST_RATING) / (HIGHEST_RATING - LOWEST_RATING)) / 2


def balance_score(privacy: float, utility: float, *, alpha: float = ALPHA) -> float:
    """Return B = alpha P + (1 - alpha) U (Eq. 20)."""
    return alpha * privacy + (1 - alpha) * utility


def balance_curve(privacy: float, utility: float, *, alphas: Sequence[float] = ALPHAS) -> list[tuple[float, float]]:
    """Return (alpha, B) for each weight: which strategy is best depends on it."""
    return [(alpha, balance_score(privacy, utility, alpha=alpha)) for alpha in alphas]
