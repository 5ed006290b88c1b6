"""The charts as inline SVG: rows of plain values in, the text of an `<svg>` out.

Owns marks, scales and sizes. Knows nothing of results: the other modules of this room choose rows and captions. The
same rows give the same bytes; the SVG names no address but XML namespaces. Altair is imported where it is used.
"""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from clinaudit.reports.figures.palette import (
    ARM_COLOURS,
    COMPOSITION,
    GRID,
    INK,
    MUTED_INK,
    PAPER,
    RULE,
    TIER_COLOURS,
    TIER_SHAPES,
)

Row = Mapping[str, str | float | None]
_PANEL_WIDTH = 190
_BAND_OPACITY = 0.38
#: The outline of a band: one whose ends are the same is a line, and must be seen.
_BAND_STROKE = 1
_ARM_NAMES = ("train", "nontrain")


def draw_tier_estimates(
    rows: Sequence[Row], *, panels: Sequence[str], tiers: Sequence[str], label: str, columns: int = 3
) -> str:
    """The paper's Figures 2 and 8: one panel a metric, one line a tier (or a group of patients), train over nontrain.

    Rows: panel, tier, arm, value, low, high; without a value, `low` to `high` is drawn as a band.
    """
    import altair as alt

    y = alt.Y("tier:N", sort=list(tiers), title=None, axis=alt.Axis(labelLimit=250, labelPadding=8))
    offset = alt.YOffset("arm:N", sort=list(_ARM_NAMES), scale=alt.Scale(paddingOuter=0.25))
    colour = alt.Color("arm:N", scale=_arm_scale(alt), legend=alt.Legend(title=None, orient="top", symbolOpacity=1))
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=list(_ARM_NAMES), range=["circle", "diamond"]), legend=None)
    low = alt.X(
        "low:Q",
        title=None,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.5, 1]),
    )
    base = alt.Chart(_data(alt, rows))
    layers = alt.layer(
        base.transform_filter("!isValid(datum.value) && isValid(datum.low)")
        .mark_bar(height=9, fillOpacity=_BAND_OPACITY, strokeWidth=_BAND_STROKE)
        .encode(y=y, yOffset=offset, x=low, x2="high:Q", color=colour, stroke=_arm_stroke(alt)),
        base.transform_filter("isValid(datum.value) && isValid(datum.low)")
        .mark_rule(strokeWidth=2)
        .encode(y=y, yOffset=offset, x=low, x2="high:Q", color=colour),
        base.transform_filter("isValid(datum.value)")
        .mark_point(filled=True, size=55, opacity=1)
        .encode(y=y, yOffset=offset, x=alt.X("value:Q"), color=colour, shape=shape),
    ).properties(width=_PANEL_WIDTH, height=alt.Step(17))
    chart = layers.facet(facet=alt.Facet("panel:N", sort=list(panels), title=None), columns=columns, spacing=34)
    return _svg(chart, label)


def draw_composition(rows: Sequence[Row], *, sections: Sequence[str], label: str) -> str:
    """The paper's Figure 4: memorized tokens by note section, split by content and patient specificity.

    Rows: section, kind (one of `palette.COMPOSITION`), tokens, order.
    """
    import altair as alt

    drawn = {row["kind"] for row in rows}
    kinds = {kind: colour for kind, colour in COMPOSITION.items() if kind in drawn}
    chart = (
        alt.Chart(_data(alt, rows))
        .mark_bar(stroke=INK, strokeWidth=0.4)
        .encode(
            y=alt.Y("section:N", sort=list(sections), title=None, axis=alt.Axis(labelLimit=220)),
            x=alt.X("tokens:Q", title="memorized tokens", axis=alt.Axis(format=",d", tickCount=5)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                legend=alt.Legend(title=None, orient="top", columns=2, labelLimit=260, columnPadding=48),
            ),
            order=alt.Order("order:Q"),
        )
        .properties(width=520, height=alt.Step(24))
    )
    return _svg(chart, label)


def draw_roc(rows: Sequence[Row], *, panels: Sequence[str], tiers: Sequence[str], label: str) -> str:
    """The paper's Figures 9 and 10: one panel a diagnosis, one line a tier; each tier has a mark of its own.

    Rows: panel, tier, and either x, y, order (a point of a curve) or x, x2, y, y2, middle_x, middle_y (the box of a
    suppressed curve).
    """
    import altair as alt

    base = alt.Chart(_data(alt, rows))
    rate = alt.Axis(format="%", values=[0, 0.5, 1])
    x = alt.X("x:Q", title="false-positive rate", scale=alt.Scale(domain=[0, 1]), axis=rate)
    y = alt.Y("y:Q", title="true-positive rate", scale=alt.Scale(domain=[0, 1]), axis=rate)
    count = len(tiers)
    names = list(tiers)
    # The same legend for colour and shape makes one of both.
    legend = alt.Legend(title=None, orient="top", columns=2, columnPadding=48, labelLimit=280, symbolOpacity=1)
    colour = alt.Color("tier:N", scale=alt.Scale(domain=names, range=list(TIER_COLOURS[:count])), legend=legend)
    shape = alt.Shape("tier:N", scale=alt.Scale(domain=names, range=list(TIER_SHAPES[:count])), legend=legend)
    stroke = alt.Stroke("tier:N", scale=alt.Scale(domain=names, range=list(TIER_COLOURS[:count])), legend=None)
    curves = base.transform_filter("!isValid(datum.x2)")
    layers = alt.layer(
        base.transform_aggregate(rows="count()", groupby=["panel"])
        .transform_calculate(x="0", x2="1", y="0", y2="1")
        .mark_rule(color=RULE, strokeDash=[2, 3])
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        base.transform_filter("isValid(datum.x2)")
        .mark_rect(fillOpacity=0.12, strokeWidth=1.2)
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour, stroke=stroke),
        base.transform_filter("isValid(datum.x2) && !(datum.x2 == datum.x && datum.y2 == datum.y)")
        .mark_point(filled=False, fill=PAPER, size=40, strokeWidth=1.5, opacity=1)
        .encode(x=alt.X("middle_x:Q"), y=alt.Y("middle_y:Q"), stroke=stroke, shape=shape),
        base.transform_filter("isValid(datum.x2) && datum.x2 == datum.x && datum.y2 == datum.y")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape),
        curves.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, order=alt.Order("order:Q")),
        curves.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
    ).properties(width=_PANEL_WIDTH, height=_PANEL_WIDTH)
    return _svg(_wrap(alt, layers, panels), label)


def draw_deltas(rows: Sequence[Row], *, panels: Sequence[str], tiers: Sequence[str], title: str, label: str) -> str:
    """The paper's Figures 3 and 11: train minus nontrain by tier, one panel a diagnosis, their mean first.

    Rows: panel, tier (its number), value, low, high, confidence_low, confidence_high; without a value, `low` to `high`
    is drawn as a band, and the confidence range as a line through it.
    """
    import altair as alt

    base = alt.Chart(_data(alt, rows))
    # Every tier keeps its place on the axis, also one of which nothing is drawn.
    x = alt.X("tier:N", scale=alt.Scale(domain=list(tiers)), title="tier", axis=alt.Axis(labelAngle=0))
    ends = ("value", "low", "high", "confidence_low", "confidence_high")
    reach = max((abs(float(row.get(end) or 0)) for row in rows for end in ends), default=0.1)
    domain = [-min(1.0, reach + 0.05), min(1.0, reach + 0.05)]
    low = alt.Y("low:Q", title=title, scale=alt.Scale(domain=domain, nice=True), axis=alt.Axis(format="+.1f"))
    layers = alt.layer(
        base.transform_filter("!isValid(datum.value) && isValid(datum.low)")
        .mark_bar(
            width=16,
            color=ARM_COLOURS["train"],
            fillOpacity=_BAND_OPACITY,
            stroke=ARM_COLOURS["train"],
            strokeWidth=_BAND_STROKE,
        )
        .encode(x=x, y=low, y2="high:Q"),
        base.transform_filter("isValid(datum.confidence_low)")
        .mark_rule(strokeWidth=1.2, color=ARM_COLOURS["train"])
        .encode(x=x, y=alt.Y("confidence_low:Q"), y2="confidence_high:Q"),
        base.transform_aggregate(rows="count()", groupby=["panel"])
        .transform_calculate(low="0")
        .mark_rule(color=RULE, strokeDash=[4, 3])
        .encode(y=low),
        base.transform_filter("isValid(datum.value) && isValid(datum.low)")
        .mark_rule(strokeWidth=2, color=ARM_COLOURS["train"])
        .encode(x=x, y=low, y2="high:Q"),
        base.transform_filter("isValid(datum.value)")
        .mark_point(filled=True, size=55, color=ARM_COLOURS["train"], opacity=1)
        .encode(x=x, y=alt.Y("value:Q")),
    ).properties(width=_PANEL_WIDTH, height=130)
    return _svg(_wrap(alt, layers, panels, columns=4), label)


def draw_bars(rows: Sequence[Row], *, names: Sequence[str], x_title: str, y_title: str, label: str) -> str:
    """The paper's Figure 12: one bar a bin. Rows: name, value."""
    import altair as alt

    chart = (
        alt.Chart(_data(alt, rows))
        .mark_bar(color=COMPOSITION["revealing, this patient only"], size=34)
        .encode(
            x=alt.X("name:N", sort=list(names), title=x_title, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=y_title, axis=alt.Axis(tickCount=5)),
        )
        .properties(width=max(200, 70 * len(names)), height=180)
    )
    return _svg(chart, label)


def draw_balance(rows: Sequence[Row], *, panels: Sequence[str], names: Sequence[str], label: str) -> str:
    """The paper's Table 4 as a love plot: |SMD| by diagnosis, one panel a contrast, one shape a covariate.

    Rows: panel (contrast), name (diagnosis), covariate, value, and before: whether of the candidates, drawn hollow.
    """
    import altair as alt

    base = alt.Chart(_data(alt, rows))
    x = alt.X("value:Q", title="|SMD|", axis=_smd_axis(alt, rows))
    covariates = ["age", "sex", "notes"]
    limits = [
        base.transform_aggregate(rows="count()", groupby=["panel"])
        .transform_calculate(value=str(limit))
        .mark_rule(color=RULE, strokeDash=dash)
        .encode(x=x)
        for limit, dash in ((0.1, [2, 3]), (0.25, [1, 0]))
    ]
    encoding = {
        "x": x,
        "y": alt.Y("name:N", sort=list(names), title=None),
        "shape": alt.Shape(
            "covariate:N",
            scale=alt.Scale(domain=covariates, range=["circle", "square", "triangle-up"]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        "color": alt.Color(
            "covariate:N",
            scale=alt.Scale(domain=covariates, range=[TIER_COLOURS[5], ARM_COLOURS["train"], TIER_COLOURS[2]]),
            legend=alt.Legend(title=None, orient="top"),
        ),
    }
    hollow = base.transform_filter("datum.before").mark_point(filled=False, size=45, opacity=0.6).encode(**encoding)
    points = base.transform_filter("!datum.before").mark_point(filled=True, size=60, opacity=1).encode(**encoding)
    layers = alt.layer(*limits, hollow, points).properties(width=_PANEL_WIDTH, height=alt.Step(20))
    chart = layers.facet(column=alt.Column("panel:N", sort=list(panels), title=None), spacing=22)
    return _svg(chart, label)


def draw_overlap(rows: Sequence[Row], *, panels: Sequence[str], series: Sequence[str], label: str) -> str:
    """Shares of patients by propensity, bins in order: one panel a diagnosis and arm, matched solid, candidates dashed.

    `series`: candidates with and without the diagnosis, then the matched. Rows: panel, place, series, value.
    """
    import altair as alt

    colours = [ARM_COLOURS["train"], ARM_COLOURS["nontrain"]] * 2
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=280, symbolType="stroke", symbolSize=400)
    layers = (
        alt.Chart(_data(alt, rows))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=25, filled=True))
        .encode(
            x=alt.X("place:O", title="bin, low to high propensity", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title="share of the group", axis=alt.Axis(format="%", tickCount=3)),
            color=alt.Color("series:N", scale=alt.Scale(domain=list(series), range=colours), legend=legend),
            strokeDash=alt.StrokeDash(
                "series:N", scale=alt.Scale(domain=list(series), range=[[3, 3], [3, 3], [1, 0], [1, 0]]), legend=legend
            ),
        )
        .properties(width=_PANEL_WIDTH, height=110)
    )
    return _svg(_wrap(alt, layers, panels).resolve_scale(x="independent"), label)


def _smd_axis(alt: Any, rows: Sequence[Row]) -> Any:
    # The limits, and what of the rest has room: a panel is narrow.
    reach = max((float(row["value"] or 0) for row in rows), default=0.0)
    ticks = [0, 0.1, 0.25, 0.5, 1] if reach <= 1 else [0, 0.25, 0.5, 1] if reach <= 2 else None
    return alt.Axis(values=ticks or alt.Undefined, tickCount=4, labelExpr="toString(datum.value)")


def _arm_scale(alt: Any) -> Any:
    return alt.Scale(domain=list(_ARM_NAMES), range=[ARM_COLOURS[arm] for arm in _ARM_NAMES])


def _arm_stroke(alt: Any) -> Any:
    return alt.Stroke("arm:N", scale=_arm_scale(alt), legend=None)


def _data(alt: Any, rows: Sequence[Row]) -> Any:
    return alt.Data(values=[dict(row) for row in rows])


def _wrap(alt: Any, layers: Any, panels: Sequence[str], *, columns: int = 3) -> Any:
    # Panels are sorted by their place: facets sort by name otherwise.
    return layers.facet(facet=alt.Facet("panel:N", sort=list(panels), title=None), columns=columns, spacing=18)


def _svg(chart: Any, label: str) -> str:
    """Convert to SVG; the root gets `role="img"` and the label, the marks' own ARIA attributes stay out."""
    import vl_convert

    document = chart.configure(**_theme()).to_dict()
    # The theme's `aria` takes only the labels out; a mark with a role and no name is read as a picture without text.
    svg: str = re.sub(r"<\w[^>]*>", _without_roles, vl_convert.vegalite_to_svg(document))
    name = html.escape(label, quote=True)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def _without_roles(tag: re.Match[str]) -> str:
    return re.sub(r' (?:role|aria-\w+)="[^"]*"', "", tag[0])


def _theme() -> dict[str, Any]:
    axis = {
        "labelColor": INK,
        "titleColor": MUTED_INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": RULE,
        "tickColor": RULE,
        "labelOverlap": False,
    }
    return {
        "aria": False,
        "background": PAPER,
        "font": "sans-serif",
        # Browsers may set labels in a wider face than the one measured here: room for it.
        "padding": {"left": 48, "right": 24, "top": 8, "bottom": 8},
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"grid": True},
        "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": "bold", "labelLimit": 240},
        "legend": {"labelColor": INK, "labelFontSize": 12, "symbolSize": 80},
    }
