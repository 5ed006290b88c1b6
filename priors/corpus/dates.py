"""Dates as tables write them: ISO 8601, numbers with the year last, English names of months, a year of birth alone.

Owns which of day and month comes first in `01/02/1950`: the column as a whole decides it, or nothing does. A date with
two readings is refused, never guessed (docs/corpus-format.md, "Dates").
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time

from clinaudit.priors.corpus.cells import CellError

_CLOCK = r"(?:[T ,] *(?P<clock>\S.*))?"
_ISO = re.compile(r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})" + _CLOCK)
_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})" + _CLOCK)
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})" + _CLOCK)
_DAY_MONTH = re.compile(r"([0-9]{1,2})[ -]([a-z]{3,9})\.?,?[ -]([0-9]{4})" + _CLOCK, re.IGNORECASE | re.ASCII)
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2}),? ([0-9]{4})" + _CLOCK, re.IGNORECASE | re.ASCII)
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([-/.])(?:[0-9]{1,2}|[A-Za-z]{3})\1[0-9]{2}(?:[ T].*)?")
_SERIAL = re.compile(r"[0-9]{5}(?:[.,][0-9]+)?")
_YEAR = re.compile(r"(1[89][0-9]{2}|20[0-9]{2})(?:[.,]0{1,2})?")
_TWELVE_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))? ?([ap])\.?m\.?", re.IGNORECASE | re.ASCII)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WRITE = "write it as 2024-01-31"
_SERIAL_NUMBER = "is the number by which a spreadsheet keeps a date; format the column as a date and save it again"


@dataclass(frozen=True, slots=True)
class DayOrder:
    """Which of day and month comes first in the dates of a column that have the year last."""

    #: A row that leaves no other reading; 0 where there is none.
    day_first_row: int = 0
    month_first_row: int = 0

    @property
    def mixed(self) -> bool:
        """Whether some rows have the day first and others the month."""
        return bool(self.day_first_row and self.month_first_row)

    def describe(self) -> str | None:
        """Return what the column was read as, None where nothing had to be decided."""
        row = self.day_first_row or self.month_first_row
        if not row or self.mixed:
            return None
        order = "day, month, year" if self.day_first_row else "month, day, year"
        return f"read as {order}: row {row} leaves no other reading"


#: No date of the column has the year last, or none of these leaves one reading only.
UNDECIDED = DayOrder()


def find_day_order(cells: Iterable[tuple[int, str | None]]) -> DayOrder:
    """Return the order that the cells of a column, given with their rows, leave as the only one."""
    day_first = month_first = 0
    for row, text in cells:
        if text is None or text[:4].isdigit():
            continue  # ISO 8601, as most dates are
        match = _YEAR_LAST.fullmatch(text.strip())
        if match is None:
            continue
        first, second = int(match[1]), int(match[3])
        if 12 < first <= 31 and second <= 12:
            day_first = day_first or row
        elif 12 < second <= 31 and first <= 12:
            month_first = month_first or row
    return DayOrder(day_first, month_first)


def parse_date(text: str, order: DayOrder = UNDECIDED) -> tuple[date, time]:
    """Return the date and wall-clock time (midnight where none is given) of a cell.

    A time zone is ignored: the date is the one written, as in the clinic's calendar.
    """
    text = text.strip()
    try:
        day, clock = _parts(text, order)
        return day, _time(clock) if clock else time()
    except CellError:
        raise
    except ValueError:
        pass  # a thirteenth month, a 30th of February: reported below like any other
    if _SHORT_YEAR.fullmatch(text):
        raise CellError(f"has a year of two digits; {_WRITE}")
    if _SERIAL.fullmatch(text):
        raise CellError(_SERIAL_NUMBER)
    raise CellError(f"is not a date; {_WRITE}")


def parse_birth(text: str, order: DayOrder = UNDECIDED) -> date | int:
    """Return a date of birth, or the year where the cell gives it alone (`1950`)."""
    year = _YEAR.fullmatch(text.strip())
    return int(year[1]) if year else parse_date(text, order)[0]


def _parts(text: str, order: DayOrder) -> tuple[date, str | None]:
    """Return the day and the text of the time; raises `ValueError` where it is no date."""
    if match := _ISO.fullmatch(text) or _YEAR_FIRST.fullmatch(text):
        return date(int(match[1]), int(match[3]), int(match[4])), match["clock"]
    if match := _YEAR_LAST.fullmatch(text):
        return _year_last(int(match[1]), int(match[3]), int(match[4]), order), match["clock"]
    if match := _DAY_MONTH.fullmatch(text):
        return date(int(match[3]), _month(match[2]), int(match[1])), match["clock"]
    if match := _MONTH_DAY.fullmatch(text):
        return date(int(match[3]), _month(match[1]), int(match[2])), match["clock"]
    raise ValueError


def _year_last(first: int, second: int, year: int, order: DayOrder) -> date:
    if order.mixed:
        raise CellError(f"has the day first in some rows of the column and the month first in others; {_WRITE}")
    if order.month_first_row:
        return date(year, first, second)
    if order == UNDECIDED and first != second and max(first, second) <= 12:
        raise CellError(f"can be read with the day or the month first, and no row of the column decides; {_WRITE}")
    return date(year, second, first)


def _month(name: str) -> int:
    matching = [number for number, month in enumerate(_MONTHS, 1) if _names_month(name.lower(), month)]
    (number,) = matching
    return number


def _names_month(name: str, month: str) -> bool:
    return name in (month, month[:3]) or (name == "sept" and month == "september")


def _time(text: str) -> time:
    match = _TWELVE_HOURS.fullmatch(text)
    if match is None:
        # "9:30" as "09:30", which alone is ISO 8601.
        return time.fromisoformat(text if text[1:2] != ":" else f"0{text}").replace(tzinfo=None)
    hour = int(match[1])
    if not 1 <= hour <= 12:
        raise ValueError
    return time(hour % 12 + (12 if match[4].lower() == "p" else 0), int(match[2]), int(match[3] or 0))
