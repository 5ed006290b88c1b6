"""Dates, told apart by their label into birth dates, dates of a visit and others; times of day and durations.

Dates are those that `audit.pii.values.dates_in_text` finds. A year alone is no identifier (45 CFR 164.514(b)(2)(i)(C)).
"""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Rule, RuleTable, Source, words
from clinaudit.audit.pii.values.dates_in_text import find_dates

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
    " sec",
    " min",
    " hour",
    " hr",
    " day",
    " week",
    " wk",
    " month",
    " mo",
    " year",
    " yr",
    " decade",
)
_NO_AGE = r"(?![\s-]old|[\s-]of[\s-]age)"
#: A figure with which a time begins; the rest follows as it reads.
_DIGIT = r"[0-9](?<![\d:./].)"
#: What is told as "1:10" and is no time.
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


def times() -> RuleTable:
    """Return the recognizer of times of day and of durations."""
    return RuleTable(
        "times",
        (
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
        ),
    )
