"""Figures of an unlearning evaluation: MU and AFE by size as bars, and traces as inline SVG (AMNESIA, Figures 2 to 4).

Methods differ in colour and in the shape of their marks. Colours come from the style sheet by class; SVG attributes are
the fallback for viewers without it. A missing figure is not drawn.
"""

import html
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from clinaudit.reports.figures.bars import SHARES, Bar, BarFigure, BarRow, Cell, Mark, Series, Swatch
from clinaudit.reports.schema.unlearning import SplitCounts
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted, number_text
from clinaudit.reports.wording.unlearning import NONE, USES, Evaluation, System

_WIDTH: Final = 260
_HEIGHT: Final = 210
_LEFT: Final = 30
_BOTTOM: Final = 32
_TOP: Final = 8
_COLOURS: Final = ("#a53f00", "#2f639b", "#1d6b3a", "#7a3e9d", "#6d4a00", "#4f5b67")
#: Marks about the point 0 0.
_SHAPES: Final = {
    "circle": "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0",
    "square": "M-4 -4H4V4H-4Z",
    "triangle": "M0 -5L4.6 3.6H-4.6Z",
    "diamond": "M0 -5.4L5.4 0L0 5.4L-5.4 0Z",
    "cross": "M-4 -4L4 4M-4 4L4 -4",
    "plus": "M0 -5V5M-5 0H5",
    "star": "M0 -6L1.5 -2.1L5.7 -1.9L2.4 0.8L3.5 4.9L0 2.5L-3.5 4.9L-2.4 0.8L-5.7 -1.9L-1.5 -2.1Z",
}
#: What the others are compared with is a star, of the colour of text.
_OF_METHODS: Final = tuple(_SHAPES)[:-1]
_BEFORE: Final = "before"
#: Of the smallest split; the largest is drawn in full.
_FAINTEST: Final = 0.35
_TICKS: Final = (0.0, 0.5, 1.0)
#: Harmonic mean -> whose answers, and the series whose colour it has.
_MEANS: Final[Mapping[str, tuple[str, Series]]] = {"mu": ("retain", "never"), "afe": ("forget", "trained")}
#: Across and up, from 0 to 1, and how opaque.
_Place = tuple[float, float, float]


class Panel(NamedTuple):
    """One drawing that is no table, as inline SVG, and its title."""

    title: str
    svg: str


class TraceKey(NamedTuple):
    """One entry of the key: the mark, drawn, and what it is."""

    svg: str
    name: str


class Traces(NamedTuple):
    """Drawings that share their marks."""

    key: tuple[TraceKey, ...]
    panels: tuple[Panel, ...]


def trade_off_traces(evaluation: Evaluation, use: str) -> Traces:
    """Return MU of retained against AFE of forgotten patients, a panel a level and kind of questions (Figure 3)."""
    styles = _styles(evaluation)
    panels = []
    for (level, splits), kind in product(evaluation.levels().items(), evaluation.kinds):
        drawn: list[str] = []
        for system, style in styles:
            points = []
            for place, split in enumerate(splits):
                mu, afe = (
                    evaluation.of_system(split.split, system, mean, group, kind, use)
                    for mean, (group, _) in _MEANS.items()
                )
                if mu is not None and afe is not None and mu.value is not None and afe.value is not None:
                    share = 1.0 if len(splits) == 1 else place / (len(splits) - 1)
                    points.append((mu.value, afe.value, round(_FAINTEST + (1 - _FAINTEST) * share, 2)))
            drawn += _trace(points, style)
        if drawn:
            title = f"{level}, {kind} questions {USES[use]}"
            ticks = [(share, f"{share:g}") for share in _TICKS]
            label = f"{title}: MU against AFE of each model; the numbers stand in the tables below"
            panels.append(Panel(title, _draw(drawn, ticks, across="MU of retained", up="AFE", label=label)))
    return Traces(_key(styles), tuple(panels))


def disease_traces(evaluation: Evaluation) -> Traces:
    """Return MU by size of the split, those with the same disease and others (Figure 4); a mean over both kinds."""
    styles, levels = _styles(evaluation), evaluation.levels()
    diseases = {level: splits for level, splits in levels.items() if splits[0].is_disease} or levels
    panels = []
    for level, splits in diseases.items():
        across = [(place + 0.5) / len(splits) for place in range(len(splits))]
        drawn: list[str] = []
        for (system, style), side in product(styles, ("same", "others")):
            points = []
            for place, split in zip(across, splits, strict=True):
                found = [
                    evaluation.of_system(split.split, system, "mu", side, kind, "train") for kind in evaluation.kinds
                ]
                values = [figure.value for figure in found if figure is not None]
                # Of each kind of questions that was asked, or there is no mean of them.
                known = [value for value in values if value is not None]
                if known and len(known) == len(values):
                    points.append((place, sum(known) / len(known), 1.0))
            drawn += _trace(points, style, is_dashed=side == "others")
        if drawn:
            ticks = [(place, f"{split.percent}%") for place, split in zip(across, splits, strict=True)]
            label = f"{level}: MU of retained patients by size of the split; the numbers stand in the tables below"
            panels.append(Panel(level, _draw(drawn, ticks, across="patients forgotten", up="MU", label=label)))
    return Traces(_key(styles), tuple(panels))


class _Style(NamedTuple):
    name: str
    shape: str
    colour: str


def _styles(evaluation: Evaluation) -> list[tuple[System, _Style]]:
    """Return the systems with their marks; of more than there are shapes, shape and colour repeat otherwise."""
    styles: list[tuple[System, _Style]] = []
    place = 0
    for system in evaluation.systems:
        if system == evaluation.before:
            styles.append((system, _Style(_BEFORE, "star", "#1b2733")))
            continue
        shape, colour = (place + place // len(_OF_METHODS)) % len(_OF_METHODS), place % len(_COLOURS)
        styles.append((system, _Style(f"trace-{colour}", _OF_METHODS[shape], _COLOURS[colour])))
        place += 1
    return styles


def _key(styles: Sequence[tuple[System, _Style]]) -> tuple[TraceKey, ...]:
    return tuple(
        TraceKey(f'<svg aria-hidden="true" viewBox="0 0 14 14">{_mark(style, 7, 7, 1.0)}</svg>', system.label)
        for system, style in styles
    )


def _trace(points: Sequence[_Place], style: _Style, *, is_dashed: bool = False) -> list[str]:
    """Return a line through the points, and their marks. Dashed: hollow marks."""
    parts = []
    if len(points) > 1:
        corners = " ".join(f"{_x(across):g},{_y(up):g}" for across, up, _ in points)
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        parts.append(
            f'<polyline class="{style.name} line" points="{corners}" fill="none" stroke="{style.colour}"'
            f' stroke-width="1.2"{dashes}/>'
        )
    parts += [_mark(style, _x(across), _y(up), opacity, is_hollow=is_dashed) for across, up, opacity in points]
    return parts


def _mark(style: _Style, x: float, y: float, opacity: float, *, is_hollow: bool = False) -> str:
    hollow, fill = (" hollow", "none") if is_hollow else ("", style.colour)
    return (
        f'<path d="{_SHAPES[style.shape]}" transform="translate({x:g} {y:g})" class="{style.name} mark{hollow}"'
        f' fill="{fill}" stroke="{style.colour}" stroke-width="1.6" opacity="{opacity:g}"/>'
    )


def _draw(drawn: Sequence[str], ticks: Sequence[tuple[float, str]], *, across: str, up: str, label: str) -> str:
    parts = []
    for share in _TICKS:
        parts.append(f'<path class="axis" d="M{_LEFT} {_y(share):g}H{_WIDTH}" stroke="#8a949c" stroke-width="0.6"/>')
        parts.append(_text(_LEFT - 5, _y(share) + 3, f"{share:g}", "end"))
    for share, words in ticks:
        parts.append(_text(_x(share), _HEIGHT - _BOTTOM + 13, words, "middle"))
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 4, across, "middle"))
    parts.append(
        f'<text class="tick" transform="translate(10 {_y(0.75):g}) rotate(-90)" text-anchor="middle"'
        f' font-size="9">{html.escape(up)}</text>'
    )
    aria = html.escape(label, quote=True)
    return (
        f'<svg role="img" aria-label="{aria}" viewBox="0 0 {_WIDTH + 10} {_HEIGHT}">{"".join([*parts, *drawn])}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="9"'
    return f'<text class="tick" {place}>{html.escape(words)}</text>'


def _x(share: float) -> float:
    return round(_LEFT + 6 + share * (_WIDTH - _LEFT - 12), 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _BOTTOM - _TOP), 1)


_SWATCHES: Final = (
    Swatch("solid-bar", "questions trained on"),
    Swatch("hatched-bar", "questions withheld"),
    Swatch("before-line", "before unlearning"),
)


def sizes_figure(evaluation: Evaluation, level: str, splits: Sequence[SplitCounts], *, place: int) -> BarFigure:
    """Return MU of retained and AFE of forgotten patients by split, a row a model; `place` numbers the levels."""
    before = evaluation.before
    columns = [(mean, kind) for mean in _MEANS for kind in evaluation.kinds]
    rows: list[BarRow] = []
    for split in splits:
        here = list(evaluation.measured([split]))
        rows.append(BarRow(f"{split.percent}%: {counted(split.forget_patients, 'patient')} forgotten", ()))
        # Its lines stand in all other rows.
        for system in [system for system in here if system != before] or here:
            cells = (_cell(evaluation, split, system, mean, kind) for mean, kind in columns)
            rows.append(BarRow(system.label, tuple(cells)))
    heads = (f"{mean.upper()}, {kind}" for mean, kind in columns)
    return BarFigure(
        f"sizes-{place}",
        f"{level}: what is left of others (MU), and what is gone of the forgotten (AFE)",
        "Both are best at 1. High AFE beside low MU is no forgetting, but a broken model.",
        ("Model", *heads),
        tuple(rows),
        "Thin line: 95% interval.",
        _SWATCHES if before is not None else _SWATCHES[:2],
    )


def _cell(evaluation: Evaluation, split: SplitCounts, system: System, mean: str, kind: str) -> Cell:
    group, series = _MEANS[mean]
    bars: list[Bar] = []
    reasons: list[str] = []
    for use in USES:
        figure = evaluation.of_system(split.split, system, mean, group, kind, use)
        if figure is None or figure.value is None:
            reasons += [] if figure is None or figure.reason is None else [figure.reason]
            bars.append(Bar(series, (), NONE))
            continue
        marks = [Mark("solid" if use == "train" else "hatched", 0.0, SHARES.place(figure.value))]
        if figure.low is not None and figure.high is not None:
            start = SHARES.place(figure.low)
            marks.append(Mark("chance", start, round(SHARES.place(figure.high) - start, 2)))
        before = None if system == evaluation.before else evaluation.before
        compared = evaluation.of_system(split.split, before, mean, group, kind, use)
        if compared is not None and compared.value is not None:
            marks.append(Mark("before", SHARES.place(compared.value)))
        bars.append(Bar(series, tuple(marks), number_text(figure.value)))
    if not any(bar.marks for bar in bars):
        return Cell((), f"{NOT_MEASURED}: {reasons[0]}" if reasons else NOT_MEASURED)
    return Cell(tuple(bars))
