"""A row of the table of estimates in words: "23 of 130", "fewer than 11 of 59", "73% (63 to 82)".

Reads a row alone, exact or published: a count whose ends differ is hidden, and said as a bound.
"""

from typing import Final

from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.estimates.registry import METRICS
from clinaudit.reports.wording.numbers import NOT_MEASURED, number_text, percent_text

_PERCENTS: Final = {"share", "mean", "text", "quality"}
_WHOLE: Final = {"count", "design"}


def count_text(row: Row | None) -> str:
    """Return of how many patients, of how many: "23 of 130", "59 of 59", "fewer than 11 of 59", "none of 59"."""
    if row is None or row.count_low is None or row.count_high is None:
        return NOT_MEASURED
    of = "" if row.of_low is None else f" of {row.of_low:,}"
    if row.count_low == row.count_high:
        return f"{row.count_low:,}{of}" if row.count_low else f"none{of}"
    if row.of_low is not None and row.count_low > row.of_low // 2:
        return f"more than {row.count_low - 1:,}{of}"
    return f"fewer than {row.count_high + 1:,}{of}"


def figure_text(row: Row | None, *, interval: bool = False) -> str:
    """Return the figure, with `interval` its 95% interval: "73% (63 to 82)", "+0.41 (0.32 to 0.50)"; or why none is."""
    if row is None:
        return NOT_MEASURED
    share = METRICS[row.metric].unit in _PERCENTS
    between = ""
    if interval and row.low is not None and row.high is not None:
        between = f" ({_number(row.low, share).removesuffix('%')} to {_number(row.high, share).removesuffix('%')})"
    if row.value is not None and METRICS[row.metric].unit in _WHOLE:
        return f"{row.value:,.0f}"
    if row.value is not None:
        return _number(row.value, share, signed="-" in row.arm) + between
    if row.count_low is not None and row.count_high is not None and row.of_low and row.of_high and share:
        if row.count_low > row.of_low // 2:
            return f"at least {percent_text(row.count_low / row.of_high)}{between}"
        return f"below {percent_text(min(1.0, (row.count_high + 1) / row.of_low))}{between}"
    if row.low is not None and row.high is not None:
        return f"{_number(row.low, share).removesuffix('%')} to {_number(row.high, share)}"
    return f"{NOT_MEASURED}: {row.reason}" if row.reason else NOT_MEASURED


def counted_text(row: Row | None) -> str:
    """Return the count of a share of patients where there is one, else the figure."""
    is_counted = row is not None and METRICS[row.metric].unit == "share" and row.count_low is not None
    return count_text(row) if is_counted and row is not None and "-" not in row.arm else figure_text(row)


def highest(row: Row | None) -> float:
    """Return a figure to compare places by: its value, else its upper end; −1 where there is none."""
    if row is None:
        return -1.0
    return next((end for end in (row.value, row.high) if end is not None), -1.0)


def _number(value: float, share: bool, *, signed: bool = False) -> str:
    return percent_text(value, signed=signed) if share else number_text(value, signed=signed)
