"""Words that look like people's names and are none: eponyms of medicine, drugs, devices.

Owns the reading of `allowed_terms.txt`. Knows nothing of how names are found.
"""

from functools import cache
from importlib.resources import files

from clinaudit.audit.pii.values import fold_words


@cache
def allowed_terms() -> frozenset[str]:
    """Return the terms, folded: in lower case, without accents and apostrophes."""
    lines = files(__package__).joinpath("allowed_terms.txt").read_text("utf-8").splitlines()
    terms = (line.partition("#")[0].strip() for line in lines)
    return frozenset(fold_words(term) for term in terms if term)


def is_allowed(text: str) -> bool:
    """Whether a text is one of the terms; "Parkinson's" is, as "Parkinson" is."""
    folded = fold_words(text)
    return folded in allowed_terms() or folded.removesuffix("s") in allowed_terms()
