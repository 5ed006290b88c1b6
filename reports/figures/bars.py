"""Bars of the charts, as places on a track in percent of its width: a chart is a table whose cells are drawn.

Owns scales, which part of a number is solid, pale, or a thin line, and the bars of figures with intervals, rows of the
table among them. The templates write the elements and the style sheet their colours, so that a chart fits its column
and is read once.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from clinaudit.reports.wording.figures import HasInterval
from clinaudit.reports.wording.names import SHORT_TIER_TITLES

#: Solid: what is certain. Pale: a range. Chance: a 95% interval. The limit is the policy's; zero is a scale's own.
#: Hatched: of questions that were withheld. Before: what the same bar was before unlearning.
MarkKind = Literal["solid", "pale", "chance", "limit", "zero", "hatched", "before"]
#: Whose bar it is: `trained` or `never` seen; `plain` where that is not the question.
Series = Literal["trained", "never", "plain"]
#: Ends of scales of shares; a longer one ends at 1.
SHARE_STEPS: Final = (0.02, 0.05, 0.1, 0.2, 0.5)


class Scale(NamedTuple):
    """The numbers at both ends of a track."""

    low: float = 0.0
    high: float = 1.0

    def place(self, value: float) -> float:
        """Return where a number stands, in percent of the track; what lies outside stands at the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


SHARES = Scale()


class Mark(NamedTuple):
    """One drawn part of a bar, in percent of its track; a line has no width."""

    kind: MarkKind
    start: float
    width: float = 0.0


class Bar(NamedTuple):
    """One number: its marks, and the number in words where it stands beside them."""

    series: Series
    marks: tuple[Mark, ...]
    text: str = ""


class Cell(NamedTuple):
    """Bars below each other; `reading`: what they show, in words for a screen's reader where they bear no number."""

    bars: tuple[Bar, ...]
    reading: str = ""


class BarRow(NamedTuple):
    """A row of a chart: its name, a cell a column, and what stands small below the name; without cells, a heading."""

    name: str
    cells: tuple[Cell, ...]
    detail: str = ""


class Swatch(NamedTuple):
    """A sample of a mark in the key of a chart, by the classes of the style sheet, and its meaning."""

    classes: str
    words: str


class BarFigure(NamedTuple):
    """A chart that is a table: a column of names, then cells of bars. Without rows the caption says why."""

    id: str
    title: str
    caption: str
    #: Head of the names, and of each column.
    columns: tuple[str, ...]
    rows: tuple[BarRow, ...]
    #: What the marks mean, where that is not said by the columns.
    key: str = ""
    swatches: tuple[Swatch, ...] = ()


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


def tier_row(tier: str, cells: Sequence[Cell]) -> BarRow:
    """Return the row of a tier: its short title, and who that could be."""
    title, who = SHORT_TIER_TITLES.get(tier, (tier, ""))
    return BarRow(title, tuple(cells), who)
