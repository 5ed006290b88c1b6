"""What is asked of an age beyond its pattern: a number that somebody can be, and for a bare one whose it is.

A bare number is somebody's age where its sentence is about a person there, and no vital sign, laboratory value, score
or unit stands at it. Above 89 an age is a direct identifier (45 CFR 164.514(b)(2)(i)(C)), so that a person anywhere
before it in the sentence is enough. Owns as well which lines are a banner's ("LUND, ADA | F | 58"), so that what is
masked in the story is masked above it too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from clinaudit.audit.pii.detectors.rule_table import Places, Rule, found_in, regex, span_in, words
from clinaudit.audit.pii.detectors.word_lists import read_words
from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.audit.pii.values.normal_form import read_number

#: Ages up to this one may stand in a text that Safe Harbor calls de-identified.
OLDEST_PLAIN_AGE: Final = 89
#: Of people.
OLDEST: Final = 125
_IN_OTHER_UNITS: Final = re.compile(r"month|week|day|mo\b|wk", re.IGNORECASE)
#: "3-1/2-year-old": the figure before says the age.
_HALF: Final = re.compile(r"[ -]1/2.*", re.DOTALL)
_UNITS_A_YEAR: Final = {"m": 12, "w": 52, "d": 365}


def read_age(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield an age that somebody can be of, in years or in a `count` of another `unit`."""
    written, counted = found_in(match), match.groupdict().get("count")
    if counted:
        age: int | None = int(counted.replace(",", "")) // _UNITS_A_YEAR[match["unit"][0].lower()]
    else:
        age = read_number(_HALF.sub("", written))
    if age is None or age > OLDEST:
        return
    is_over = age > OLDEST_PLAIN_AGE and (counted is not None or not _IN_OTHER_UNITS.search(written))
    if is_over or rule.kind == "age":
        yield *span_in(match), "age_over_89" if is_over else "age"


#: How far before a number its sentence is read, in characters.
_BEFORE_CHARS: Final = 200
_SENTENCE_END: Final = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)[.!?;](?:\s|$)|\n")
_A_PERSON: Final = words(r"${person}(?!\w|['’]s)")
_ENDS_WITH_PERSON: Final = words(r"(?P<of>${of_person})$|\b${person}$")
#: What stands between somebody and the verb.
_BETWEEN: Final = words(r"(?:${aside}|${phrase})$")
_POSSESSED: Final = words("(?:${possessed})$")
_WORDS: Final = re.compile(r"[^\W_][\w'’/-]*")
_MOST_BETWEEN: Final = 8


def is_by_no_measure(match: "re.Match[str]") -> bool:
    """Whether nothing in the sentence up to a number measures something."""
    return not _says_measure(_sentence(match) + match[0])


def is_about_somebody(match: "re.Match[str]") -> bool:
    """Whether a number after a verb is somebody's age; above 89, whether it may be."""
    before = _sentence(match)
    if _says_measure(" ".join(_WORDS.findall(before)[-1:])):
        return False
    rest = before
    for _ in range(_MOST_BETWEEN):
        if (person := _ENDS_WITH_PERSON.search(rest)) is not None and not person["of"]:
            return True
        between = _BETWEEN.search(rest)
        if between is None or (_says_measure(between[0]) and not between[0].endswith((",", ")"))):
            break
        rest = rest[: between.start()]
    return (read_number(match["value"]) or 0) > OLDEST_PLAIN_AGE and _may_be_about_somebody(before)


def _may_be_about_somebody(before: str) -> bool:
    """Whether a person stands before, no measure, and no thing as the subject ("his dog is", "it was")."""
    if _says_measure(before) or not _A_PERSON.search(before):
        return False
    possessed = _POSSESSED.search(before)
    return possessed is None or bool(_A_PERSON.search(possessed[0]))


def _sentence(match: "re.Match[str]") -> str:
    """Return what stands in the sentence before a match."""
    before = match.string[max(0, match.start() - _BEFORE_CHARS) : match.start()]
    return before[max((end.end() for end in _SENTENCE_END.finditer(before)), default=0) :]


def _says_measure(text: str) -> bool:
    return any(word.lower().rstrip("'’") in read_words("measures") for word in _WORDS.findall(text))


_FIGURES: Final = re.compile(r"\d+")
#: "Age/Sex: 58/M", "Sex / age F, 58", wherever it stands; the pair, a sex and an age as fields of their own.
_LABELLED: Final = regex("${age_and_sex_label}${age_and_sex}(?!\\w)")
_PAIR_ALONE: Final = regex("${field_begins_after_mark}${age_and_sex}${field_ends_before_mark}")
_SEX_ALONE: Final = regex("${field_begins}${sex_alone}${field_ends}")
_AGE_ALONE: Final = regex(r"${field_begins}(?P<age>\d{1,3})(?P<years>${years_old}?)${field_ends}")
#: Segments of HL7 version 2 in which F says that a result is final.
_RESULTS: Final = re.compile(r"\s*(?:OBX|OBR|ORC)\|")
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
    known = sorted(one.start for one in spans if one.category == "age" or categories()[one.category].direct)
    place = at = 0
    head: list[tuple[int, str]] = []
    for number, line in enumerate(re.split(r"[\r\n]", text)):
        begin, at = at, at + len(line) + 1
        while place < len(known) and known[place] < begin:
            place += 1
        is_about_somebody = place < len(known) and known[place] < at
        if number < _MOST_LINES and len(line) <= _LONGEST_FIELD_CHARS and len(head) == number:
            head.append((begin, line))
        if is_about_somebody:
            yield from _in_line(line[:_MOST_CHARS], begin, ages, is_form=False)
    if head and known and known[0] < head[-1][0] + len(head[-1][1]):
        for begin, line in head:
            yield from _in_line(line, begin, ages, is_form=True)


def _in_line(line: str, begin: int, ages: set[int], *, is_form: bool) -> Iterator[EntitySpan]:
    if _RESULTS.match(line):
        return
    for pattern in (_PAIR_ALONE, _SEX_ALONE):
        for match in pattern.finditer(line):
            yield from _spans(match, begin)
    for match in _AGE_ALONE.finditer(line):
        if int(match["age"]) in ages or (is_form and match["years"]):
            yield from _spans(match, begin)


def _spans(match: "re.Match[str]", begin: int) -> Iterator[EntitySpan]:
    for group, written in match.groupdict().items():
        start, end = begin + match.start(group), begin + match.end(group)
        # Of the P:F ratio F is oxygen.
        if written and group.startswith("sex") and match.string[: match.start(group)][-2:] != "P:":
            yield EntitySpan(start, end, "gender", "banners")
        elif written and group.startswith("age") and int(written) <= OLDEST:
            yield EntitySpan(start, end, "age_over_89" if int(written) > OLDEST_PLAIN_AGE else "age", "banners")
