"""What is asked of ages, dates, times and numbers beyond their patterns; rows of the rules name these functions.

Owns when an age is somebody's and which lines are a banner's, which figures are a day and which a score or a dose, and
what tells a number: its check digit, a telephone that could ring, the groups behind a label.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from clinaudit.audit.pii.detectors.rules import Places, Rule, digits_of, expand, found_in, kind_of, span_in
from clinaudit.audit.pii.detectors.word_lists import is_allowed, is_drug, read_words
from clinaudit.audit.pii.patterns import Patterns
from clinaudit.audit.pii.taxonomy import EntitySpan, categories
from clinaudit.audit.pii.values.dates_in_text import WrittenDate, find_dates
from clinaudit.audit.pii.values.normal_form import read_number

_RE: Final = Patterns(__name__, expand)

#: Ages up to this one may stand in a text that Safe Harbor calls de-identified.
OLDEST_PLAIN_AGE: Final = 89
#: Of people.
OLDEST: Final = 125
_UNITS_A_YEAR: Final = {"m": 12, "w": 52, "d": 365}


def read_age(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield an age that somebody can be of, in years or in a `count` of another `unit`."""
    written, counted = found_in(match), match.groupdict().get("count")
    if counted:
        age: int | None = int(counted.replace(",", "")) // _UNITS_A_YEAR[match["unit"][0].lower()]
    else:
        age = read_number(_RE.half.sub("", written))
    if age is None or age > OLDEST:
        return
    is_over = age > OLDEST_PLAIN_AGE and (counted is not None or not _RE.in_other_units.search(written))
    if is_over or rule.kind == "age":
        yield *span_in(match), "age_over_89" if is_over else "age"


#: How far before a number its sentence is read, in characters.
_BEFORE_AGE_CHARS: Final = 200


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
    if _says_measure(" ".join(_RE.words.findall(before)[-1:])):
        return False
    rest = before
    for _ in range(8):
        if (person := _RE.ends_with_person.search(rest)) is not None and not person["of"]:
            return True
        between = _RE.between.search(rest)
        if between is None or (_says_measure(between[0]) and not between[0].endswith((",", ")"))):
            break
        rest = rest[: between.start()]
    is_old = (read_number(match["value"]) or 0) > OLDEST_PLAIN_AGE
    if not is_old or _says_measure(before) or not _RE.a_person.search(before):
        return False
    # A thing may be the subject: "his dog is", "it was".
    possessed = _RE.possessed.search(before)
    return possessed is None or _RE.a_person.search(possessed[0]) is not None


def _sentence(match: "re.Match[str]") -> str:
    """Return what stands in the sentence before a match."""
    before = match.string[max(0, match.start() - _BEFORE_AGE_CHARS) : match.start()]
    return before[max((end.end() for end in _RE.sentence_end.finditer(before)), default=0) :]


def _says_measure(text: str) -> bool:
    return any(word.lower().rstrip("'’") in read_words("measures") for word in _RE.words.findall(text))


#: Of a line; a text without line ends is a banner as far as this.
_MOST_CHARS: Final = 300
#: Lines of a form at the head of a text, one field a line.
_MOST_LINES: Final = 15
_LONGEST_FIELD_CHARS: Final = 60


def find_in_banners(text: str, spans: Sequence[EntitySpan]) -> Iterator[EntitySpan]:
    """Yield ages and sexes of a text's banners ("LUND, ADA | F | 58"); `spans` are what else was found, by start."""
    for match in _RE.labelled.finditer(text):
        yield from _spans(match, 0)
    ages = {int(found[0]) for one in spans if one.category == "age" and (found := _RE.figures.match(text, one.start))}
    known = sorted(one.start for one in spans if one.category == "age" or categories()[one.category].direct)
    at = 0
    head: list[tuple[int, str]] = []
    for number, line in enumerate(re.split(r"[\r\n]", text)):
        begin, at = at, at + len(line) + 1
        if number < _MOST_LINES and len(line) <= _LONGEST_FIELD_CHARS and len(head) == number:
            head.append((begin, line))
        if bisect_left(known, begin) < bisect_left(known, at):
            yield from _in_line(line[:_MOST_CHARS], begin, ages, is_form=False)
    if head and known and known[0] < head[-1][0] + len(head[-1][1]):
        for begin, line in head:
            yield from _in_line(line, begin, ages, is_form=True)


def _in_line(line: str, begin: int, ages: set[int], *, is_form: bool) -> Iterator[EntitySpan]:
    if _RE.results.match(line):
        return
    alone = (one for one in _RE.age_alone.finditer(line) if int(one["age"]) in ages or (is_form and one["years"]))
    for match in (*_RE.pair_alone.finditer(line), *_RE.sex_alone.finditer(line), *alone):
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


def read_labelled_dates(match: "re.Match[str]", _rule: Rule) -> Places:
    """Yield the dates of which a match is a part; the label before each says what it is of."""
    text, start, end = match.string, match.start(), match.end()
    for found in _dates_near(text, start, end):
        if found.end <= start or found.start >= end:
            continue
        # A date without a year may be one of two on a scale, or of a span.
        is_no_day = found.readings[0].startswith("-") and (
            _RE.no_day.match(text, found.start)
            or _RE.up_to_no_day.search(text, max(0, found.start - _BEFORE_DATE_CHARS), found.end)
            or _RE.of_a_span.match(text, found.end)
        )
        if not is_no_day:
            yield found.start, found.end, _kind_of(text, found.start)


def _dates_near(text: str, start: int, end: int) -> Sequence[WrittenDate]:
    dates, begins = find_dates(text), attrgetter("start")
    return dates[bisect_left(dates, start - _AROUND_CHARS, key=begins) : bisect(dates, end, key=begins)]


def _kind_of(text: str, start: int) -> str:
    before = text[max(0, start - _DATE_LABEL_CHARS) : start].encode(errors="replace")
    return next((kind for kind, label in _labels().items() if label.search(before)), "date")


@cache
def _labels() -> dict[str, Any]:
    """Return what stands before dates of a kind, as patterns of RE2: `re` takes ten times as long for so many words."""
    import re2

    labels = {"birth_date": "of_birth", "admission_date": "of_visit"}
    return {kind: re2.compile(expand(f"(?i)${{{name}}}${{between}}").encode()) for kind, name in labels.items()}


def read_day_of_week(match: "re.Match[str]", rule: Rule) -> Places:
    """Yield a date with the day of the week that stands beside it, as of what its label says."""
    text, edge = match.string, match.start("before") if match["before"] else match.end()
    for found in _dates_near(text, edge, edge):
        if match["before"] and found.end == edge:
            yield found.start, match.end(), _kind_of(text, found.start)
        elif not match["before"] and found.start == edge:
            yield match.start(), found.end, _kind_of(text, found.start)
    day = None if match["before"] else _RE.day_of_month.match(text, edge)
    if day is not None:
        yield match.start(), day.end(), rule.kind


def _is_after(cue: re.Pattern[str], match: "re.Match[str]") -> bool:
    return cue.search(match.string, max(0, match.start() - _BEFORE_DATE_CHARS), match.start()) is not None


def _is_after_test(match: "re.Match[str]") -> bool:
    """Whether a test or its result stands before a number that counts nothing: "2/2" is all of them."""
    return (
        _is_after(_RE.after_test, match)
        and int(match["first"]) != int(match["second"])
        and _RE.counted_after.match(match.string, match.end()) is None
        and not _is_after(_RE.counted_before, match)
    )


def is_no_score(match: "re.Match[str]") -> bool:
    """Whether a day is no score by what is beside it ("strength 4/5"), no dose, and not "secondary to"."""
    text, (start, end) = match.string, (match.start("first"), match.end("second"))
    begin = max(0, start - _BEFORE_SCORE_CHARS)
    if _RE.no_day.match(text, start) or _RE.up_to_no_day.search(text, begin, end):
        return False
    if _is_after(_RE.after_time, match):
        return True
    before = _RE.word_before.search(text, max(0, match.start() - _BEFORE_SCORE_CHARS), match.start())
    if before is not None and is_allowed(before[1]) and not _is_after_test(match):
        # A number is a drug's, or so many days of a week: "Lotrel 5/10 daily", "HA 5/7".
        is_often = match["second"] == "7" or _RE.how_often.match(text, match.end()) is not None
        if is_often or (is_drug(before[1]) and not _is_after(_RE.given_on, before)):
            return False
    return not (_RE.score.match(text, start) or _RE.up_to_score.search(text, begin, end))


def find_days_alike(text: str, spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Return days that are written as month and day: a filter masks what can be one.

    All where a word ("visit 7/11", so "rash 6/3" too) or a list ("10/28, 11/05") marks one of a text's as a day; else
    those in one line with a whole date, and those at the head of a line or with a nought before ("02/05"), unless they
    are shares.
    """
    days = {span: day for span in spans if (day := _RE.day.match(text, span.start)) is not None}
    if not days:
        return []
    parts = {span for span, day in days.items() if _RE.part.match(day[0]) and _RE.of_a_part.match(text, day.end())}
    timed = {span for span, day in days.items() if _is_after(_RE.after_time, day)}
    if timed or any(_is_after_test(day) or _is_after(_RE.after_cue, day) for day in days.values()):
        return [span for span in days if span not in parts or span in timed]
    # Two side by side, of which one is no share of anything.
    if any(
        _RE.listed.fullmatch(text, former.end(), latter.start())
        and any(int(one["first"]) > int(one["second"]) for one in (former, latter))
        for former, latter in pairwise(days.values())
    ):
        return [span for span in days if span not in parts]
    ends = [end.start() for end in re.finditer("\n", text)]
    lines = {bisect(ends, one.start()) for one in _RE.whole_date.finditer(text)}
    found = []
    for span, day in days.items():
        start, end = day.span()
        begins_line = _RE.head.search(text, max(0, start - 5), start) and _RE.after_head.match(text, end)
        is_day = begins_line or _RE.has_nought.search(day[0]) or bisect(ends, start) in lines
        if is_day and day["first"] != day["second"] and not _RE.part.match(day[0]):
            found.append(span)
    return found


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


def read_phone(match: "re.Match[str]", _rule: Rule) -> Places:
    """Yield a telephone number with its extension; a fax is one by its label."""
    start, _ = span_in(match)
    yield _phone(match.string, start, start + len(found_in(match).rstrip(" .()/-")))


def _phone(text: str, start: int, end: int) -> tuple[int, int, str]:
    extension = _RE.extension.match(text, end)
    is_fax = _RE.fax.search(text[max(0, start - _AROUND_CHARS) : start])
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


def read_number_after(label: "re.Match[str]", rule: Rule) -> Places:
    """Yield the number behind a label; a year alone needs a sign or a word for a number.

    Of a label that is a word of a note too (its pattern has a group `sign`), it needs one, or is plainly a number.
    The number is read group by group up to the first word, amount or date: it may be broken in any way.
    """
    number = _RE.number.match(label.string, label.end())
    if number is None or (_RE.year.fullmatch(number[0]) and not _RE.sign.search(label[0])):
        return
    figures, kind = digits_of(number[0]), kind_of(label, rule)
    is_marked = _RE.letter_and_mark.fullmatch(number[0]) is not None
    fewest = _FEWEST_DIGITS_LONG if kind == "phone" else _FEWEST_DIGITS
    if label.groupdict().get("sign", ":") is None:
        fewest = _FEWEST_DIGITS_LONG if " " in number[0] else _FEWEST_DIGITS_BARE
    if "sign" in label.re.groupindex and _RE.short_date.match(label.string, label.end()):
        return
    if figures >= fewest or (is_marked and figures >= _FEWEST_DIGITS - 1):
        yield _phone(label.string, *number.span()) if kind == "phone" else (*number.span(), kind)


#: A number of so many digits is recognized by its last four; shorter ones are searched for whole.
_LAST: Final = 4
_COUNTS: Final = {"three": 3, "3": 3, "four": 4, "4": 4, "five": 5, "5": 5, "six": 6, "6": 6}


def is_end_of_number(match: "re.Match[str]") -> bool:
    """Whether as many figures stand there as the words before them say, or what ends so is something numbered."""
    if match["count"]:
        return digits_of(match["value"]) == _COUNTS[match["count"].lower()]
    begin = max(0, match.start() - 80)
    return _RE.of_a_number.search(match.string, begin, match.start()) is not None


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
        for match in _RE.four.finditer(text):
            if match[0] in ends:
                yield *match.span(), ends[match[0]]
