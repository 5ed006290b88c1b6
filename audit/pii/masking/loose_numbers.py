"""Telephone numbers that the audit takes for none, and the last digits of a number, apart from it.

Telephone numbers without an area code and a label, and with letters for figures; "ends in 6789", "the last four are
6789", and the digits that repeat the end of a number that is masked.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.detectors.word_lists import CLOSE, KIN, read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories

#: Whose number seven figures are, or what says that they are one, in the same sentence.
_BY_SOMEBODY: Final = words(
    rf"(?:\b(?:{KIN}|{CLOSE})|\b(?:mr|mrs|ms|dr|patient|pt|nurse|contact|call|number|[ch])\b\.?)(?:[^.;\n\d]{{0,40}})$"
)
_BEFORE_CHARS: Final = 60
_UNIT_AFTER: Final = (
    r"\s?(?:mg|mcg|m[lL]|units?|kcal|cal|%|cells|copies|steps|IU|U/L|ng|pg|mmol|meq|x10|feet|ft|lbs?|kg)"
)
_SENTENCE_END: Final = re.compile(r"[.;\n]\s")
_WORD: Final = re.compile(r"[a-z][\w/-]*")


def _is_telephone(match: "re.Match[str]") -> bool:
    """Whether three and four figures are a telephone number: with a hyphen unless a measure stands before them.

    With a blank or a full stop only after somebody.
    """
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    sentence = _SENTENCE_END.split(before)[-1]
    if match["mark"] != "-":
        return _BY_SOMEBODY.search(sentence) is not None
    # No range begins its upper end with a nought.
    return match["last"].startswith("0") or read_words("measures").isdisjoint(_WORD.findall(sentence.lower()))


#: A number of so many digits is recognized by its last four; shorter ones are searched for whole.
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
_BEFORE_DIGITS_CHARS: Final = 80
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
            if _OF_A_NUMBER.search(source.text, max(0, match.start() - _BEFORE_DIGITS_CHARS), match.start()):
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


LOOSE_PHONES: Final = RuleTable(
    "loose phones",
    # "Sister Ola, 555-0134".
    Rule(
        "phone",
        re.compile(
            r"(?<![\w.,/+-])(?<!\d[ ])[2-9]\d{2}(?P<mark>[-. ])(?P<last>\d{4})"
            rf"(?![\w/-]|[.,]\d|{_UNIT_AFTER})"
        ),
        (),
        _is_telephone,
    ),
    # "1-800-FLOWERS": free of charge (North American Numbering Plan), and so rarely anything else.
    Rule(
        "phone",
        re.compile(
            r"(?<![\w.-])(?:\+?1[-. ]?)?\(?(?:8(?:00|33|44|55|66|77|88)|900)\)?[-. ]?(?=[A-Z0-9-]*[A-Z]{3})"
            r"[A-Z0-9]{2,10}(?:-[A-Z0-9]{2,10}){0,3}(?!\w)"
        ),
        ("800", "833", "844", "855", "866", "877", "888", "900"),
    ),
    # "Call 555-HELP".
    Rule(
        "phone",
        re.compile(
            r"(?i:\b(?:call|phone|tel|text|dial|reach(?:ed)?|cell|number|at))\b[\s:.#]{1,3}"
            r"(?:(?:is|him|her|them|at|on)[ ]){0,2}"
            r"(?P<value>(?:\(?\d{3}\)?[-. ])?(?:\d{3}[-. ][A-Z]{4}|[A-Z]{3}[-. ]\d{4}))(?!\w)"
        ),
        ("call", "phone", "tel", "text", "dial", "reach", "cell", "number", "at"),
    ),
)
