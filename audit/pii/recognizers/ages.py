"""Ages, in figures and in words; those over 89 are a direct identifier (45 CFR 164.514(b)(2)(i)(C))."""

import re
from collections.abc import Iterator
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.recognizers.rule import Source, words
from clinaudit.audit.pii.values.spelled_numbers import SPELLED_NUMBER, read_number

#: Ages up to this one may stand in a text that Safe Harbor calls de-identified.
OLDEST_PLAIN_AGE: Final = 89
_OLDEST: Final = 125
_NUMBER = rf"(?:\d{{1,3}}|{SPELLED_NUMBER})"
#: A pattern, and what a text must hold for it to be tried.
_FORMS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (words(rf"(?<![\w.])(?P<value>{_NUMBER}-(?:years?|yrs?)[-\s]old)"), ("old",)),
    (words(r"(?<![\w.])(?P<value>\d{1,3}-(?:months?|weeks?|days?)[-\s]old)"), ("old",)),
    # The number alone where it is a word of its own: the least that tells the age.
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
                if age is None or age > _OLDEST:
                    continue
                over = age > OLDEST_PLAIN_AGE and not _IN_YEARS.search(match["value"])
                yield EntitySpan(*match.span("value"), "age_over_89" if over else "age", self.name)
        for match in source.matches(_VERY_OLD, ("genarian", "0s", "0's", "centenarian")):
            yield EntitySpan(*match.span(), "age_over_89", self.name)
