"""Token entropy: whether an answer repeats itself (AMNESIA, section 5.2, after Yuan et al. 2024).

Owns the formula, over token ids or, where a model was asked over a protocol that gives none, over words. Knows nothing
of models.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def token_entropy(tokens: Sequence[Hashable]) -> float | None:
    """Return -sum(f log f) / log n over the distinct tokens' shares f of n tokens; 0 where all are equal, at most 1.

    None below two tokens: log n is then 0, or there is nothing.
    """
    count = len(tokens)
    if count < 2:
        return None
    times = Counter(tokens).values()
    if len(times) == 1:
        # Exactly 0, by which the degradation score counts.
        return 0.0
    # log n - (sum c log c) / n, the same sum with fewer roundings.
    return min(1.0, 1.0 - sum(time * math.log(time) for time in times) / (count * math.log(count)))
