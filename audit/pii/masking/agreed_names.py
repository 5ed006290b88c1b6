"""People and places that a language model names, where what stands beside them agrees.

The model was trained on news: in a note it takes a heading, a finding or an abbreviation for somebody. Its word counts
where a person or a place is spoken of, and never for clinical words. Knows nothing of the model.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.masking.clinical_terms import is_clinical
from clinaudit.audit.pii.recognizers.rule import words
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.word_lists.allowed_terms import is_allowed
from clinaudit.audit.pii.word_lists.relatives import CLOSE, KIN

_CHARS: Final = 50
#: Written in capitals throughout, so short a word is an abbreviation.
_LONGEST_ABBREVIATION: Final = 5
#: Before any name, of one word or more.
_SURE_BEFORE: Final = words(
    rf"\b(?:mr|mrs|ms|miss|dr|prof|sir|madam|{KIN}|{CLOSE}|(?:let|told|tell|asked|saw|met|meet|named|called|thank|dear|hi|hello"
    r"|hey|cc|nurse|known\sas|me\sdown\sas|call\sme|it['’]s|i\sam|i['’]m|this\sis|name\sis|write|by|spoke\s(?:to|with)"
    r"|discussed\s(?:this\s)?with|(?:me|him|her)\sas))\.?,?[ ]$"
)
_SURE_AFTER: Final = words(
    r"(?:,?[ ](?:who|whom|whose)\b|[ ](?:said|says|reports?|reported|states|stated|denies|denied|lives|lived|works"
    r"|worked|wants|likes|calls|asks|asked|told|tells|agreed|agrees|came|comes|writes?|wrote|writing|speaking|here)\b"
    r"|[ ]and[ ](?:his|her)[ ]|[ ]is[ ](?:an?|my|his|her|our|\d+)\b"
    r"|['’]s[ ](?:wife|husband|mother|father|son|daughter|care|case)\b)"
)
#: Before or after two words or more.
_BEFORE: Final = words(
    r"(?:[:(>\[\"“]\s?|\]\s|\b(?:as|of|with|for|to|from|about|and|or|that|concerning|regarding|re|is|was|see|seeing|seen|refer"
    r"|than|because|but|if|while|after|before|since|when)[ ])$"
)
_AFTER: Final = words(
    r"(?:['’]s\b|:|,?[ ](?:is|was|has|had|will|would|and|also|presents?|presented|attended|remains)\b"
    r"|,[ ](?:an?|the|my|his|her|\d|born|dob|aged?)|[ ]\((?:\d|dob|mrn|he|she|they))"
)
_BEFORE_PLACE: Final = words(r"\b(?:in|near|from|at|to|outside|around|visit(?:s|ed|ing)?|via|through|of)[ ]$")
_WORD: Final = re.compile(r"[^\s,.;:()]+")


class AgreedNames:
    """Finds the people and places of a language model with which a rule of context agrees."""

    name = "a language model, where the context agrees"

    def __init__(self, named: Callable[[str], Iterable[EntitySpan]]) -> None:
        """`named` returns what the model names in a text, in any order."""
        self._named = named

    def detect(self, text: str) -> list[EntitySpan]:
        """Return the spans of a text by start; who is spoken of as a person is one, whatever the model calls them."""
        named = ((span, _agreed(text, span)) for span in self._named(text))
        return sorted(EntitySpan(span.start, span.end, kind, span.found_by) for span, kind in named if kind is not None)


def _agreed(text: str, span: EntitySpan) -> str | None:
    found = _WORD.findall(text, span.start, span.end)
    if not text[span.start].isupper() or any(map(_is_of_a_note, found)):
        return None
    begin = max(0, span.start - _CHARS)
    if categories()[span.category].type == "LOC" and _BEFORE_PLACE.search(text, begin, span.start):
        return span.category
    cues = [(_SURE_BEFORE, _SURE_AFTER), (_BEFORE, _AFTER)][: len(found)]
    agrees = any(before.search(text, begin, span.start) or after.match(text, span.end) for before, after in cues)
    return "full_name" if agrees else None


def _is_of_a_note(word: str) -> bool:
    """Whether a word is clinical or an abbreviation."""
    is_short = word.isupper() and 1 < len(word) <= _LONGEST_ABBREVIATION
    return is_short or is_clinical(word) or is_allowed(word)
