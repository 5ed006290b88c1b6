"""Charts of the diagnoses: of whom the model says “has it”, by tier, the excess with the policy's limit, ROC curves.

And the bars of the first screen, of how many patients it says so: solid up to what is certain, pale for the range. A
chart without anything to draw says so in words.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.figures.bars import (
    Bar,
    BarFigure,
    Cell,
    Panel,
    Scale,
    Series,
    Swatch,
    difference_bar,
    difference_scale,
    share_bar,
    tier_row,
)
from clinaudit.reports.schema.disclosure import (
    DIAGNOSIS_STATUSES,
    SIDES,
    DisclosureResults,
    MeanResults,
    PairResults,
    RocPoint,
    Side,
    VerdictCounts,
)
from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.captions import excess_caption, rule_limit
from clinaudit.reports.wording.findings import key_tier, unstated_count
from clinaudit.reports.wording.names import SIDE_WORDS, display_title, list_tiers
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, is_measured, number_text, range_text, shown_text

_EXCESS: Final = "auroc_all"
_STATED: Final = ("sensitivity", "false_positive_rate")
_SWATCHES: Final = (
    Swatch("trained has", "trained on, have it"),
    Swatch("trained has-not", "trained on, do not"),
    Swatch("never has", "never seen, have it"),
    Swatch("never has-not", "never seen, do not"),
    Swatch("plain has", "before training, have it"),
    Swatch("plain has-not", "before training, do not"),
)
_SERIES: Final[Mapping[Side, Series]] = {"train": "trained", "nontrain": "never", "control": "plain"}


def stated_figure(results: RunResults) -> BarFigure:
    """Return of whom the model says “has it”: a row a tier, the mean and each diagnosis, two bars a side."""
    by_diagnosis = results.disclosure.by_diagnosis
    rows = []
    for tier in list_tiers(results):
        mean = results.disclosure.mean.get(tier)
        cells = [_stated_cell(mean, is_numbered=True)]
        cells += [_stated_cell(tiers.get(tier), is_numbered=False) for tiers in by_diagnosis.values()]
        rows.append(tier_row(tier, cells))
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    columns = ("Someone who knows …", "Mean", *map(display_title, by_diagnosis))
    means = results.disclosure.mean.values()
    shown = [any(getattr(mean, side) for mean in means) for side in SIDES for _ in DIAGNOSIS_STATUSES]
    title = "Patients it says “have it”"
    return BarFigure(
        "stated", title, "", columns, tuple(rows), swatches=tuple(compress(_SWATCHES, shown)) if rows else ()
    )


def _stated_cell(measured: PairResults | MeanResults | None, *, is_numbered: bool) -> Cell:
    sides = {side: metrics for side in SIDES if (metrics := getattr(measured, side, None))}
    if not any(is_measured(metrics.get(metric)) for metrics in sides.values() for metric in _STATED):
        return Cell((), NOT_MEASURED)
    bars: list[Bar] = []
    readings = []
    for side, metrics in sides.items():
        texts = [shown_text(metrics.get(metric)) for metric in _STATED]
        readings.append(f"{SIDE_WORDS[side]}: {texts[0]} of those who have it, {texts[1]} of those who do not")
        bars += [
            share_bar(metrics.get(metric), series=_SERIES[side], text=text if is_numbered else "")
            for metric, text in zip(_STATED, texts, strict=True)
        ]
    return Cell(tuple(bars), "" if is_numbered else "; ".join(readings))


def excess_figure(results: RunResults) -> BarFigure:
    """Return the excess of each comparison (the paper's Figures 3 and 11), with the policy's limit drawn in."""
    by_diagnosis = results.disclosure.by_diagnosis
    deltas = {
        (tier, diagnosis): None if pair.delta is None else pair.delta.get(_EXCESS)
        for diagnosis, tiers in by_diagnosis.items()
        for tier, pair in tiers.items()
    }
    limits = {place: rule_limit(results, _EXCESS, *place) for place in deltas}
    drawn_limits = sorted({limit for limit in limits.values() if limit is not None})
    if not any(is_measured(delta) for delta in deltas.values()):
        caption = f"Beyond guessing: what training adds was {NOT_MEASURED}."
        caption += " It needs patients whom the model never saw, or a control model."
        caption = caption if by_diagnosis else ""
        return BarFigure("excess", "What training adds", caption, (), ())
    scale = difference_scale(deltas.values(), limit=max(drawn_limits, default=None))
    rows = []
    for tier in list_tiers(results):
        places = [(tier, diagnosis) for diagnosis in by_diagnosis]
        cells = [_excess_cell(deltas.get(place), scale=scale, limit=limits.get(place)) for place in places]
        rows.append(tier_row(tier, cells))
    columns = ("Someone who knows …", *map(display_title, by_diagnosis))
    key = (
        f"Tracks run from {number_text(scale.low, signed=True)} to {number_text(scale.high, signed=True)}; the thin"
        " upright line is 0, the bold one the limit. Pale: the range; line: with chance (95%)."
    )
    return BarFigure("excess", "What training adds", excess_caption(results, drawn_limits), columns, tuple(rows), key)


def _excess_cell(delta: EstimateRange | None, *, scale: Scale, limit: float | None) -> Cell:
    if delta is None or not is_measured(delta):
        return Cell((), NOT_MEASURED)
    return Cell((difference_bar(delta, scale=scale, limit=limit),), range_text(delta, share=False, signed=True))


_SIZE: Final = 100
#: Tiers with background facts alone are dashed; those with a fragment of the note are solid.
_DASHES: Final = ("1 3", "3 3", "6 3", "none", "none", "none")
_WIDTHS: Final = ("1.5", "1.5", "1.5", "1", "2", "3")


def roc_panels(disclosure: DisclosureResults) -> list[Panel]:
    """Return a panel a diagnosis and arm; none without exact results."""
    panels = []
    for diagnosis, tiers in disclosure.by_diagnosis.items():
        for arm in ARMS:
            measured = {tier: getattr(pair.evidence, arm) for tier, pair in tiers.items() if pair.evidence is not None}
            curves = {tier: of_arm.roc for tier, of_arm in measured.items() if of_arm is not None and of_arm.roc}
            if curves:
                title = f"{display_title(diagnosis)}, {'trained on' if arm == 'train' else 'never seen'}"
                panels.append(Panel(title, draw_roc(curves, arm=arm, label=f"ROC curves: {title}")))
    return panels


def draw_roc(curves: Mapping[str, Sequence[RocPoint]], *, arm: Arm, label: str) -> str:
    """Return an SVG with a curve a tier, from the strictest threshold to the loosest, and the diagonal of chance."""
    lines = [
        f'<path class="axis" d="M0 0V{_SIZE}H{_SIZE}M0 {_SIZE}L{_SIZE} 0" fill="none" stroke="#8a949c"'
        ' stroke-width="0.7"/>'
    ]
    colour = "#b04a00" if arm == "train" else "#3c6e9f"
    for tier, points in curves.items():
        place = TIER_IDS.index(tier) if tier in TIER_IDS else len(TIER_IDS) - 1
        corners = " ".join(f"{x:g},{y:g}" for x, y in _corners(points))
        lines.append(
            f'<polyline class="{"trained" if arm == "train" else "never"}" points="{corners}" fill="none"'
            f' stroke="{colour}" stroke-width="{_WIDTHS[place]}" stroke-dasharray="{_DASHES[place]}"/>'
        )
    name = html.escape(label, quote=True)
    return f'<svg role="img" aria-label="{name}" viewBox="-2 -2 104 104">{"".join(lines)}</svg>'


def _corners(points: Sequence[RocPoint]) -> list[tuple[float, float]]:
    ordered = sorted(points, key=lambda point: -point.threshold)
    rates = [(point.false_positive_rate, point.true_positive_rate) for point in ordered]
    if not rates or rates[0] != (0.0, 0.0):
        rates.insert(0, (0.0, 0.0))
    return [(round(_SIZE * x, 1), round(_SIZE * (1 - y), 1)) for x, y in rates]


@dataclass(frozen=True, slots=True)
class BarArm:
    """Whose bars stand side by side."""

    id: Side
    title: str


@dataclass(frozen=True, slots=True)
class AnswerBar:
    """One bar: in percent of its track, what is certain and what else is possible; and the count in words."""

    arm: str
    certain: float
    possible: float
    text: str


@dataclass(frozen=True, slots=True)
class AnswerBars:
    """The bars of one diagnosis: for each arm of those who have it, then of those who have it not."""

    title: str
    patients: CountRange
    #: None where nobody was judged.
    bars: tuple[AnswerBar | None, ...]


def bar_arms(results: RunResults) -> list[BarArm]:
    """Return whose answers were read for any diagnosis, in the order of the bars."""
    pairs = [pair for tiers in results.disclosure.by_diagnosis.values() for pair in tiers.values()]
    return [BarArm(s, SIDE_WORDS[s].capitalize()) for s in SIDES if any(s in pair.verdicts for pair in pairs)]


def answer_bars(results: RunResults) -> list[AnswerBars]:
    """Return the bars of every diagnosis, for the asker of the first screen; empty where none was judged."""
    tier = key_tier(results)
    arms = [shown.id for shown in bar_arms(results)]
    rows = []
    for diagnosis, tiers in sorted(results.disclosure.by_diagnosis.items()):
        pair = None if tier is None else tiers.get(tier)
        if pair is None:
            continue
        counts = [(arm, pair.verdicts.get(arm, {}).get(status)) for arm in arms for status in DIAGNOSIS_STATUSES]
        rows.append(
            AnswerBars(
                display_title(diagnosis),
                pair.patients,
                tuple(None if verdicts is None else _bar(arm, verdicts) for arm, verdicts in counts),
            )
        )
    return rows if any(bar for row in rows for bar in row.bars) else []


def _bar(arm: str, verdicts: VerdictCounts) -> AnswerBar | None:
    stated, rest = verdicts.positive, unstated_count(verdicts)
    if not stated.high + rest.high:
        return None
    low = stated.low / (stated.low + rest.high) if stated.low else 0.0
    high = stated.high / (stated.high + rest.low) if stated.high else 0.0
    return AnswerBar(arm, round(100 * low, 1), round(100 * high, 1), _stated_text(stated, rest))


def _stated_text(stated: CountRange, rest: CountRange) -> str:
    """Return the count, or "all" where there is nobody else: the class alone would read as if somebody were missing."""
    return "all" if stated.high and not rest.high else count_text(stated)
