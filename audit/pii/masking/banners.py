"""Age and sex in a banner, where nothing calls them so: "LUND, ADA | F | 58", "Age/Sex: 58/M", a line "M" below a name.

Owns which lines are a banner's, and which of their fields are an age or a sex. So what is masked in the story is masked
above it too. Knows nothing of how other identifiers are found.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories

_FIGURES: Final = re.compile(r"\d+")
_OLDEST: Final = 125
_OLDEST_AGE_TOLD: Final = 89
_YEARS: Final = r"(?:\s?(?:y(?:rs?|ears?)?|y\.?/?o\.?)(?:\sold)?)"
_AGE: Final = r"(?P<age>\d{1,3})"
_SEX: Final = r"(?P<sex>[MF]|(?i:male|female))"
_BEGIN: Final = r"(?:^|(?<=[|,;/(:\t])|(?<=\s\s))\s?"
_END: Final = r"(?=\s?(?:$|[|,;/)\t]|\s\s))"
_PAIR: Final = (
    rf"(?:{_AGE}{_YEARS}?[ ]?[/,|-]?\s{{0,12}}{_SEX}"
    rf"|(?P<sex_first>[MF])[ ]?[/,|-]?\s{{0,12}}(?P<age_after>\d{{1,3}}){_YEARS}?)"
)
#: "Age/Sex: 58/M", "Sex / age F, 58", wherever it stands.
_LABELLED: Final = re.compile(
    rf"(?<!\w)(?i:age\s?[/&]\s?(?:sex|gender)|(?:sex|gender)\s?[/&]\s?age|a/s)\s?[:=]?\s{{0,3}}{_PAIR}(?!\w)"
)
_BESIDE: Final = re.compile(rf"{_BEGIN}{_PAIR}{_END}")
#: A field with nothing else in it: "F/U" and "M/W/F" are none, nor is the number of "HR: 58" or "BP 120/58".
_FIELD_BEGIN: Final = r"(?:^|(?<=[|,;(\t])|(?<=\s\s))\s?"
_FIELD_END: Final = r"(?=\s?(?:$|[|,;)\t]|\s\s))"
_SEX_ALONE: Final = re.compile(rf"{_FIELD_BEGIN}{_SEX}{_FIELD_END}")
_AGE_ALONE: Final = re.compile(rf"{_FIELD_BEGIN}{_AGE}(?P<years>{_YEARS}?){_FIELD_END}")
#: Of a line; a text without line ends is a banner as far as this.
_MOST_CHARS: Final = 300
#: Lines of a form at the head of a text, one field a line.
_MOST_LINES: Final = 15
_LONGEST_FIELD_CHARS: Final = 60


def find_in_banners(text: str, spans: Sequence[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield ages and sexes of a text's banners; `spans` are what else was found, by start, and may overlap."""
    for match in _LABELLED.finditer(text):
        yield from _spans(match, 0)
    ages = {int(found[0]) for one in spans if one.category == "age" and (found := _FIGURES.match(text, one.start))}
    told = sorted(one.start for one in spans if one.category == "age" or categories()[one.category].direct)
    place = at = 0
    head: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")):
        begin, at = at, at + len(line) + 1
        while place < len(told) and told[place] < begin:
            place += 1
        is_about_somebody = place < len(told) and told[place] < at
        if number < _MOST_LINES and len(line) <= _LONGEST_FIELD_CHARS and len(head) == number:
            head.append((begin, line))
        if is_about_somebody:
            yield from _in_line(line[:_MOST_CHARS], begin, ages, is_form=False)
    if head and told and told[0] < head[-1][0] + len(head[-1][1]):
        for begin, line in head:
            yield from _in_line(line, begin, ages, is_form=True)


def _in_line(line: str, begin: int, ages: set[int], *, is_form: bool) -> Iterator[EntitySpan]:
    for pattern in (_BESIDE, _SEX_ALONE):
        for match in pattern.finditer(line):
            yield from _spans(match, begin)
    for match in _AGE_ALONE.finditer(line):
        if int(match["age"]) in ages or (is_form and match["years"]):
            yield from _spans(match, begin)


def _spans(match: "re.Match[str]", begin: int) -> Iterator[EntitySpan]:
    for group, written in match.groupdict().items():
        start, end = begin + match.start(group), begin + match.end(group)
        if written and group.startswith("sex"):
            yield EntitySpan(start, end, "gender", "banners")
        elif written and group.startswith("age") and int(written) <= _OLDEST:
            yield EntitySpan(start, end, "age_over_89" if int(written) > _OLDEST_AGE_TOLD else "age", "banners")
