"""Privacy of a masked text, and its balance with utility (PII-Bench, F.2, Table 8).

Owns both formulas. Knows nothing of who masks, nor of how utility is measured (utility.py). P counts strings and not
information: what can be guessed from what is left is measured in residual_inference.py.
"""

from collections.abc import Collection
from typing import Final

from clinaudit.audit.pii.benchmark.privacy.masked_text import find_occurrences
from clinaudit.audit.pii.benchmark.scoring.matching import comparable_text

#: The weight of privacy against utility (F.2.3), and the weights of the curve.
ALPHA: Final = 0.5
ALPHAS: Final = tuple(step / 10 for step in range(11))


def privacy_score(entities: Collection[str], original: str, masked: str) -> float | None:
    """Return P, 1 less the share of the entities' occurrences that are left (Eq. 17); None where none stood.

    It is negative where a masked text names an entity more often than the original. Texts are compared after NFKC.
    """
    texts = {comparable_text(entity) for entity in entities}
    stood = len(find_occurrences(texts, comparable_text(original)))
    return 1 - len(find_occurrences(texts, comparable_text(masked))) / stood if stood else None


def balance_score(privacy: float, utility: float, *, alpha: float = ALPHA) -> float:
    """Return B = alpha P + (1 - alpha) U (Eq. 20)."""
    return alpha * privacy + (1 - alpha) * utility


def balance_curve(privacy: float, utility: float) -> list[tuple[float, float]]:
    """Return (alpha, B) for each weight: which strategy is best depends on it."""
    return [(alpha, balance_score(privacy, utility, alpha=alpha)) for alpha in ALPHAS]
