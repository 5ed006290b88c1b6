"""The last digits of a number, told apart from it: "ends in 6789", "the last four are 6789".

Owns the words that introduce them, and which digits repeat the end of a number that is masked. Knows nothing of how
numbers are found.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Source, words
from clinaudit.audit.pii.taxonomy import categories

#: A number of so many digits is told by its last four; shorter ones are searched for whole.
_FEWEST_DIGITS: Final = 7
_TOLD: Final = 4
_COUNTS: Final = {"three": 3, "3": 3, "four": 4, "4": 4, "five": 5, "5": 5, "six": 6, "6": 6}
_DIGITS: Final = r"(?P<value>\d(?:[ .-]?\d){2,5})(?!\w|[.,/]\d|\s?(?:mg|mcg|ml|mm|cm|kg|lbs?|units?|%))"
_LAST: Final = words(
    rf"\b(?:last|final)[\s-](?P<count>three|four|five|six|[3-6])\b(?:\s(?:digits?|numbers?|figures?|nos?\.?))?"
    rf"(?:\s(?:of|on|for)\s[^.;\n\d]{{1,40}}?)?[\s:=#]{{1,3}}(?:(?:is|are|was|were|being)\s)?[:=#]?\s?{_DIGITS}"
)
_ENDS: Final = words(
    rf"\b(?:ends?|ending|ended)(?:\s(?:in|with|on|by))?(?:\sthe\sdigits)?[\s:#]{{1,3}}[x*.…-]{{0,6}}{_DIGITS}"
)
#: What has digits at its end that somebody would tell; a year ends nothing else.
_OF_A_NUMBER: Final = words(
    r"\b(?:ssn|social|card|visa|mastercard|amex|account|acct|numbers?|no|phone|cell|mobile|tel|fax|mrn|record|id|policy"
    r"|member|plan|licen[cs]e|passport|serial|device|vin|plate|digits?|badge|code)\b|<[A-Z_]+_\d+"
)
_BEFORE_CHARS: Final = 80
#: Digits hidden but for the last: "xxxx-6789", "****6789", "...6789". A long row of signs is tried once, as a whole.
_HIDDEN: Final = re.compile(
    r"(?:(?<![\w*•#])|(?<=\w)(?=[•#]))(?:[xX*•#]{2,}+[- ]?){1,4}(?P<value>\d{3,6})(?!\w|[.,/]\d)"
)
_FOUR: Final = re.compile(
    r"(?<!\d)(?<!\d[.,/:-])(?<![A-WYZa-wyz$])\d{4}(?!\w|[.,/:-]\d|\s?(?:mg|mcg|ml|mm|cm|kg|g|lbs?|units?|%|kcal|cal|cc|hours|hrs))"
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


class LastDigits:
    """Finds the last digits of a number by the words that introduce them."""

    name = "last digits"

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield the digits."""
        for match in source.matches(_LAST, ("last", "final")):
            if sum(map(str.isdigit, match["value"])) == _COUNTS[match["count"].lower()]:
                yield self._span(match)
        for match in source.matches(_ENDS, ("end",)):
            if _OF_A_NUMBER.search(source.text, max(0, match.start() - _BEFORE_CHARS), match.start()):
                yield self._span(match)
        for match in _HIDDEN.finditer(source.text):
            yield self._span(match)

    def _span(self, match: "re.Match[str]") -> EntitySpan:
        return EntitySpan(*match.span("value"), "other_code", self.name)


def ends_of(values: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the last four digits of each long number among (text, category), with the category; no plausible year."""
    found: dict[str, str] = {}
    for written, category in values:
        if category is None or categories()[category].type != "CODE":
            continue
        digits = "".join(character for character in written if character.isdigit())
        if len(digits) >= _FEWEST_DIGITS and not _YEAR.fullmatch(digits[-_TOLD:]):
            found.setdefault(digits[-_TOLD:], category)
    return found


def find_ends(text: str, ends: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    """Yield where such digits stand by themselves, as a number of four figures without a unit, and their category."""
    if ends:
        for match in _FOUR.finditer(text):
            if match[0] in ends:
                yield *match.span(), ends[match[0]]
