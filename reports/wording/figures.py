"""A figure in words: "18% (12 to 26)", "<8%", "<11 of 130", or why there is none; in a sentence "fewer than 11 of 130".

Owns the notation of a row of the table of estimates, exact or published, and of any other figure with an interval; and
by which figure places compare.
"""

import math
from collections.abc import Callable
from typing import Final

from clinaudit.reports.estimates.frame import METRICS, Row
from clinaudit.reports.estimates.small_cells import MOST
from clinaudit.reports.schema.comparison import Side
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.schema.unlearning import Figure
from clinaudit.reports.wording.numbers import NOT_MEASURED, number_text, percent_text

#: A share below this, or as little below 1, is no end of a bound that a reader needs.
_NEXT_TO_NOTHING: Final = 0.005
#: Shares below this are written with tenths of a percent.
_TENTHS_BELOW: Final = 0.0995


#: A figure with the ends of its 95% interval; its value None with a reason, or with ends that bound it.
HasInterval = Row | Estimate | Side | Figure


def row_text(row: Row | None, *, interval: bool = True) -> str:
    """Return a row's figure in its metric's unit, a difference with its sign: "18% (12 to 26)", "−0.05"."""
    if row is None:
        return NOT_MEASURED
    if row.value is None and (bound := _bound_by_count(row)):
        if not interval or row.low is None or row.high is None:
            return bound
        return f"{bound} ({_ends(row.low, row.high, ' to ', share=True, signed=False).removesuffix('%')})"
    return figure_text(row, share=METRICS[row.metric].is_percent, signed="-" in row.arm, interval=interval)


def _bound_by_count(row: Row) -> str:
    """Return what a hidden count leaves of a share or a mean over patients: "<8.5%" of fewer than 11 of 130."""
    unit, of = METRICS[row.metric].unit, row.of_low
    if unit not in ("share", "mean") or row.count_low is None or row.count_high is None or not of or of != row.of_high:
        return ""
    if row.count_low == 1:
        most = _outward(min(1.0, (row.count_high + 1) / of), share=True, to=math.ceil)
        return f"<{_one(most, share=True)}"
    if unit == "share" and row.count_high >= of - 1:
        return f">{_one(_outward((row.count_low - 1) / of, share=True, to=math.floor), share=True)}"
    # Of a mean over patients a count says how large it is at most.
    return ""


def figure_text(
    figure: HasInterval | None, *, share: bool = False, signed: bool = False, interval: bool = False
) -> str:
    """Return a figure, with `interval` its ends in brackets; of one without a value its bounds, or the reason."""
    if figure is None:
        return NOT_MEASURED
    low, high = figure.low, figure.high
    if figure.value is None:
        if low is None or high is None:
            return f"{NOT_MEASURED}: {figure.reason}" if figure.reason else NOT_MEASURED
        return _bounds(low, high, share=share, signed=signed)
    text = _one(figure.value, share=share, signed=signed)
    if not interval or low is None or high is None:
        return text
    return f"{text} ({_ends(low, high, ' to ', share=share, signed=signed).removesuffix('%')})"


def _bounds(low: float, high: float, *, share: bool, signed: bool) -> str:
    if share and not signed:
        if low < _NEXT_TO_NOTHING:
            return f"<{_one(high, share=True)}"
        if high > 1 - _NEXT_TO_NOTHING:
            return f">{_one(low, share=True)}"
    return _ends(low, high, " to " if signed else "–", share=share, signed=signed)


def _ends(low: float, high: float, between: str, *, share: bool, signed: bool) -> str:
    first = _one(_outward(low, share=share, to=math.floor), share=share, signed=signed)
    last = _one(_outward(high, share=share, to=math.ceil), share=share, signed=signed)
    if share:
        first = first.removesuffix("%") if first != last else first
    return first if first == last else f"{first}{between}{last}"


def _outward(end: float, *, share: bool, to: Callable[[float], int]) -> float:
    """Return an end of an interval rounded outwards to the decimals that it is written with."""
    scale = 1000 if share and abs(end) < _TENTHS_BELOW else 100
    # An end that is a whole number of steps stays, whatever its last bit.
    return to(round(end * scale, 6)) / scale


def _one(value: float, *, share: bool, signed: bool = False) -> str:
    return percent_text(value, signed=signed) if share else number_text(value, signed=signed)


def counts_text(row: Row) -> str:
    """Return how many patients of how many a row counts: "23 of 130", "<11 of 130", "40–49 of 130", or nothing."""
    if row.count_low is None or row.count_high is None:
        return ""
    if row.of_low is None or row.of_low != row.of_high:
        return _count(row.count_low, row.count_high, None)
    return f"{_count(row.count_low, row.count_high, row.of_low)} of {row.of_low:,}"


def _count(low: int, high: int, of: int | None) -> str:
    if low == high:
        return f"{low:,}"
    if of is not None and low == 1 and high == of:
        return "some"
    if low == 1:
        return f"<{high + 1:,}"
    # Ten at most are left.
    return f">{low - 1:,}" if of is not None and high >= of - 1 else f"{low:,}–{high:,}"


def count_words(count: int, of: int | None = None) -> str:
    """Return a count of patients as it may be printed: "0", "<11", ">119" where the rest are 1 to 10, else itself."""
    if 1 <= count <= MOST:
        return f"<{MOST + 1}"
    if of is not None and 1 <= of - count <= MOST:
        return f">{of - MOST - 1:,}"
    return f"{count:,}"


def is_hidden(count: int, of: int | None = None) -> bool:
    """Whether a count of patients may not be printed as it is."""
    return count_words(count, of)[0] in "<>"


_WHOLE: Final = {"count", "design"}


def count_text(row: Row | None) -> str:
    """Return of how many patients, of how many: "59 of 59", "fewer than 11 of 59", "none of 59"."""
    text = "" if row is None else counts_text(row)
    words = text.replace("<", "fewer than ").replace(">", "more than ")
    return f"none{words[1:]}" if words.startswith("0 of ") else words or NOT_MEASURED


def figure_words(row: Row | None, *, interval: bool = False) -> str:
    """Return the figure, with `interval` its 95% interval: "73% (63 to 82)", "+0.41 (0.32 to 0.50)"; or why none is."""
    if row is not None and row.value is not None and METRICS[row.metric].unit in _WHOLE:
        return f"{row.value:,.0f}"
    return row_text(row, interval=interval).replace("<", "below ").replace(">", "above ")


def counted_text(row: Row | None) -> str:
    """Return the count of a share of patients where there is one, else the figure."""
    is_counted = row is not None and METRICS[row.metric].unit == "share" and counts_text(row) and "-" not in row.arm
    return count_text(row) if is_counted else figure_words(row)


def highest(row: Row | None) -> float:
    """Return a figure to compare places by: its value, else its upper end; −1 where there is none."""
    if row is None:
        return -1.0
    return next((end for end in (row.value, row.high) if end is not None), -1.0)
