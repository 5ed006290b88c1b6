"""What a drug is given for, where its sentence says so: for another reason it is no sign of the diagnosis.

Owns where a reason stands (`[purpose]` of `cues.toml`), and which words are none ("for years").
"""

from typing import Final

from clinaudit.audit.measures.judge.lexicon.cues import CUE_TABLES, Clause
from clinaudit.templates.spans import Span

_WORDS: Final = {name: frozenset(words.split()) for name, words in CUE_TABLES["purpose"].items()}
#: Words between a drug and its reason at most [choice]: dose, way and times.
_FARTHEST: Final = 14


def is_given_for_another(clause: Clause, drug: Span, *, only_listed: bool) -> bool:
    """Return whether a clause says that a drug, a half-open span of tokens, is given for something else.

    `only_listed`: by a condition of the table alone. Example: "lamotrigine 100 mg bd for focal epilepsy".
    """
    return _follows(clause.words, drug, only_listed) or _goes_before(clause, drug)


def _follows(words: tuple[str, ...], drug: Span, only_listed: bool) -> bool:
    for at in range(drug.end, min(len(words), drug.end + _FARTHEST)):
        word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
        if word == ",":
            if following not in _WORDS["after_comma"]:
                return False
        elif word in "(-:–":
            if _WORDS["conditions"].intersection(words[at + 1 : at + 3]):
                return True
            if following not in _WORDS["introduce"] | _WORDS["after_comma"]:
                return False
        elif word in (";", "+", "and", "&", "but"):
            # The reason may be that of what stands beside it.
            return False
        elif word in _WORDS["introduce"]:
            reason = _reason(words, at + 1, only_listed)
            if reason is not None:
                return reason
        elif word in _WORDS["introduce_listed"]:
            if _WORDS["conditions"].intersection(words[at + 1 : at + 6]):
                return True
        elif word in _WORDS["conditions"] and at - drug.end <= 1:
            return True
    return False


def _reason(words: tuple[str, ...], start: int, only_listed: bool) -> bool | None:
    """Return whether words give another reason; None where they give none ("for years")."""
    for at, word in enumerate(words[start : start + 7]):
        if word in _WORDS["of_the_mind"]:
            return False
        if word in _WORDS["conditions"]:
            return True
        if at < 2 and (word in _WORDS["times"] or word[0].isdigit()):
            return None
        if word in (",", ";", ")", "and", "but"):
            break
    if only_listed:
        return None
    first = next((word for word in words[start : start + 4] if word not in _WORDS["before"]), "")
    return first[:1].isalpha() or None


def _goes_before(clause: Clause, drug: Span) -> bool:
    """Whether a condition that the drug is not listed for stands before it: "Epilepsy: on lamotrigine"."""
    words = clause.words
    for at in range(drug.start - 1, max(-1, drug.start - _FARTHEST), -1):
        if words[at] in (";", "but", "."):
            return False
        if words[at] in _WORDS["conditions"]:
            linked = words[at + 1 : drug.start]
            return bool(_WORDS["joins"].intersection(linked)) and "," not in linked and "and" not in linked
    return False
