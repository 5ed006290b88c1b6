"""Names in small letters where words call for one: "pt john smith", "daughter maria called", "spoke with fatima".

A common given name must stand there; a last name after it is taken along. Without such words nothing is found: many
names are words as well. Knows nothing of masking.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Source
from clinaudit.audit.pii.word_lists.name_words import is_word
from clinaudit.audit.pii.word_lists.reading import read_words
from clinaudit.audit.pii.word_lists.relatives import CLOSE, KIN

_WORD: Final = r"[a-z][a-z'’-]{1,20}"
#: Looked for from each word on: in "with nurse kelly" two words call for a name.
_NAMES: Final = rf"(?=(?P<value>{_WORD}(?:[ ][a-z]\.?(?=[ ]))?(?:[ ]{_WORD}){{0,2}})(?![\w-]))"
_RELATIVE: Final = rf"(?:{KIN}s?|{CLOSE}|twins?|baby)"
_SPOKEN_TO: Final = (
    r"(?:(?:spoke|spoken|talked|speaking|talking|met|meet|discussed|reviewed|d/w|lives|living|came|here)\s(?:with|to)"
    r"|called|saw|told|asked|attn|cc|seen\sby|signed|sincerely|regards|from|per|nurse|rn|np|with)"
)
_PATTERNS: Final = (
    (
        "patient_name",
        re.compile(
            rf"(?i:\b(?:patient|pt\.?|client|name(?:\sis)?|named|this\sis|i\sam|i'm|mr\.?|mrs\.?|ms\.?|dear|hi|hello)(?!\w),?:?)"
            rf"[ ]{_NAMES}"
        ),
    ),
    ("relative_name", re.compile(rf"(?i:\b{_RELATIVE}\b,?:?(?:\s(?:is\s)?(?:named|called))?)[ ](?:\()?{_NAMES}")),
    ("full_name", re.compile(rf"(?i:\b{_SPOKEN_TO})[ :,]{{1,2}}{_NAMES}")),
    (
        "patient_name",
        re.compile(
            rf"(?<![\w-])(?P<value>{_WORD}[ ]{_WORD})"
            r"(?=,?[ ]\(?(?i:dob|d\.o\.b|mrn|ssn|born|aged?[ ]\d|\d{1,3}[ ]?y))"
        ),
    ),
)
#: A patient's whole name before an age or a date of birth; here no word must be a common given name.
_PATIENT: Final = re.compile(
    rf"(?i:\b(?:patient|pt\.?|client|name)(?!\w),?:?)[ ](?P<value>{_WORD}[ ]{_WORD})"
    r"(?=,[ ](?i:dob|mrn|aged?[ ]|\d{1,3}[ ]?(?:y|m|f)))"
)
_NAMED: Final = re.compile(rf"(?i:\b(?:named|nicknamed|name\sis))[ ](?P<value>{_WORD})(?![\w-])")
#: What somebody did, after their first and last name.
_VERB: Final = re.compile(r"[a-z]{3,}ed|rang|wrote|sat|stood|weighs")
_TOKEN: Final = re.compile(r"\S+")


class SmallNames:
    """Finds names in small letters."""

    name = "small names"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the names, up to the first word that is one of the language."""
        for category, regex in _PATTERNS:
            for match in source.matches(regex):
                first, *others = _TOKEN.finditer(source.text, *match.span("value"))
                if first[0].title() not in read_words("given_names"):
                    continue
                end = first.end()
                for word in others:
                    if is_word(word[0]) or (word is others[-1] and len(others) > 1 and _VERB.fullmatch(word[0])):
                        break
                    end = word.end()
                yield EntitySpan(first.start(), end, category, self.name)
        for match in source.matches(_NAMED, ("name",)):
            if not is_word(match["value"]):
                yield EntitySpan(*match.span("value"), "full_name", self.name)
        for match in source.matches(_PATIENT):
            if not any(map(is_word, match["value"].split())):
                yield EntitySpan(*match.span("value"), "patient_name", self.name)
