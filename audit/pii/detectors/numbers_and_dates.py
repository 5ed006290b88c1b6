"""What is asked of ages, dates, times and numbers beyond their patterns; rows of the rules name these functions.

Owns when an age is somebody's and which lines are a banner's, which figures are a day and which a score or a dose, and
what tells a number: its check digit, a telephone that could ring, the groups behind a label.
"""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

from clinaudit.audit.pii.detectors.rules import (
    Places,
    Rule,
    digits_of,
    expand,
    found_in,
    kind_of,
    regex,
    span_in,
    words,
)
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_drug, read_words
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.dates_in_text import WrittenDate, find_dates
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
_BEFORE_AGE_CHARS: Final = 200
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
    """Whether a number after a verb is somebody's age; above 89, whether it may be.

    It is somebody's where its sentence is about a person there, and no vital sign, laboratory value, score or unit
    stands at it. Above 89 an age is a direct identifier (45 CFR 164.514(b)(2)(i)(C)), so that a person anywhere before
    it in the sentence is enough.
    """
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
    before = match.string[max(0, match.start() - _BEFORE_AGE_CHARS) : match.start()]
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
    """Yield ages and sexes of a text's banners ("LUND, ADA | F | 58"); `spans` are what else was found, by start.

    What is masked in the story is masked above it too. The `spans` may overlap.
    """
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


#: How far before a date its label, and around a part of one the rest is looked for, in characters.
_DATE_LABEL_CHARS: Final = 48
_AROUND_CHARS: Final = 40
_BEFORE_DATE_CHARS: Final = 30
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
    begin = max(0, found.start - _BEFORE_DATE_CHARS)
    is_on_scale = _NO_DAY.match(text, found.start) or _UP_TO_NO_DAY.search(text, begin, found.end)
    return is_on_scale is not None or _OF_A_SPAN.match(text, found.end) is not None


def _kind_of(text: str, start: int) -> str:
    before = text[max(0, start - _DATE_LABEL_CHARS) : start].encode(errors="replace")
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
    return cue.search(match.string, max(0, match.start() - _BEFORE_DATE_CHARS), match.start()) is not None


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
    """Whether a day is no score by the words beside it, no dose, and not "secondary to".

    Scores and grades look the same as days ("strength 4/5", "pain 3/10"): beside their own words, out of what these are
    given in, they are none.
    """
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
    """Return days that are written as month and day: a filter masks what can be one.

    All where a word ("visit 7/11", so "rash 6/3" too) or a list ("10/28, 11/05") marks one of a text's as a day; else
    those in one line with a whole date, and those at the head of a line or with a nought before ("02/05"), unless they
    are shares.
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


_VIN_VALUES: Final = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_FEWEST_DIGITS: Final = 4
#: After a label that is a word of a note too, with nothing between: a year, a dose and a count have fewer.
_FEWEST_DIGITS_BARE: Final = 5
#: Of a telephone number, and of groups after such a label.
_FEWEST_DIGITS_LONG: Final = 7


def is_vin(code: str) -> bool:
    """Whether 17 characters hold the check digit of a vehicle identification number (49 CFR 565.15(c))."""
    try:
        total = sum(
            weight * (int(character) if character.isdigit() else _VIN_VALUES[character])
            for weight, character in zip(_VIN_WEIGHTS, code.upper(), strict=True)
        )
    except (KeyError, ValueError):
        return False
    return code[8].upper() == "0123456789X"[total % 11]


def has_vin_check_digit(match: "re.Match[str]") -> bool:
    """Whether it is a vehicle identification number with a letter in it."""
    return not found_in(match).isdigit() and is_vin(found_in(match))


def is_internet_address(match: "re.Match[str]") -> bool:
    """Whether it is an address of the Internet, of either version; a net is one."""
    from ipaddress import ip_interface

    try:
        ip_interface(found_in(match))
    except ValueError:
        return False
    return True


_FAX: Final = words("${of_a_fax}$")
#: How far before a number its label is looked for, in characters.
_LABEL_CHARS: Final = 40
_EXTENSION: Final = regex("${an_extension}(?![\\w/])")


def read_phone(match: "re.Match[str]", _rule: Rule) -> Places:
    """Yield a telephone number with its extension; a fax is one by its label."""
    start, _ = span_in(match)
    yield _phone(match.string, start, start + len(found_in(match).rstrip(" .()/-")))


def _phone(text: str, start: int, end: int) -> tuple[int, int, str]:
    extension = _EXTENSION.match(text, end)
    is_fax = _FAX.search(text[max(0, start - _LABEL_CHARS) : start])
    return start, extension.end() if extension else end, "fax" if is_fax else "phone"


def can_ring(match: "re.Match[str]") -> bool:
    """Whether a telephone could ring at a number, as far as the plan of its country says."""
    import phonenumbers

    written = match[0]
    try:
        parsed = phonenumbers.parse("+" + written[2:] if written.startswith("00") else written, "US")
    except phonenumbers.NumberParseException:
        return False
    national = phonenumbers.national_significant_number(parsed)
    # No area code begins with 0 or 1.
    return phonenumbers.is_possible_number(parsed) and not (parsed.country_code == 1 and national[0] in "01")


_SIGN: Final = words(r"[:#=]|${number_sign}")
_YEAR: Final = regex("${year}")
_NUMBER: Final = regex("${number_in_groups}")
_SHORT_DATE: Final = regex("${short_date}")
#: "118-B", "22-B/7": three figures are enough, but for two vertebrae.
_LETTER_AND_MARK: Final = re.compile(r"(?![CTLS]\d{1,2}-)(?=[^ ]*[A-Z])(?=[^ ]*[-/])[^ ]+")


def read_number_after(label: "re.Match[str]", rule: Rule) -> Places:
    """Yield the number behind a label; a year alone needs a sign or a word for a number.

    Of a label that is a word of a note too (its pattern has a group `sign`), it needs one, or is plainly a number.
    The number is read group by group up to the first word, amount or date: it may be broken in any way.
    """
    number = _NUMBER.match(label.string, label.end())
    if number is None or (_YEAR.fullmatch(number[0]) and not _SIGN.search(label[0])):
        return
    figures, kind = digits_of(number[0]), kind_of(label, rule)
    is_marked = _LETTER_AND_MARK.fullmatch(number[0]) is not None
    fewest = _FEWEST_DIGITS_LONG if kind == "phone" else _FEWEST_DIGITS
    if label.groupdict().get("sign", ":") is None:
        fewest = _FEWEST_DIGITS_LONG if " " in number[0] else _FEWEST_DIGITS_BARE
    if "sign" in label.re.groupindex and _SHORT_DATE.match(label.string, label.end()):
        return
    if figures >= fewest or (is_marked and figures >= _FEWEST_DIGITS - 1):
        yield _phone(label.string, *number.span()) if kind == "phone" else (*number.span(), kind)


#: A number of so many digits is recognized by its last four; shorter ones are searched for whole.
_LAST: Final = 4
_COUNTS: Final = {"three": 3, "3": 3, "four": 4, "4": 4, "five": 5, "5": 5, "six": 6, "6": 6}
_OF_A_NUMBER: Final = words("${of_a_number}")
_OF_A_NUMBER_CHARS: Final = 80
_FOUR: Final = regex("${four_alone}")


def is_end_of_number(match: "re.Match[str]") -> bool:
    """Whether as many figures stand there as the words before them say, or what ends so is something numbered."""
    if match["count"]:
        return digits_of(match["value"]) == _COUNTS[match["count"].lower()]
    begin = max(0, match.start() - _OF_A_NUMBER_CHARS)
    return _OF_A_NUMBER.search(match.string, begin, match.start()) is not None


def ends_of(values: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the last four digits of each long number among (text, category), with the category; no plausible year."""
    found: dict[str, str] = {}
    for written, category in values:
        digits = "".join(filter(str.isdigit, written))
        is_code = category is not None and categories()[category].type == "CODE"
        if is_code and len(digits) >= _FEWEST_DIGITS_LONG and not re.fullmatch(r"(?:19|20)\d\d", digits[-_LAST:]):
            found.setdefault(digits[-_LAST:], category or "")
    return found


def find_ends(text: str, ends: dict[str, str]) -> Places:
    """Yield where such digits stand by themselves, as a number of four figures without a unit, and their category."""
    if ends:
        for match in _FOUR.finditer(text):
            if match[0] in ends:
                yield *match.span(), ends[match[0]]
