"""How notes write dates: sets of formats by name, reading a date in one of them, and finding dates in a text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import lru_cache

from clinaudit.templates.shown_text import show

#: Formats by the name that a profile may give instead of a list; the first is used to write a date.
NAMED_FORMATS: dict[str, tuple[str, ...]] = {
    "day_first": (
        *("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y", "%d-%m-%y", "%d.%m.%y"),
        *("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d %b %y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"),
    ),
    "month_first": (
        *("%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y", "%m/%d/%y", "%m-%d-%y"),
        *("%Y-%m-%d", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y"),
    ),
}
#: A day whose year, month and day differ in every directive.
_PROBE = date(2003, 11, 25)


def read_date(text: str, formats: Iterable[str]) -> date | None:
    """Return the date that `text` is in the first of the formats that reads it, or None.

    Where none reads it as it stands, what people write around a date is passed over: the day of the week, "3rd of", the
    time and its zone ("2021-03-05T14:30Z", "MAR 05, 2021@14:30"), an age in brackets; and the marks between the parts
    of one with its month in letters ("5-Mar. 2021"). What has the year first is read as 2021-03-05 is, and so are the
    seven digits of a day of VistA (3210305).
    """
    tried = tuple(formats)
    for form in tried:
        if (day := read_as_written(text, form)) is not None:
            return day
    plain = _without_surroundings(text)
    in_words = _MARKS.sub(" ", _MONTH.sub(lambda month: month[0][:3], plain)) if _MONTH.search(plain) else None
    for form in tried:
        is_in_words = "%b" in form or "%B" in form
        written = in_words if is_in_words else plain
        alike = _MARKS.sub(" ", form.replace("%B", "%b")) if is_in_words else form
        if written is not None and (day := read_as_written(written, alike)) is not None:
            return day
    return None


@lru_cache(maxsize=1 << 14)
def read_as_written(text: str, form: str) -> date | None:
    """Return the date that `text` is in a format, to the letter."""
    # Without a mark between them, 3210305 would be a day of the year 3210.
    if _TOUCHING.search(form) and len(text) != len(_PROBE.strftime(form)):
        return None
    try:
        return datetime.strptime(text, form).date()  # noqa: DTZ007 (a calendar day has no zone)
    except ValueError:
        return None


_TOUCHING = re.compile(r"%[Yymd](?=%[Yymd])")
#: The months in English, whole or as their first three letters (September four, too).
_MONTH = re.compile(
    r"(?<![^\W\d_])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![^\W\d_])",
    re.IGNORECASE,
)
#: What stands between the parts of a date in words.
_MARKS = re.compile(r"[\s,./-]+")
_WEEKDAY = re.compile(r"^(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:\bthe\s+)?\b(\d{1,2})\s?(?:st|nd|rd|th)\b(?:\s+(?:day\s+)?of\b)?", re.IGNORECASE)
#: "14:30", "2:30 pm EST", "T14:30:00.123+01:00", "@1430", "1430 hrs"; the zone of a day alone.
_OFFSET = r"(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?"
_CLOCK = re.compile(
    r"(?:\s*@\s*|T|,?\s+(?:at\s+)?)(?:\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d{1,9})?)?|(?<=@)\d{4}|(?<=at )\d{4}"
    r"|\d{4}(?=\s?h)|(?:(?<=\d{4} )|(?<=\d-\d\d ))(?:[01]\d|2[0-3])[0-5]\d)"
    rf"(?:\s?(?:[ap]\.?m\b\.?|h(?:rs|ours)?\b))?\s*\(?(?:Z|(?-i:[A-Z]{{3,5}})|{_OFFSET})?\)?$"
    r"|(?<=\d)(?:Z|[+-]\d{2}:\d{2})$",
    re.IGNORECASE,
)
_AGE_UNIT = r"\s?(?:y\.?\s?/?o\.?|yrs?|years?|y)(?:\s?old)?"
_SEX = r"(?:[\s,/]*(?:[fm]|female|male))"
#: "(44 y.o. F)", ", 44 yrs".
_AGE_AFTER = re.compile(
    rf"\s*\((?:aged?:?\s*)?\d{{1,3}}(?:{_AGE_UNIT})?{_SEX}?\s*\)$|[\s,]+(?:aged?:?\s*)?\d{{1,3}}{_AGE_UNIT}{_SEX}?$",
    re.IGNORECASE,
)
#: ", DOB 1/2/1980", "born 3 May 1980"; Max Born is a name.
_BIRTH_AFTER = re.compile(
    rf"[\s,;(|]+(?:(?:dob|d\.o\.b\.?|date of birth)(?![^\W_])|born:?\s+(?:on\s+|in\s+)?(?:\d|{_MONTH.pattern})).*$",
    re.IGNORECASE | re.DOTALL,
)
_AROUND_MARK = re.compile(r"(?<=\d)\s*([/.-])\s*(?=\d)")
#: Years since 1700, month and day, with a time of day after a point (VA FileMan's internal dates).
_FILEMAN = re.compile(r"([23]\d{2})(\d{2})(\d{2})(?:\.\d{1,6})?")
#: The year first, which leaves one order of day and month: 2021/3/5, 2021-Mar-05, HL7's 20210305 and 202103051430.
_YEAR_FIRST = re.compile(
    rf"(?P<year>\d{{4}})(?P<mark>[/.]|[ -](?=[a-z]))(?P<month>\d{{1,2}}|{_MONTH.pattern})\.?(?P=mark)(?P<day>\d{{1,2}})"
    r"|(?P<basic>(?:19|20)\d{6})(?:\d{4}(?:\d{2})?)?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def without_time(text: str) -> str:
    """Return a date's text without the time, the zone or the age after it: "01/02/1980 (44 y.o. F)" is "01/02/1980"."""
    return _CLOCK.sub("", without_age(text)).rstrip()


def without_age(text: str) -> str:
    """Return a date's or a name's text without the age and sex after it: "Ada Lund (44 y.o. F)" is "Ada Lund"."""
    return _AGE_AFTER.sub("", text).rstrip()


def without_birth(text: str) -> str:
    """Return a name's text without age, sex or birth after it: "Ada Lund, DOB 1/2/1980, NHS No 1" is "Ada Lund"."""
    return without_age(_BIRTH_AFTER.sub("", text))


@lru_cache(maxsize=1 << 12)
def _without_surroundings(text: str) -> str:
    """Return a date without what people write around it; `text` may be no date."""
    if (day := _FILEMAN.fullmatch(text.strip())) is not None:
        return f"{int(day[1]) + 1700}-{day[2]}-{day[3]}"
    plain = _WEEKDAY.sub("", without_time(show(text).text.strip()))
    plain = _AROUND_MARK.sub(r"\1", _ORDINAL.sub(r"\1", plain)).strip()
    if (day := _YEAR_FIRST.fullmatch(plain)) is None:
        return plain
    if (basic := day["basic"]) is not None:
        return f"{basic[:4]}-{basic[4:6]}-{basic[6:]}"
    month = day["month"] if day["month"].isdigit() else _MONTHS.index(day["month"][:3].lower()) + 1
    return f"{day['year']}-{month}-{day['day']}"


def read_birth_date(text: str, formats: Iterable[str], *, before: date | None) -> date | None:
    """Return a date of birth; a year of two digits that lies after `before` (the visit) is of the century before."""
    for form in formats:
        born = read_date(text, (form,))
        if born is None:
            continue
        if before is None or born <= before or "%y" not in form:
            return born
        try:
            return born.replace(year=born.year - 100)
        except ValueError:
            # 29 February of a year that is no leap year.
            return None
    return None


def format_problem(form: str) -> str | None:
    """Return why a format cannot read a date back that it writes, or None where it can."""
    try:
        written = _PROBE.strftime(form)
        again = datetime.strptime(written, form).date()  # noqa: DTZ007 (a calendar day has no zone)
    except (ValueError, re.error):
        # A directive given twice is an error of the expression that strptime makes.
        return "is no strptime format; write for example %Y-%m-%d or %d/%m/%Y"
    if again != _PROBE:
        return "holds no directives for year, month and day; write for example %Y-%m-%d or %d/%m/%Y"
    return None


def other_order(form: str) -> str | None:
    """Return the format with day and month exchanged, where both are numbers and the year does not lead; else None."""
    day, month, year = form.find("%d"), form.find("%m"), max(form.find("%Y"), form.find("%y"))
    if min(day, month, year) < 0 or year < min(day, month):
        return None
    return form.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")


#: What a directive can look like; the others are numbers of one or two digits.
_LOOKS: dict[str, str] = {
    **dict.fromkeys("aAbB", r"[^\W\d_]+"),
    "p": r"[ap]\.?m\.?",
    "Z": r"\w+",
    "z": r"[+-]?\d[\d:.]*",
    "Y": r"\d{4}",
    "j": r"\d{1,3}",
    "f": r"\d{1,6}",
    "%": "%",
}
_PART = re.compile(r"%(?P<letter>.)|(?P<space>\s+)|(?P<literal>.)", re.DOTALL)
_WORD = re.compile(r"\w+")
_LEADING_ZERO = re.compile(r"\b0+(?=\d)")


#: Days with the year first in other spellings than 2021-03-05, which a format that reads this one reads too.
_YEAR_FIRST_TOO = r"\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{4}[ -][^\W\d_]+[ -]\d{1,2}|(?:19|20)\d{6}|[23]\d{6}"
_ISO = "%Y-%m-%d"


class WrittenDates:
    """Reads days in texts of one template."""

    def __init__(self, formats: Sequence[str]) -> None:
        looks = {form: _pattern(form) for form in formats}
        if _ISO in looks:
            looks[_ISO] = f"(?:{looks[_ISO]}|{_YEAR_FIRST_TOO})"
        # A time may follow without a blank: 2021-03-05T14:30.
        self._formats = [
            (form, re.compile(rf"(?<!\w){look}(?:(?!\w)|(?=T\d\d))", re.IGNORECASE)) for form, look in looks.items()
        ]

    def find(self, text: str) -> frozenset[date]:
        """Return every day that a text holds by any format; two formats may read one place as two days."""
        places = {match.start() for _, regex in self._formats for match in regex.finditer(text)}
        return frozenset(day for place in places for _, day in self.at(text, place))

    def at(self, text: str, start: int) -> Iterator[tuple[int, date]]:
        """Yield each day that a text writes from a place on, with the place where it ends."""
        for form, regex in self._formats:
            match = regex.match(text, start)
            if match is not None and (day := _read_by(match[0], form)) is not None:
                yield match.end(), day

    def first_words(self, day: date) -> set[str]:
        """Return the words or numbers, in lower case, with which a day can begin in a text."""
        forms = {form for form, _ in self._formats}
        forms |= {form.replace("%B", "%b") for form in forms} | {form.replace("%b", "%B") for form in forms}
        padded = [day.strftime(form).lower() for form in forms]
        words = (_WORD.search(text) for text in [*padded, *(_LEADING_ZERO.sub("", text) for text in padded)])
        found = {word[0] for word in words if word is not None}
        if "sep" in found:
            found.add("sept")
        if _ISO in forms:
            found |= {f"{day:%Y%m%d}", f"{day.year - 1700}{day:%m%d}"}
        if any(_DAY_AND_WORD.search(form) for form in forms):
            ordinal = "th" if day.day in (11, 12, 13) else _ORDINALS.get(day.day % 10, "th")
            found.add(f"{day.day}{ordinal}")
        return found


@lru_cache(maxsize=1 << 14)
def _read_by(text: str, form: str) -> date | None:
    """Read a date as `read_date` does; in notes the same days stand again and again."""
    return read_date(text, (form,))


#: A day before a month in letters.
_DAY_AND_WORD = re.compile(r"%d.*%[bB]")
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def _pattern(form: str) -> str:
    """Return what a format can look like in a text; with the month in letters its marks and ordinals vary."""
    in_words = "%b" in form or "%B" in form
    looks = {**_LOOKS, "d": r"\d{1,2}(?:(?:st|nd|rd|th)(?:\s+of)?)?"} if in_words else _LOOKS
    digits = r"\d{2}" if _TOUCHING.search(form) else r"\d{1,2}"
    parts: list[str] = []
    for match in _PART.finditer(_MARKS.sub(" ", form) if in_words else form):
        if match["letter"]:
            parts.append(looks.get(match["letter"], digits))
        elif match["space"]:
            parts.append(_MARKS.pattern if in_words else r"\s+")
        else:
            parts.append(re.escape(match["literal"]))
    return "".join(parts)
