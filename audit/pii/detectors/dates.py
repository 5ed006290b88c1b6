"""What is asked of a date or a time beyond its pattern: its label, a word of time before it, no score and no dose.

A filter masks what can be a day. Where a word says that one is a day ("visit 7/11"), so are those written alike in that
text ("rash 6/3"); so is a list with one that is no share of anything ("10/28, 11/05"). Scores and grades look the same
("strength 4/5", "pain 3/10"): beside their own words, out of what these are given in, they are none.
"""

import re
from bisect import bisect
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any, Final

from clinaudit.audit.pii.detectors.rule_table import Places, Rule, expand, words
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_drug
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.values.dates_in_text import WrittenDate, find_dates

#: How far before a date its label, and around a part of one the rest is looked for, in characters.
_LABEL_CHARS: Final = 48
_AROUND_CHARS: Final = 40
_BEFORE_CHARS: Final = 30
_BEFORE_SCORE_CHARS: Final = 120
#: "After 2-3 hours" holds no day.
_OF_A_SPAN: Final = words(r"[\s-]?${unit}\b")


def read_labelled_dates(match: "re.Match[str]", _rule: Rule) -> Places:
    """Yield the dates of which a match is a part; the label before each says what it is of."""
    text, start, end = match.string, match.start(), match.end()
    for found in find_dates(text, max(0, start - _AROUND_CHARS), min(len(text), end + _AROUND_CHARS)):
        if found.start < end and found.end > start and not _is_no_day(text, found):
            yield found.start, found.end, _kind_of(text, found.start)


def _is_no_day(text: str, found: WrittenDate) -> bool:
    """Whether a date without a year is one of two on a scale, or of a span."""
    if not found.readings[0].startswith("-"):
        return False
    begin = max(0, found.start - _BEFORE_CHARS)
    is_on_scale = _NO_DAY.match(text, found.start) or _UP_TO_NO_DAY.search(text, begin, found.end)
    return is_on_scale is not None or _OF_A_SPAN.match(text, found.end) is not None


def _kind_of(text: str, start: int) -> str:
    before = text[max(0, start - _LABEL_CHARS) : start].encode(errors="replace")
    return next((kind for kind, label in _labels().items() if label.search(before)), "date")


@cache
def _labels() -> dict[str, Any]:
    """Return what stands before dates of a kind, as patterns of RE2: `re` takes ten times as long for so many words."""
    import re2

    labels = {"birth_date": "of_birth", "admission_date": "of_visit"}
    return {kind: re2.compile(expand(f"(?i)${{{name}}}${{between}}").encode()) for kind, name in labels.items()}


#: The day after a day of the week, alone or before the month: "the 14th", "3/4".
_DAY_OF_MONTH: Final = words(
    r"${ordinal}(?![\w-])(?:[ ]of[ ]${month}\b)?|${day_figures}/\d{1,2}(?![\w/-]|[.,]\d)|${day_figures}(?=[.,;)\n]|$)"
)


def read_day_of_week(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield a date with the day of the week that stands beside it, as of what its label says."""
    text, edge = match.string, match.start("before") if match["before"] else match.end()
    for found in find_dates(text, max(0, edge - _AROUND_CHARS), edge + _AROUND_CHARS):
        if match["before"] and found.end == edge:
            yield found.start, match.end(), _kind_of(text, found.start)
        elif not match["before"] and found.start == edge:
            yield match.start(), found.end, _kind_of(text, found.start)
    day = None if match["before"] else _DAY_OF_MONTH.match(text, edge)
    if day is not None:
        yield match.start(), day.end(), rule.kind


_AFTER_TIME: Final = words(r"(?<![\w/])${time_word}${after_word}$")
_AFTER_TEST: Final = words(r"${after_test}$")
#: Words before a day by which the audit recognizes one, too (`values.dates_in_text`).
_AFTER_CUE: Final = words(r"(?<![\w/])(?:from|through|thru|by|as of|before|after|between|around)[:\s]{1,2}$")
_COUNTED_BEFORE: Final = words(r"${counted_before}$")
_COUNTED_AFTER: Final = words("${counted_after}")
#: From the number on, and up to its end.
_NO_DAY: Final = words("${no_day}")
_UP_TO_NO_DAY: Final = words("${up_to_no_day}$")
_SCORE: Final = words("${score}")
_UP_TO_SCORE: Final = words("${up_to_score}$")
_WORD_BEFORE: Final = re.compile(r"([A-Za-z-]+)[ ]$")
_HOW_OFTEN: Final = words("${how_often}")
_GIVEN_ON: Final = words(r"${given}[^.;\n]*$")


def _is_after(cue: re.Pattern[str], match: "re.Match[str]") -> bool:
    return cue.search(match.string, max(0, match.start() - _BEFORE_CHARS), match.start()) is not None


def _is_after_test(match: "re.Match[str]") -> bool:
    """Whether a test or its result stands before a number that counts nothing: "2/2" is all of them."""
    return (
        _is_after(_AFTER_TEST, match)
        and int(match["first"]) != int(match["second"])
        and _COUNTED_AFTER.match(match.string, match.end()) is None
        and not _is_after(_COUNTED_BEFORE, match)
    )


def _is_dose(match: "re.Match[str]") -> bool:
    """Whether a number is a drug's, or so many days of a week: "Lotrel 5/10 daily", "HA 5/7"."""
    before = _WORD_BEFORE.search(match.string, max(0, match.start() - _BEFORE_SCORE_CHARS), match.start())
    if before is None or not is_allowed(before[1]) or _is_after_test(match):
        return False
    is_often = match["second"] == "7" or _HOW_OFTEN.match(match.string, match.end()) is not None
    return is_often or (is_drug(before[1]) and not _is_after(_GIVEN_ON, before))


def is_no_score(match: "re.Match[str]") -> bool:
    """Whether a day is no score by the words beside it, no dose, and not "secondary to"."""
    text, (start, end) = match.string, (match.start("first"), match.end("second"))
    begin = max(0, start - _BEFORE_SCORE_CHARS)
    if _NO_DAY.match(text, start) or _UP_TO_NO_DAY.search(text, begin, end):
        return False
    if _is_after(_AFTER_TIME, match):
        return True
    return not (_is_dose(match) or _SCORE.match(text, start) or _UP_TO_SCORE.search(text, begin, end))


_DAY: Final = re.compile(r"(?P<first>\d+)/(?P<second>\d+)")
#: Between two days of a list.
_LISTED: Final = re.compile(r"[ ]?(?:,|;|&|\+|,?[ ](?:and|or))[ ]?")
#: A date with its year, which says that those in its line are days, too.
_WHOLE_DATE: Final = words(r"(?<![\d/.-])${whole_day}(?![\d/-])|${month}[ ]\d{1,2},?[ ]${year}")
#: What goes on after a day at the head of a line: "3/14 intubated", "4/12 - CT head".
_AFTER_HEAD: Final = words(r"[ ]?[:–-](?!\d)|[ ](?:(?-i:[A-Z][A-Za-z])|[a-z]+ed\b)")
_HEAD: Final = re.compile(r"(?:\A|\n)[ \t*•-]{0,4}\Z")
#: No share is written so: "02/05".
_HAS_NOUGHT: Final = re.compile(r"\b0[1-9]")
#: A half or a third, and that of something: "1/2 squats".
_PART: Final = re.compile(r"1/[23](?!\d)")
_OF_A_PART: Final = re.compile(r"[ ](?!(?:and|at|for|to|with|but|when|in|from|by|on)\b)[a-z]")


def find_days_alike(text: str, spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return days that are written as month and day.

    All where a word or a list marks one of a text's as a day; else those in one line with a whole date, and those at
    the head of a line or with a nought before ("02/05"), unless they are shares.
    """
    days = {span: day for span in spans if (day := _DAY.match(text, span.start)) is not None}
    if any(_is_after(_AFTER_TIME, day) or _is_after_test(day) or _is_after(_AFTER_CUE, day) for day in days.values()):
        return [span for span, day in days.items() if not _is_part(day) or _is_after(_AFTER_TIME, day)]
    if _are_listed(list(days.values())):
        return [span for span, day in days.items() if not _is_part(day)]
    ends = [end.start() for end in re.finditer("\n", text)] if days else []
    lines = {bisect(ends, one.start()) for one in _WHOLE_DATE.finditer(text)} if days else ()
    return [
        span
        for span, day in days.items()
        if day["first"] != day["second"]
        and not _PART.match(day[0])
        and (_begins_line(day) or _HAS_NOUGHT.search(day[0]) or bisect(ends, day.start()) in lines)
    ]


def _is_part(day: "re.Match[str]") -> bool:
    return _PART.match(day[0]) is not None and _OF_A_PART.match(day.string, day.end()) is not None


def _begins_line(day: "re.Match[str]") -> bool:
    is_head = _HEAD.search(day.string, max(0, day.start() - 5), day.start()) is not None
    return is_head and _AFTER_HEAD.match(day.string, day.end()) is not None


def _are_listed(days: "list[re.Match[str]]") -> bool:
    """Whether two of some days stand side by side, of which one is no share of anything: "10/28, 11/05"."""
    return any(
        _LISTED.fullmatch(former.string, former.end(), latter.start()) is not None
        and any(int(one["first"]) > int(one["second"]) for one in (former, latter))
        for former, latter in pairwise(days)
    )
