"""Bars of the charts, as places on a track in percent of its width: a chart is a table whose cells are drawn.

Owns scales, and which part of a number is solid, pale, or a thin line. Knows nothing of results; the templates write
the elements and the style sheet their colours, so that a chart fits its column and is read once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.schema.record import Arm
from clinaudit.reports.wording.names import SHORT_TIER_TITLES

#: Solid: what is certain. Pale: a range. Chance: a 95% interval. The limit is the policy's; zero is a scale's own.
#: Hatched: of questions that were withheld. Before: what the same bar was before unlearning.
MarkKind = Literal[
    "solid", "pale", "chance", "limit", "zero", "hatched", "before",
    "revealing-single", "revealing-shared", "templated-single", "templated-shared",
]  # fmt: skip
#: Whose bar it is: `trained` or `never` seen; `plain` where that is not the question.
Series = Literal["trained", "never", "plain"]
SERIES: Final[Mapping[Arm, Series]] = {"train": "trained", "nontrain": "never"}
#: Ends of scales of shares; a longer one ends at 1.
SHARE_STEPS: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
#: Where two ends are nearer than this they are one number.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers at both ends of a track."""

    low: float = 0.0
    high: float = 1.0

    def place(self, value: float) -> float:
        """Return where a number stands, in percent of the track; what lies outside stands at the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


SHARES = Scale()


@dataclass(frozen=True, slots=True)
class Mark:
    """One drawn part of a bar, in percent of its track; a line has no width."""

    kind: MarkKind
    start: float
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One number: its marks, and the number in words where it stands beside them."""

    series: Series
    marks: tuple[Mark, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """Bars below each other; `reading`: what they show, in words for a screen's reader where they bear no number."""

    bars: tuple[Bar, ...]
    reading: str = ""


@dataclass(frozen=True, slots=True)
class BarRow:
    """A row of a chart: its name, a cell a column, and what stands small below the name; without cells, a heading."""

    name: str
    cells: tuple[Cell, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Swatch:
    """A sample of a mark in the key of a chart, by the classes of the style sheet, and its meaning."""

    classes: str
    words: str


@dataclass(frozen=True, slots=True)
class BarFigure:
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


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing that is no table, as inline SVG, and its title."""

    title: str
    svg: str


def tier_row(tier: str, cells: Sequence[Cell], *, with_asker: bool = False) -> BarRow:
    """Return the row of a tier: its short title, and who that could be."""
    title, who = SHORT_TIER_TITLES.get(tier, (tier, ""))
    return BarRow(title, tuple(cells), who if with_asker else "")


def share_bar(
    estimate: ShownEstimate | None,
    *,
    series: Series,
    text: str = "",
    scale: Scale = SHARES,
    limit: float | None = None,
) -> Bar:
    """Return a bar from zero: solid up to the number or the low end, pale to the high end, the interval as a line."""
    marks: list[Mark] = []
    low, high = shown_ends(estimate)
    if estimate is not None and low is not None and high is not None:
        marks.append(Mark("solid", 0.0, scale.place(low)))
        marks += _pale(scale, low, high) + _chance(scale, estimate)
    return Bar(series, (*marks, *_limit(scale, limit)), text)


def difference_bar(estimate: ShownEstimate | None, *, scale: Scale, limit: float | None = None) -> Bar:
    """Return a difference: its range pale, or one line where it is exact, the interval, and a line at zero."""
    marks: list[Mark] = [Mark("zero", scale.place(0.0))]
    low, high = shown_ends(estimate)
    if estimate is not None and low is not None and high is not None:
        marks += _chance(scale, estimate)
        marks += _pale(scale, low, high) or [Mark("solid", scale.place(low))]
    return Bar("trained", (*marks, *_limit(scale, limit)))


def stacked_bar(parts: Iterable[tuple[MarkKind, float | None]], *, scale: Scale, text: str = "") -> Bar:
    """Return parts of a whole, one after the other; a part that is not known takes no room."""
    marks = []
    total = 0.0
    for kind, share in parts:
        if share:
            start = scale.place(total)
            total += share
            marks.append(Mark(kind, start, round(scale.place(total) - start, 2)))
    return Bar("plain", tuple(marks), text)


def shown_ends(estimate: ShownEstimate | None) -> tuple[float | None, float | None]:
    """Return the ends of what is drawn: twice the number where it is published, else its range, else nothing."""
    if estimate is None:
        return None, None
    if estimate.value is not None:
        return estimate.value, estimate.value
    return estimate.low, estimate.high


def fitting_scale(
    estimates: Iterable[ShownEstimate | None], *, limit: float | None, steps: Sequence[float] = SHARE_STEPS
) -> Scale:
    """Return the shortest of a few scales that holds every number, its interval, and twice the limit."""
    ends = [end for estimate in estimates for end in _drawn_ends(estimate)]
    reach = max([*ends, 2 * (limit or 0.0)], default=1.0)
    return Scale(0.0, next((high for high in steps if reach <= high), max(1.0, reach)))


def difference_scale(estimates: Iterable[ShownEstimate | None], *, limit: float | None) -> Scale:
    """Return a scale of differences that holds every number and its interval, from −1, −0.5 or −0.25 on."""
    ends = [end for estimate in estimates for end in _drawn_ends(estimate)]
    low, high = min([*ends, 0.0]), max([*ends, 2 * (limit or 0.0)])
    return Scale(
        -next((step for step in (0.25, 0.5) if -low <= step), 1.0),
        next((step for step in (0.25, 0.5) if high <= step), 1.0),
    )


def _drawn_ends(estimate: ShownEstimate | None) -> list[float]:
    if estimate is None:
        return []
    ends = (estimate.value, estimate.low, estimate.high, estimate.confidence_low, estimate.confidence_high)
    return [end for end in ends if end is not None]


def _pale(scale: Scale, low: float, high: float) -> list[Mark]:
    if high - low <= _SAME:
        return []
    start = scale.place(low)
    return [Mark("pale", start, round(scale.place(high) - start, 2))]


def _chance(scale: Scale, estimate: ShownEstimate) -> list[Mark]:
    low, high = estimate.confidence_low, estimate.confidence_high
    if low is None or high is None or high - low <= _SAME:
        return []
    start = scale.place(low)
    return [Mark("chance", start, round(scale.place(high) - start, 2))]


def _limit(scale: Scale, limit: float | None) -> list[Mark]:
    return [] if limit is None or not scale.low <= limit <= scale.high else [Mark("limit", scale.place(limit))]
