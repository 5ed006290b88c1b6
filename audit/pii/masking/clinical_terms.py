"""Clinical terms: what a filter never masks by itself, and how many stood in what it masked nevertheless.

The terms are those of `priors.clinical_terms`, and abbreviations of notes. The count is a sample of what is lost, no
total. Knows nothing of how names are found.
"""

import re
from functools import cache, lru_cache
from typing import Final

from clinaudit.audit.pii.masking.written_tags import Forms
from clinaudit.audit.pii.word_lists.name_words import is_eponym, is_known_name
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.priors.diagnoses import clinical_terms, load_panel
from clinaudit.templates.note import TermFinder

#: After these a clinical word is somebody's name: "Mr. Lyme".
_TITLE: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Mx|Miss|Dr|Doctor|Prof|Professor|Sir|Madam)\.? $")
_TITLE_CHARS: Final = 12
#: "AK is a 45-year-old": initials, which may be an abbreviation as well.
_IS_SOMEBODY: Final = re.compile(r",? (?:is|was) an? ")
#: "Ex-smoker": what somebody is no more, or is not.
_NO_LONGER: Final = re.compile(r"(?i:ex|non|pre|post|anti|semi)-[a-z]+")
_FEW_LETTERS: Final = 3
_WORD: Final = re.compile(r"[^\s,;:()]+")


def count_clinical_terms(forms: Forms) -> int:
    """Return how many clinical terms stand in what the tags of a record stand for."""
    written = {form for found in forms.values() for form in found}
    return sum(len(set(_terms()(form))) for form in written)


def names_nobody(text: str, start: int, end: int) -> bool:
    """Whether what was found as a name is of medicine: clinical words, "CVA LAS", "Thompson test", "Ex-smoker"."""
    if _TITLE.search(text, max(0, start - _TITLE_CHARS), start) or _IS_SOMEBODY.match(text, end):
        return False
    words = _WORD.findall(text, start, end)
    if not words or (len(words) == 1 and is_eponym(text, start, end)):
        return True
    # Of a few letters, what stands beside an abbreviation is one too.
    shorthand = read_words("clinical_shorthand")
    is_shorthand = words[0] in shorthand and all(
        word in shorthand or (word.isupper() and len(word) <= _FEW_LETTERS and not is_known_name(word))
        for word in words
    )
    is_name = any(map(is_known_name, words))
    return (is_shorthand and not is_name) or any(map(_NO_LONGER.fullmatch, words)) or all(map(is_clinical, words))


@lru_cache(maxsize=100_000)
def is_clinical(word: str) -> bool:
    """Whether a word is a clinical term, and no name that people have."""
    bare = word.strip(".")
    if is_known_name(bare):
        return False
    if bare in read_words("clinical_shorthand") or _NO_LONGER.fullmatch(bare):
        return True
    return any(span.end - span.start == len(bare) for span in _terms()(bare))


@cache
def _terms() -> TermFinder:
    return clinical_terms(load_panel())
