"""How notes write dates: sets of formats by name, and reading a date in one of them.

Owns what a format can tell, and which formats part day-first dates from month-first ones. Knows nothing of notes.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime

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
