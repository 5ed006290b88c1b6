"""Bars of figures with intervals, rows of the table of estimates among them (`bars` owns marks and scales)."""

from collections.abc import Iterable

from clinaudit.reports.figures.bars import SHARE_STEPS, Bar, Mark, MarkKind, Scale, Series
from clinaudit.reports.wording.figures import HasInterval


def row_ends(figure: HasInterval | None) -> tuple[float, float] | None:
    """Return what is drawn: the value twice, or the ends of a bound; None where there is neither."""
    if figure is None:
        return None
    if figure.value is not None:
        return figure.value, figure.value
    return None if figure.low is None or figure.high is None else (figure.low, figure.high)


def row_bar(figure: HasInterval | None, *, series: Series, text: str, scale: Scale, limit: float | None = None) -> Bar:
    """Return a bar from zero: solid to the number, pale within a bound, the interval as a line."""
    ends = row_ends(figure)
    marks: list[Mark] = []
    if figure is not None and ends is not None:
        marks.append(Mark("solid", 0.0, scale.place(ends[0])))
        marks += _between("pale", scale, *ends)
        if figure.value is not None and figure.low is not None and figure.high is not None:
            marks += _between("chance", scale, figure.low, figure.high)
    if limit is not None and limit <= scale.high:
        marks.append(Mark("limit", scale.place(limit)))
    return Bar(series, tuple(marks), text)


def row_scale(figures: Iterable[HasInterval | None], *, limit: float | None = None) -> Scale:
    """Return the shortest of a few scales that holds every number, its interval, and twice the limit."""
    ends = [
        end
        for figure in figures
        if figure is not None
        for end in (*(row_ends(figure) or ()), figure.high)
        if end is not None
    ]
    reach = max([*ends, 2 * (limit or 0.0)], default=1.0)
    return Scale(0.0, next((high for high in SHARE_STEPS if reach <= high), 1.0))


def _between(kind: MarkKind, scale: Scale, low: float, high: float) -> list[Mark]:
    start, end = scale.place(low), scale.place(high)
    if end <= start:
        return []
    return [Mark(kind, start, round(end - start, 2))]
