"""Charts of the diagnoses: of whom the model says “has it”, by tier, and the excess with the policy's limit.

Owns which numbers a chart shows. A chart without anything to draw says so in words.
"""

from typing import Final

from clinaudit.reports.figures.bars import (
    SERIES,
    Bar,
    BarFigure,
    Cell,
    Scale,
    Swatch,
    difference_bar,
    difference_scale,
    share_bar,
    tier_row,
)
from clinaudit.reports.schema.disclosure import MeanResults, PairResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import list_tiers
from clinaudit.reports.wording.captions import excess_caption, rule_limit
from clinaudit.reports.wording.names import ARM_WORDS, display_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, is_measured, number_text, range_text

_EXCESS: Final = "auroc_all"
_STATED: Final = ("sensitivity", "false_positive_rate")
_SWATCHES: Final = (
    Swatch("trained has", "trained on, have it"),
    Swatch("trained has-not", "trained on, do not"),
    Swatch("never has", "never seen, have it"),
    Swatch("never has-not", "never seen, do not"),
)


def stated_figure(results: RunResults) -> BarFigure:
    """Return of whom the model says “has it”: a row a tier, the mean and each diagnosis, four bars a cell."""
    by_diagnosis = results.disclosure.by_diagnosis
    rows = []
    for tier in list_tiers(results):
        mean = results.disclosure.mean.get(tier)
        cells = [_stated_cell(mean, is_numbered=True)]
        cells += [_stated_cell(tiers.get(tier), is_numbered=False) for tiers in by_diagnosis.values()]
        rows.append(tier_row(tier, cells))
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    columns = ("Someone who knows …", "Mean", *map(display_title, by_diagnosis))
    swatches = _SWATCHES if any(mean.nontrain for mean in results.disclosure.mean.values()) else _SWATCHES[:2]
    title = "Patients it says “have it”"
    return BarFigure("stated", title, "", columns, tuple(rows), swatches=swatches if rows else ())


def _stated_cell(measured: PairResults | MeanResults | None, *, is_numbered: bool) -> Cell:
    if measured is None or not any(is_measured(e) for e in _stated_of(measured)):
        return Cell((), NOT_MEASURED)
    bars: list[Bar] = []
    readings = []
    for arm in ARMS:
        metrics: dict[str, EstimateRange] | None = getattr(measured, arm)
        if not metrics:
            continue
        texts = [_share(metrics.get(metric)) for metric in _STATED]
        readings.append(f"{ARM_WORDS[arm]}: {texts[0]} of those who have it, {texts[1]} of those who do not")
        bars += [
            share_bar(metrics.get(metric), series=SERIES[arm], text=text if is_numbered else "")
            for metric, text in zip(_STATED, texts, strict=True)
        ]
    return Cell(tuple(bars), "" if is_numbered else "; ".join(readings))


def _stated_of(measured: PairResults | MeanResults) -> list[EstimateRange | None]:
    sides = (measured.train, measured.nontrain or {})
    return [side.get(metric) for side in sides for metric in _STATED]


def _share(estimate: EstimateRange | None) -> str:
    return range_text(estimate, share=True) if estimate is not None and is_measured(estimate) else NOT_MEASURED


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
        caption = f"Beyond guessing: what training adds was {NOT_MEASURED}. It needs patients whom the model never saw."
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
