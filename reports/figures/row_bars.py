"""Bars of rows of the table of estimates, exact or published (`bars` owns marks and scales)."""

from collections.abc import Iterable

from clinaudit.reports.estimates.frame import Row
from clinaudit.reports.figures.bars import SHARE_STEPS, Bar, Mark, Scale, Series


def row_ends(row: Row | None) -> tuple[float, float] | None:
    """Return what is drawn: the value twice, or the ends of a bound; None where there is neither."""
    if row is None:
        return None
    if row.value is not None:
        return row.value, row.value
    return None if row.low is None or row.high is None else (row.low, row.high)


def row_bar(row: Row | None, *, series: Series, text: str, scale: Scale, limit: float | None = None) -> Bar:
    """Return a bar from zero: solid to the number, pale within a bound, the interval as a line."""
    ends = row_ends(row)
    marks: list[Mark] = []
    if row is not None and ends is not None:
        marks.append(Mark("solid", 0.0, scale.place(ends[0])))
        marks += _between("pale", scale, *ends)
        if row.value is not None and row.low is not None and row.high is not None:
            marks += _between("chance", scale, row.low, row.high)
    if limit is not None and limit <= scale.high:
        marks.append(Mark("limit", scale.place(limit)))
    return Bar(series, tuple(marks), text)


def row_scale(rows: Iterable[Row | None], *, limit: float | None = None) -> Scale:
    """Return the shortest of a few scales that holds every number, its interval, and twice the limit."""
    ends = [end for row in rows if row is not None for end in (*(row_ends(row) or ()), row.high) if end is not None]
    reach = max([*ends, 2 * (limit or 0.0)], default=1.0)
    return Scale(0.0, next((high for high in SHARE_STEPS if reach <= high), 1.0))


def _between(kind: str, scale: Scale, low: float, high: float) -> list[Mark]:
    start, end = scale.place(low), scale.place(high)
    if end <= start:
        return []
    return [Mark("pale" if kind == "pale" else "chance", start, round(end - start, 2))]
