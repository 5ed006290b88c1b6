"""Dates, sorted by their label into birth dates, dates of a visit and others; times of day, durations, ages.

Dates are those that `audit.pii.values.dates_in_text` finds. A year alone is no identifier, an age over 89 is a direct
one (45 CFR 164.514(b)(2)(i)(C)).
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.detectors.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.values.dates_in_text import find_dates
from clinaudit.audit.pii.values.normal_form import SPELLED_NUMBER, read_number

#: How far before a date its label is looked for, in characters.
_LABEL_CHARS: Final = 48
_BETWEEN = r"(?:\s{0,3}(?:is|was|were|on|of|in|at|the)\b){0,3}[\s:=#,(-]{0,4}(?:\w{3,9}day,?\s{1,2})?$"
_OF_BIRTH = words(rf"\b(?:d\.?\s?o\.?\s?b\.?|dates? of birth|birth\s?-?dates?|birthdays?|born)\)?{_BETWEEN}")
_OF_VISIT = words(
    r"\b(?:admi(?:t(?:ted)?|ssion)|discharged?|visit(?:ed)?|encounter|service|d\.?o\.?s\.?|seen"
    r"|presented|appointment|appt"
    r"|surgery|procedure|operation|consult(?:ation)?|transferred|evaluated|hospitali[sz]ed|follow"
    r"(?:ed)?[- ]?up|reviewed"
    rf"|expired|died|deceased|death)(?:\s(?:dates?|time|day|again|back|here|today))?(?:\s/\s?time)?{_BETWEEN}"
)
_UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|mos?|years?|yrs?|decades?)"
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|few)"
_UNIT_TRIGGERS: Final = (
    *(" sec", " min", " hour", " hr", " day", " week", " wk", " month", " mo", " year", " yr", " decade"),
)
_NO_AGE = r"(?![\s-]old|[\s-]of[\s-]age)"
#: A figure with which a time begins; the rest follows as it reads.
_DIGIT = r"[0-9](?<![\d:./].)"
#: What is written as "1:10" and is no time.
_RATIO = words(
    r"\b(?:ratio|dilut(?:ed|ion)|titer|titre|i:e|epinephrine|lidocaine|bupivacaine|ana)\b(?:\s(?:of|is|was|at|to|with|titer|positive))*[\s:]{0,2}$"
)
_HALF = r"(?:\s?(?i:[ap]\.\s?m\.|[ap]m\b))"


class DateRecognizer:
    """Finds dates, and says by the label before each what it is of."""

    name = "dates"
    categories = frozenset({"date", "birth_date", "admission_date"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield every date of the text."""
        text = source.text
        for found in find_dates(text):
            before = text[max(0, found.start - _LABEL_CHARS) : found.start]
            category = "date"
            if _OF_BIRTH.search(before):
                category = "birth_date"
            elif _OF_VISIT.search(before):
                category = "admission_date"
            yield EntitySpan(found.start, found.end, category, self.name)


#: Ages up to this one may stand in a text that Safe Harbor calls de-identified.
OLDEST_PLAIN_AGE: Final = 89
#: Of people.
OLDEST: Final = 125
_NUMBER = rf"(?:\d{{1,3}}|{SPELLED_NUMBER})"
#: A pattern, and what a text must hold for it to be tried.
_FORMS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (words(rf"(?<![\w.])(?P<value>{_NUMBER}-(?:years?|yrs?)[-\s]old)"), ("old",)),
    (words(r"(?<![\w.])(?P<value>\d{1,3}-(?:months?|weeks?|days?)[-\s]old)"), ("old",)),
    # The number alone where it is a word of its own: the shortest text that gives the age.
    (
        words(rf"(?<![\w.])(?P<value>{_NUMBER})(?:\s|(?<=\d))(?:years?|yrs?|y\.?)[\s-]{{0,2}}(?:old|o\b|of age)"),
        ("old", "yo", "y o", "of age", "y.o", "y-o"),
    ),
    (words(r"(?<![\w.])(?P<value>\d{1,3})\s?(?:y/o|yrs?/o)"), ("/o",)),
    (words(r"(?<![\w.])(?P<value>\d{1,3}\s(?:months?|weeks?|days?|mo|wk)) old"), (" old",)),
    (re.compile(r"(?P<value>[1-9](?<![\w./-].)\d)(?=\s?[MF]\b(?![/-]))"), ()),
    (
        words(rf"\bage[ds]?(?:\s?\(years\)|\s(?:is|of|was))?\s?[:=]?\s{{0,2}}(?P<value>{_NUMBER})\b(?!\s?[/%.]\d)"),
        ("age",),
    ),
    (words(rf"\bat the age of (?P<value>{_NUMBER})\b"), ("age of",)),
    (words(rf"\bturn(?:s|ed|ing)\s(?P<value>{_NUMBER})\b"), ("turn",)),
    (words(rf"\b(?P<value>{_NUMBER}[-\s]?(?:st|nd|rd|th)) birthday"), ("birthday",)),
)
_VERY_OLD = words(
    r"\b(?:nonagenarian|(?:super)?centenarian|in (?:his|her|their) (?:(?:late|early|mid)[- ])?(?:9|10|11)0'?s)\b"
)
_IN_YEARS = re.compile(r"month|week|day|mo\b|wk", re.IGNORECASE)


class AgeRecognizer:
    """Finds ages."""

    name = "ages"
    categories = frozenset({"age", "age_over_89"})

    def find(self, source: Source) -> Iterator[EntitySpan]:
        """Yield every age of the text."""
        for regex, triggers in _FORMS:
            for match in source.matches(regex, triggers):
                age = read_number(match["value"])
                if age is None or age > OLDEST:
                    continue
                over = age > OLDEST_PLAIN_AGE and not _IN_YEARS.search(match["value"])
                yield EntitySpan(*match.span("value"), "age_over_89" if over else "age", self.name)
        for match in source.matches(_VERY_OLD, ("genarian", "0s", "0's", "centenarian")):
            yield EntitySpan(*match.span(), "age_over_89", self.name)


TIMES: Final = RuleTable(
    "times",
    Rule(
        "time",
        re.compile(rf"{_DIGIT}(?:(?<=[01])\d|(?<=2)[0-3])?:[0-5]\d(?::[0-5]\d)?(?!\d|:\d){_HALF}?"),
        (),
        lambda match: _RATIO.search(match.string, max(0, match.start() - _LABEL_CHARS), match.start()) is None,
    ),
    Rule("time", re.compile(rf"{_DIGIT}(?:(?<=1)[0-2]|(?<=0)[1-9])?{_HALF}")),
    Rule("time", words(r"\b(?:[01]\d|2[0-3])[0-5]\d\s?(?:hrs|hours)\b"), ("hrs", "hours")),
    Rule("time", words(r"\b(?:noon|midnight|\d{1,2} o'clock)\b"), ("noon", "midnight", "o'clock")),
    # "130/85 HR 90" is a heart rate.
    Rule(
        "duration",
        re.compile(
            rf"[0-9](?<![\w.].)\d{{0,2}}(?:\.\d)?(?:\s?(?:-|–|to|or)\s?\d{{1,3}})?[\s-](?!HR\b)(?i:{_UNIT})\b{_NO_AGE}"
        ),
    ),
    Rule("duration", words(rf"\b{_COUNT}[\s-]{_UNIT}\b{_NO_AGE}"), _UNIT_TRIGGERS),
)
