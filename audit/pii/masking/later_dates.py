"""A day so many days after one that a text writes, written as that is where its form is common, else as ISO 8601."""

from datetime import date, timedelta
from functools import lru_cache
from itertools import product
from typing import Final

from clinaudit.audit.pii.plain_text import read_plainly
from clinaudit.audit.pii.values.dates_in_text import read_written_date

_NUMERIC: Final = product(("{0:%m}_{0:%d}", "{0.month}_{0.day}", "{0:%d}_{0:%m}", "{0.day}_{0.month}"), "/-. ")
_FORMS: Final = (
    *(f"{both}{year}".replace("_", mark) for both, mark in _NUMERIC for year in ("_{0:%Y}", "_{0:%y}", "")),
    *(f"{{0:{month}}} {{0.day}}{year}" for month, year in product(("%B", "%b"), (", {0:%Y}", " {0:%Y}", ""))),
    *(f"{{0.day}}{mark}{{0:{month}}}{mark}{{0:%Y}}" for month, mark in product(("%B", "%b"), " -")),
)


@lru_cache(maxsize=1_000)
def write_later(written: str, days: int) -> str | None:
    """Return the day `days` after the written one; None where that is none of the calendar, or depends on the year."""
    read = next(iter(read_written_date(read_plainly(written).text)), "")
    try:
        # A day without a year is of one that is a leap year, or of one that is none.
        firsts = [
            date.fromisoformat(read.replace("-", year, 1) if read.startswith("--") else read)
            for year in ("2023", "2024")
        ]
        later, other = (day + timedelta(days) for day in firsts)
    except (ValueError, OverflowError):
        return None
    if read.startswith("--") and (f"{later:%m%d}" != f"{other:%m%d}" or later.year != firsts[0].year):
        return None
    alike = (form.format(later) for form in _FORMS if form.format(firsts[0]) == written)
    # Read again: "3/4/2024" is no way to write the third of April, though "14/3/2024" is that of a day in March.
    sure = (
        one
        for one in alike
        if read_written_date(one)[:1] == (f"-{later:-%m-%d}" if read.startswith("--") else f"{later}",)
    )
    return next(sure, None if read.startswith("--") else f"{later}")
