"""How notes write dates: sets of formats by name, reading a date in one of them, and finding dates in a text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import lru_cache

#: Formats by the name that a profile may give instead of a list; the first is used to write a date.
NAMED_FORMATS: dict[str, tuple[str, ...]] = {
    "day_first": (
        *("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d/%m/%y", "%d-%m-%y", "%d.%m.%y"),
        *("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d %b %y", "%d-%b-%y"),
    ),
    "month_first": (
        *("%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y", "%m/%d/%y", "%m-%d-%y"),
        *("%Y-%m-%d", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
    ),
}
#: A day whose year, month and day differ in every directive.
_PROBE = date(2003, 11, 25)


def read_date(text: str, formats: Iterable[str]) -> date | None:
    """Return the date that `text` is in the first of the formats that reads it, or None."""
    for form in formats:
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 (a calendar day has no zone)
        except ValueError:
            continue
    return None


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
_TWO_DIGITS = r"\d{1,2}"
_PART = re.compile(r"%(?P<letter>.)|(?P<space>\s+)|(?P<literal>.)", re.DOTALL)
_WORD = re.compile(r"\w+")
_LEADING_ZERO = re.compile(r"\b0+(?=\d)")


class WrittenDates:
    """Reads days in texts of one template."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = [
            (form, re.compile(rf"(?<!\w){_pattern(form)}(?!\w)", re.IGNORECASE)) for form in dict.fromkeys(formats)
        ]

    def find(self, text: str) -> frozenset[date]:
        """Return every day that a text holds by any format; two formats may read one place as two days."""
        places = {match.start() for _, regex in self._formats for match in regex.finditer(text)}
        return frozenset(day for place in places for _, day in self.at(text, place))

    def at(self, text: str, start: int) -> Iterator[tuple[int, date]]:
        """Yield each day that a text writes from a place on, with the place where it ends."""
        for form, regex in self._formats:
            match = regex.match(text, start)
            if match is not None and (day := _read_one(match[0], form)) is not None:
                yield match.end(), day

    def first_words(self, day: date) -> set[str]:
        """Return the words or numbers, in lower case, with which a day can begin in a text."""
        padded = [day.strftime(form).lower() for form, _ in self._formats]
        words = (_WORD.search(text) for text in [*padded, *(_LEADING_ZERO.sub("", text) for text in padded)])
        return {word[0] for word in words if word is not None}


@lru_cache(maxsize=1 << 14)
def _read_one(text: str, form: str) -> date | None:
    """Read a date as `read_date` does; in notes the same days stand again and again."""
    return read_date(text, (form,))


def _pattern(form: str) -> str:
    parts: list[str] = []
    for match in _PART.finditer(form):
        if match["letter"]:
            parts.append(_LOOKS.get(match["letter"], _TWO_DIGITS))
        else:
            parts.append(r"\s+" if match["space"] else re.escape(match["literal"]))
    return "".join(parts)
