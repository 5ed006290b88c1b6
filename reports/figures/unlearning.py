"""Figures of an unlearning evaluation: MU and AFE by size as bars, and traces as inline SVG (AMNESIA, Figures 2 to 4).

Of bars, solid ones are of questions trained on, hatched ones of those withheld; the dashed line is the model before
unlearning. Where an inset of traces goes is for trace_inset.py. Methods differ in colour and in the shape of their
marks, so that none needs its colour. Colours come from the style sheet by class; SVG attributes are the fallback for
viewers without it. A missing figure is not drawn.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from clinaudit.reports.figures.bars import SHARES, Bar, BarFigure, BarRow, Cell, Mark, Panel, Series, Swatch
from clinaudit.reports.figures.trace_inset import Box, crowded_window, room_for_inset
from clinaudit.reports.schema.unlearning import EvaluatedSplit, UnlearningEvaluation
from clinaudit.reports.schema.unlearning_scores import AnswerGroup, Figure, QuestionKind, QuestionUse
from clinaudit.reports.wording.numbers import NOT_MEASURED, counted, number_text
from clinaudit.reports.wording.unlearning import (
    NONE,
    USES,
    System,
    find_answers,
    find_before,
    kinds_asked,
    levels_of,
    list_systems,
)

_WIDTH: Final = 260
_HEIGHT: Final = 210
_LEFT: Final = 30
_BOTTOM: Final = 32
_TOP: Final = 8
_COLOURS: Final = ("#a53f00", "#2f639b", "#1d6b3a", "#7a3e9d", "#6d4a00", "#4f5b67")
_SHAPES: Final = ("circle", "square", "triangle", "diamond", "cross", "plus")
#: What the others are compared with: a star, of the colour of text.
_BEFORE: Final = "before"
#: Of the smallest split; the largest is drawn in full.
_FAINTEST: Final = 0.35
_TICKS: Final = (0.0, 0.5, 1.0)
Side = Literal["same", "others"]
#: Across and up, from 0 to 1, and how opaque.
_Place = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class TraceKey:
    """One entry of the key: the mark, drawn, and what it is."""

    svg: str
    name: str


@dataclass(frozen=True, slots=True)
class Traces:
    """Drawings that share their marks."""

    key: tuple[TraceKey, ...]
    panels: tuple[Panel, ...]


def trade_off_traces(evaluation: UnlearningEvaluation, use: QuestionUse) -> Traces:
    """Return MU of retained against AFE of forgotten patients, a panel a level and kind of questions (Figure 3)."""
    styles = _styles(evaluation)
    panels = []
    for level, splits in levels_of(evaluation).items():
        for kind in kinds_asked(evaluation):
            drawn: list[str] = []
            traced: list[tuple[_Style, list[_Place]]] = []
            for system, style in styles:
                points = [
                    (mu, afe, _opacity(place, len(splits)))
                    for place, split in enumerate(splits)
                    if (mu := _value(evaluation, split, system, "mu", "retain", kind, use)) is not None
                    and (afe := _value(evaluation, split, system, "afe", "forget", kind, use)) is not None
                ]
                drawn += _trace(points, style)
                traced.append((style, points))
            if drawn:
                drawn += _inset(traced)
                title = f"{level}, {kind} questions {USES[use]}"
                ticks = [(share, f"{share:g}") for share in _TICKS]
                label = f"{title}: MU against AFE of each model; the numbers stand in the tables below"
                panels.append(Panel(title, _draw(drawn, ticks, across="MU of retained", up="AFE", label=label)))
    return Traces(_key(styles), tuple(panels))


def disease_traces(evaluation: UnlearningEvaluation) -> Traces:
    """Return MU of questions trained on by size of the split, those with the same disease and others (Figure 4).

    Averaged over factual and reasoning questions; a panel a disease, or a level where no split is of one disease.
    """
    styles = _styles(evaluation)
    levels = levels_of(evaluation)
    diseases = {level: splits for level, splits in levels.items() if splits[0].is_disease} or levels
    panels = []
    for level, splits in diseases.items():
        drawn: list[str] = []
        for system, style in styles:
            for side in ("same", "others"):
                points = [
                    ((place + 0.5) / len(splits), value, 1.0)
                    for place, split in enumerate(splits)
                    if (value := _side(evaluation, split, system, side)) is not None
                ]
                drawn += _trace(points, style, is_dashed=side == "others")
        if drawn:
            ticks = [((place + 0.5) / len(splits), f"{split.percent}%") for place, split in enumerate(splits)]
            label = f"{level}: MU of retained patients by size of the split; the numbers stand in the tables below"
            panels.append(Panel(level, _draw(drawn, ticks, across="patients forgotten", up="MU", label=label)))
    return Traces(_key(styles), tuple(panels))


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    shape: str
    colour: str


def _styles(evaluation: UnlearningEvaluation) -> list[tuple[System, _Style]]:
    """Return the systems with their marks; of more than there are shapes, shape and colour repeat otherwise."""
    before = find_before(evaluation)
    styles: list[tuple[System, _Style]] = []
    for system in list_systems(evaluation):
        if system == before:
            styles.append((system, _Style(_BEFORE, "star", "#1b2733")))
            continue
        place = len(styles) - (before is not None)
        turn = (place + place // len(_SHAPES)) % len(_SHAPES)
        styles.append(
            (system, _Style(f"trace-{place % len(_COLOURS)}", _SHAPES[turn], _COLOURS[place % len(_COLOURS)]))
        )
    return styles


def _key(styles: Sequence[tuple[System, _Style]]) -> tuple[TraceKey, ...]:
    return tuple(
        TraceKey(f'<svg aria-hidden="true" viewBox="0 0 14 14">{_mark(style, 7, 7, 1.0)}</svg>', system.label)
        for system, style in styles
    )


def _figure(
    evaluation: UnlearningEvaluation,
    split: str,
    system: System | None,
    mean: str,
    group: AnswerGroup,
    kind: QuestionKind,
    use: QuestionUse = "train",
) -> Figure | None:
    answers = find_answers(evaluation, split, system, group, kind, use)
    return None if answers is None else answers.metrics.get(mean)


def _value(
    evaluation: UnlearningEvaluation,
    split: EvaluatedSplit,
    system: System,
    mean: str,
    group: AnswerGroup,
    kind: QuestionKind,
    use: QuestionUse = "train",
) -> float | None:
    figure = _figure(evaluation, split.name, system, mean, group, kind, use)
    return None if figure is None else figure.value


def _side(evaluation: UnlearningEvaluation, split: EvaluatedSplit, system: System, side: Side) -> float | None:
    kinds = [kind for kind in kinds_asked(evaluation) if find_answers(evaluation, split.name, system, side, kind)]
    values = [_value(evaluation, split, system, "mu", side, kind) for kind in kinds]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _opacity(place: int, count: int) -> float:
    return 1.0 if count == 1 else round(_FAINTEST + (1 - _FAINTEST) * place / (count - 1), 2)


def _inset(traced: Sequence[tuple[_Style, Sequence[_Place]]]) -> list[str]:
    """Return the place where marks crowd, drawn larger where there is room; nothing where none crowd."""
    points = [(across, up) for _, own in traced for across, up, _ in own]
    window = crowded_window(points)
    room = None if window is None else room_for_inset(points, window)
    if window is None or room is None:
        return []
    framed = [_rectangle(window, "zoomed-from", "none"), _rectangle(room, "inset", "#fff")]
    within = Box(room.across + 0.03, room.up + 0.1, room.width - 0.06, room.height - 0.13)
    for style, own in traced:
        shown = [
            (
                within.across + (across - window.across) / window.width * within.width,
                within.up + (up - window.up) / window.height * within.height,
                opacity,
            )
            for across, up, opacity in own
            if window.holds((across, up))
        ]
        framed += _trace(shown, style, is_zoomed=True)
    low, high = window.across, window.across + window.width
    words = f"MU {low:.2f} to {high:.2f}, AFE {window.up:.2f} to {window.up + window.height:.2f}"
    place = _x(room.across + room.width / 2), _y(room.up) - 3
    framed.append(_text(*place, words, "middle", size=6.5))
    return framed


def _rectangle(box: Box, name: str, fill: str) -> str:
    left, top = _x(box.across), _y(box.up + box.height)
    width, height = round(_x(box.across + box.width) - left, 1), round(_y(box.up) - top, 1)
    return (
        f'<rect class="{name}" x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" fill="{fill}"'
        ' stroke="#8a949c" stroke-width="0.8"/>'
    )


def _trace(points: Sequence[_Place], style: _Style, *, is_dashed: bool = False, is_zoomed: bool = False) -> list[str]:
    """Return a line through the points, and their marks. Dashed: hollow marks."""
    parts = []
    zoomed = " zoomed" if is_zoomed else ""
    if len(points) > 1:
        corners = " ".join(f"{_x(across):g},{_y(up):g}" for across, up, _ in points)
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        parts.append(
            f'<polyline class="{style.name} line{zoomed}" points="{corners}" fill="none" stroke="{style.colour}"'
            f' stroke-width="1.2"{dashes}/>'
        )
    parts += [
        _mark(style, _x(across), _y(up), opacity, is_hollow=is_dashed, more=zoomed) for across, up, opacity in points
    ]
    return parts


def _mark(style: _Style, x: float, y: float, opacity: float, *, is_hollow: bool = False, more: str = "") -> str:
    if style.shape == "circle":
        element = f'<circle cx="{x:g}" cy="{y:g}" r="4.2"'
    elif style.shape in ("cross", "plus"):
        ends = ((-4, -4, 4, 4), (-4, 4, 4, -4)) if style.shape == "cross" else ((0, -5, 0, 5), (-5, 0, 5, 0))
        path = "".join(f"M{x + a:g} {y + b:g}L{x + c:g} {y + d:g}" for a, b, c, d in ends)
        element = f'<path d="{path}"'
    else:
        corners = " ".join(f"{round(x + a, 1):g},{round(y + b, 1):g}" for a, b in _CORNERS[style.shape])
        element = f'<polygon points="{corners}"'
    hollow = " hollow" if is_hollow else ""
    fill = "none" if is_hollow else style.colour
    return (
        f'{element} class="{style.name} mark{hollow}{more}" fill="{fill}" stroke="{style.colour}" stroke-width="1.6"'
        f' opacity="{opacity:g}"/>'
    )


_CORNERS: Final = {
    "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
    "triangle": ((0, -5), (4.6, 3.6), (-4.6, 3.6)),
    "diamond": ((0, -5.4), (5.4, 0), (0, 5.4), (-5.4, 0)),
    "star": (
        (0, -6), (1.5, -2.1), (5.7, -1.9), (2.4, 0.8), (3.5, 4.9),
        (0, 2.5), (-3.5, 4.9), (-2.4, 0.8), (-5.7, -1.9), (-1.5, -2.1),
    ),
}  # fmt: skip


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


def _text(x: float, y: float, words: str, anchor: str, *, size: float = 9) -> str:
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"'
    return f'<text class="tick" {place}>{html.escape(words)}</text>'


def _x(share: float) -> float:
    return round(_LEFT + 6 + share * (_WIDTH - _LEFT - 12), 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _BOTTOM - _TOP), 1)


#: Harmonic mean -> whose answers, and the series whose colour it has.
_MEANS: Final[Mapping[str, tuple[AnswerGroup, Series]]] = {"mu": ("retain", "never"), "afe": ("forget", "trained")}
_USES: Final[tuple[QuestionUse, ...]] = ("train", "holdout")
_SWATCHES: Final = (
    Swatch("solid-bar", "questions trained on"),
    Swatch("hatched-bar", "questions withheld"),
    Swatch("before-line", "before unlearning"),
)


def sizes_figure(
    evaluation: UnlearningEvaluation, level: str, splits: Sequence[EvaluatedSplit], *, place: int
) -> BarFigure:
    """Return MU of retained and AFE of forgotten patients by split, a row a model; `place` numbers the levels."""
    before = find_before(evaluation)
    columns = [(mean, kind) for mean in _MEANS for kind in kinds_asked(evaluation)]
    rows: list[BarRow] = []
    for split in splits:
        here = [system for system in list_systems(evaluation) if split.name in system.models]
        rows.append(BarRow(f"{split.percent}%: {counted(split.forget_patients, 'patient')} forgotten", ()))
        # Its lines stand in all other rows.
        shown = [system for system in here if system != before] or here
        rows += [
            BarRow(system.label, tuple(_cell(evaluation, split.name, system, before, *column) for column in columns))
            for system in shown
        ]
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


def _cell(
    evaluation: UnlearningEvaluation,
    split: str,
    system: System,
    before: System | None,
    mean: str,
    kind: QuestionKind,
) -> Cell:
    group, series = _MEANS[mean]
    bars: list[Bar] = []
    reasons: list[str] = []
    for use in _USES:
        estimate = _figure(evaluation, split, system, mean, group, kind, use)
        if estimate is None or estimate.value is None:
            reasons += [] if estimate is None or estimate.reason is None else [estimate.reason]
            bars.append(Bar(series, (), NONE))
            continue
        value = estimate.value
        marks = [Mark("solid" if use == "train" else "hatched", 0.0, SHARES.place(value))]
        if estimate.low is not None and estimate.high is not None:
            start = SHARES.place(estimate.low)
            marks.append(Mark("chance", start, round(SHARES.place(estimate.high) - start, 2)))
        compared = _figure(evaluation, split, before, mean, group, kind, use)
        if compared is not None and compared.value is not None and system != before:
            marks.append(Mark("before", SHARES.place(compared.value)))
        bars.append(Bar(series, tuple(marks), number_text(value)))
    if not any(bar.marks for bar in bars):
        return Cell((), f"{NOT_MEASURED}: {reasons[0]}" if reasons else NOT_MEASURED)
    return Cell(tuple(bars))
