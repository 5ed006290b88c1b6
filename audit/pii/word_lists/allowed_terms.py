"""Words that look like people's names and are none: eponyms of medicine, drugs, devices.

Owns the reading of `allowed_terms.txt`. Knows nothing of how names are found.
"""

from functools import cache, lru_cache

from clinaudit.audit.pii.values.normal_form import fold_words
from clinaudit.audit.pii.word_lists.reading import read_lines


@cache
def allowed_terms() -> frozenset[str]:
    """Return the terms, folded: in lower case, without accents and apostrophes."""
    return frozenset(fold_words(term) for term in read_lines("allowed_terms"))


@lru_cache(maxsize=100_000)
def is_allowed(text: str) -> bool:
    """Whether a text is one of the terms; "Parkinson's" is, as "Parkinson" is."""
    folded = fold_words(text)
    return folded in allowed_terms() or folded.removesuffix("s") in allowed_terms()
