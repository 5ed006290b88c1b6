"""Figures of the disclosure of sensitive diagnoses: deltas (train minus nontrain) by tier, and ROC curves.

Owns which estimates a chart shows and how they are captioned. A figure without anything to draw says so in words.
"""

from collections.abc import Mapping
from typing import Literal

from clinaudit.reports.figures.charts import Row, draw_deltas, draw_roc
from clinaudit.reports.figures.drawn_ranges import drawn_range, is_drawn
from clinaudit.reports.schema.disclosure import Disclosure, TestedDelta
from clinaudit.reports.schema.estimate import Estimate
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Figure, Table, list_tiers, numbered_tier_title
from clinaudit.reports.wording.captions import delta_caption
from clinaudit.reports.wording.names import (
    HEADLINE_TIER,
    METRIC_TITLES,
    display_title,
    is_share,
    join_words,
    tier_number,
)
from clinaudit.reports.wording.numbers import NOT_MEASURED, SUPPRESSED, estimate_text, is_suppressed, number_text

_MEAN = "Mean over diagnoses"


def roc_figure(results: Results, *, arm: Literal["train", "nontrain"]) -> Figure:
    """ROC curves (the paper's Figures 9 and 10).

    A suppressed curve is drawn as the box of its published rates over all patients.
    """
    rows: list[Row] = []
    listed: list[tuple[str, ...]] = []
    curves = boxes = hidden = 0
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier in list_tiers(results):
            pair = tiers.get(tier)
            side: Disclosure | None = None if pair is None else getattr(pair, arm)
            if side is None:
                continue
            place = {"panel": display_title(diagnosis), "tier": numbered_tier_title(tier)}
            rates = (estimate_text(side.sensitivity, share=True), estimate_text(side.false_positive_rate, share=True))
            if side.roc:
                curves += 1
                points = [
                    (point.false_positive_rate, point.true_positive_rate)
                    for point in sorted(side.roc, key=lambda point: -point.threshold)
                ]
                if points[0] != (0.0, 0.0):
                    points.insert(0, (0.0, 0.0))
                rows += [{**place, "x": x, "y": y, "order": order} for order, (x, y) in enumerate(points)]
                curve = ", ".join(f"({number_text(x)}, {number_text(y)})" for x, y in points)
            else:
                box = _box(side)
                boxes += box is not None
                rows += [] if box is None else [{**place, **box}]
                is_hidden = is_suppressed(side.auroc) or box is not None
                hidden += is_hidden and box is None
                curve = SUPPRESSED if is_hidden else NOT_MEASURED
            listed.append((display_title(diagnosis), numbered_tier_title(tier), *rates, curve))
    caption = _roc_caption(arm, curves, boxes, hidden)
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    tiers_drawn = [numbered_tier_title(tier) for tier in list_tiers(results)]
    svg = draw_roc(rows, panels=panels, tiers=tiers_drawn, label=caption) if rows else ""
    heads = ("Diagnosis", "Tier", "Sensitivity", "False-positive rate", "Curve among mentions (FPR, TPR)")
    table = Table(f"Operating points, {arm}", heads, tuple(listed))
    return Figure(f"roc-{arm}", f"ROC by diagnosis, {arm}", caption, svg, table)


def _box(side: Disclosure) -> dict[str, float] | None:
    """Return the published rates as a box with its middle, if both are published."""
    (x, x2), (y, y2) = (_published_ends(rate) for rate in (side.false_positive_rate, side.sensitivity))
    if x is None or x2 is None or y is None or y2 is None:
        return None
    return {"x": x, "x2": x2, "y": y, "y2": y2, "middle_x": (x + x2) / 2, "middle_y": (y + y2) / 2}


def _published_ends(rate: Estimate) -> tuple[float | None, float | None]:
    if rate.value is not None:
        return rate.value, rate.value
    drawn = drawn_range(rate)
    return drawn["low"], drawn["high"]


def _roc_caption(arm: str, curves: int, boxes: int, hidden: int) -> str:
    if not curves and not boxes:
        return f"ROC in {arm} was {NOT_MEASURED} or is suppressed for every diagnosis and tier."
    parts = []
    if curves:
        parts.append(
            f"{curves} {'curves' if curves > 1 else 'curve'} among the generations that mention the diagnosis; the"
            " dotted diagonal is chance."
        )
    if boxes:
        parts.append(
            f"{boxes} {'curves are' if boxes > 1 else 'curve is'} suppressed and drawn as a box, line or dot instead:"
            " sensitivity and false-positive rate over all patients, as wide as the hidden counts allow; the hollow"
            " mark in the middle of a box or line says of which tier it is, and no more. Above the diagonal is better"
            " than chance, sampling error aside."
        )
    if hidden:
        parts.append(
            f"Not drawn: {hidden} {'curves' if hidden > 1 else 'curve'} of which the rates are suppressed, too."
        )
    return " ".join(parts)


def delta_figure(results: Results, *, metric: str) -> Figure:
    """Deltas (the paper's Figures 3 and 11): train minus nontrain by tier, one panel a diagnosis, the mean first."""
    rows: list[Row] = []
    listed: list[tuple[str, ...]] = []
    share = is_share(metric)
    series: dict[str, dict[str, Estimate | None]] = {
        _MEAN: {tier: mean.delta.get(metric) for tier, mean in results.disclosure.mean.items()}
    }
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        series[display_title(diagnosis)] = {
            tier: None if pair.delta is None else getattr(pair.delta, metric) for tier, pair in tiers.items()
        }
    for panel, deltas in series.items():
        for tier in list_tiers(results):
            if tier in deltas:
                delta = deltas[tier]
                ranges = {end: getattr(delta, end, None) for end in ("confidence_low", "confidence_high")}
                rows.append({"panel": panel, "tier": tier_number(tier), **_delta_ends(delta, metric), **ranges})
                shown = estimate_text(delta, share=share, signed=True)
                listed.append((panel, numbered_tier_title(tier), shown, _confidence_range(delta)))
    at_headline = {
        name: delta
        for name, deltas in series.items()
        for delta in [deltas.get(HEADLINE_TIER)]
        if name != _MEAN and is_drawn(_delta_ends(delta, metric))
    }
    caption = delta_caption(at_headline, METRIC_TITLES[metric]) + _not_drawn(series, metric)
    svg = ""
    if any(row["value"] is not None or row["low"] is not None for row in rows):
        svg = draw_deltas(
            rows,
            panels=list(series),
            tiers=[tier_number(tier) for tier in list_tiers(results)],
            title="train minus nontrain",
            label=caption,
        )
    table = Table(
        f"{METRIC_TITLES[metric]}, train minus nontrain{'' if share else ' (bands do not subtract)'}",
        ("Diagnosis", "Tier", "Difference", "With chance, where a band"),
        tuple(listed),
    )
    return Figure(
        f"delta-{metric.replace('_', '-')}", f"Train minus nontrain: {METRIC_TITLES[metric]}", caption, svg, table
    )


def _confidence_range(delta: Estimate | None) -> str:
    """Return where a band's 95% interval may reach, in words; nothing for what has an interval of its own."""
    if not isinstance(delta, TestedDelta) or delta.confidence_low is None or delta.confidence_high is None:
        return "–"
    return f"{number_text(delta.confidence_low, signed=True)} to {number_text(delta.confidence_high, signed=True)}"


def _delta_ends(delta: Estimate | None, metric: str) -> dict[str, float | None]:
    return drawn_range(delta, share=is_share(metric), signed=True)


def _not_drawn(series: Mapping[str, Mapping[str, Estimate | None]], metric: str) -> str:
    """Return at which tiers which differences are missing from the chart, as sentences after its caption."""
    absent: dict[str, list[str]] = {}
    for name, deltas in series.items():
        for tier, delta in deltas.items():
            if not is_drawn(_delta_ends(delta, metric)):
                absent.setdefault(tier, []).append(name)
    every = [name for name, deltas in series.items() if deltas]
    if not absent or all(len(absent.get(tier, ())) == len(every) for deltas in series.values() for tier in deltas):
        return ""
    places = [
        f"tier {tier_number(tier)} (" + ("all" if set(names) == set(every) else join_words(names)) + ")"
        for tier, names in sorted(absent.items(), key=lambda item: tier_number(item[0]))
    ]
    return f" Not drawn, since suppressed or {NOT_MEASURED}: {'; '.join(places)}."
