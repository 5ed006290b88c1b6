"""Telephone and fax numbers: a shape that may be one, asked of `phonenumbers`, or a number after a label.

The library alone is slow and takes laboratory values for numbers: it is asked of shapes that people write as numbers.
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Source, words

_EXTENSION = r"(?:,?\s?(?:x|ext\.?|extension)\s?\d{1,6})?"
#: Three groups as in the United States, with any country code of it; groups are set apart, or the first is in brackets.
_AMERICAN = words(
    r"(?<![\w.+/-])(?<!\d[ )])(?:(?:\+|00)?1[\s.-]{0,2})?"
    r"(?:\([2-9]\d\d\)\s?[.-]?\s?\d{3}[\s.-]{0,2}\d{4}|[2-9]\d\d(?P<mark>[ .-]|\s-\s)\d{3}(?P=mark)\d{4}|[2-9]\d\d/\d{3}-\d{4})"
    rf"(?![\w]|[.-]\d){_EXTENSION}"
)
_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)(?:\(?[0-9]\)?[ .()/-]{0,2}){8,15}(?![0-9])")
_LABELLED = words(
    r"\b(?P<label>(?:tele)?phones?|tel|cell(?:ular)?|mobile|pager|beeper|call(?:ed|ing)?|contact|reach(?:ed)?|fax(?:es|ed)?"
    r"|facsimile|ph|hotline|text(?:ed)?|voicemail|home|work|office|main|direct|clinic|nurse line)\b"
    r"(?:\s(?:number|num|no|line|phone|him|her|them|me|us|at|on|is|was|to|ext)\b\.?){0,4}\s{0,2}(?:\((?:c|h|w|m)\))?[:#=]?\s{0,2}"
    rf"(?P<value>(?:\+?1[\s.-]?)?(?:\(?\d{{3}}\)?[\s./-]{{0,2}})?\d{{3}}[\s.-]?\d{{4}}(?!\d|[.-]\d){_EXTENSION}"
    r"|(?<=x\s)\d{4,5}\b)"
)
_PAGER = words(
    r"\b(?:pager|beeper|ext(?:ension)?|x)\b\.?\s?(?:number|no\.?|#)?\s{0,2}[:#]?\s{0,2}(?P<value>\d{4,6})\b(?![./-]\d)"
)
_FAX = words(r"\b(?:fax|facsimile|f)\b(?:\s(?:number|num|no|line|to|at|is)\b\.?){0,3}[\s:#.(]{0,4}$")
#: How far before a number the word `fax` is looked for, in characters.
_LABEL_CHARS: Final = 24
_DIGITS = re.compile(r"\d")


class PhoneRecognizer:
    """Finds telephone and fax numbers."""

    name = "phones"
    categories = frozenset({"phone", "fax"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield every number of the text."""
        text = source.text
        for match in _AMERICAN.finditer(text):
            if _is_number(match[0]):
                yield self._span(text, *match.span())
        if "+" in text or "00" in text:
            for match in _INTERNATIONAL.finditer(text):
                if _is_number(match[0]):
                    end = match.end() - (len(match[0]) - len(match[0].rstrip(" .()/-")))
                    yield self._span(text, match.start(), end)
        for match in _LABELLED.finditer(text):
            yield self._span(text, *match.span("value"))
        if source.holds(("pager", "beeper", "ext", "x")):
            for match in _PAGER.finditer(text):
                yield self._span(text, *match.span("value"))

    def _span(self, text: str, start: int, end: int) -> EntitySpan:
        is_fax = _FAX.search(text[max(0, start - _LABEL_CHARS) : start])
        return EntitySpan(start, end, "fax" if is_fax else "phone", self.name)


def _is_number(written: str) -> bool:
    """Whether a telephone could ring at it, as far as the plan of its country says."""
    import phonenumbers

    if not 7 <= len(_DIGITS.findall(written)) <= 21:
        return False
    try:
        parsed = phonenumbers.parse("+" + written[2:] if written.startswith("00") else written, "US")
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_possible_number(parsed)
