"""The figures of the report: a chart, what to conclude from it, and its data as a table.

Owns which numbers a chart shows and how they are captioned. A figure without anything to draw says so in words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clinaudit.reports.charts import (
    Row,
    draw_balance,
    draw_bars,
    draw_composition,
    draw_deltas,
    draw_roc,
    draw_tier_estimates,
)
from clinaudit.reports.findings import (
    HEADLINE_TIER,
    composition_caption,
    delta_caption,
    gradient_caption,
    memorization_at,
    near_verbatim_caption,
)
from clinaudit.reports.palette import COMPOSITION
from clinaudit.reports.results import (
    POOLED_SECTIONS,
    Disclosure,
    Estimate,
    Results,
    SectionComposition,
    TestedDelta,
)
from clinaudit.reports.tables import (
    Table,
    measured_memorization,
    memorization_table,
    near_verbatim_table,
    numbered,
    tiers_of,
)
from clinaudit.reports.wording import (
    METRICS,
    NOT_MEASURED,
    SUPPRESSED_WHY,
    count,
    figure,
    is_share,
    is_suppressed,
    label,
    number,
    percent,
    tier_number,
    tier_title,
)

#: Sections drawn before the rest are pooled (the paper's Figure 4 shows ten).
_SECTIONS_DRAWN = 10
_REST = "All other sections"
_MEAN = "Mean over diagnoses"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart ready for the page; `svg` is empty where there is nothing to draw, and the caption says why."""

    id: str
    title: str
    caption: str
    svg: str
    table: Table


def memorization_figure(results: Results) -> Figure:
    """Figures 2 and 8, and the attributable fraction beside them."""
    panels = {
        "Memorized": "memorized_fraction",
        "Patient-attributable": "attributable_fraction",
        "Hit rate": "hit_rate",
    }
    rows: list[Row] = []
    for tier, arm, figures in measured_memorization(results):
        for panel, name in panels.items():
            rows.append({"panel": panel, "tier": numbered(tier), "arm": arm, **_ends(getattr(figures, name))})
    caption = gradient_caption(results)
    tiers = [numbered(tier) for tier in tiers_of(results) if tier in results.memorization]
    svg = ""
    if _is_drawable(rows):
        svg = draw_tier_estimates(rows, panels=list(panels), tiers=tiers, label=caption)
    return Figure("memorization", "Verbatim memorization by tier", caption, svg, memorization_table(results))


def near_verbatim_figure(results: Results) -> Figure:
    """Near-verbatim text, in a chart of its own."""
    panels = {"Near-verbatim": "fraction", "Beyond verbatim": "extra_fraction"}
    rows: list[Row] = []
    for tier, arm, figures in measured_memorization(results):
        if figures.near_verbatim is not None:
            for panel, name in panels.items():
                ends = _ends(getattr(figures.near_verbatim, name))
                rows.append({"panel": panel, "tier": numbered(tier), "arm": arm, **ends})
    caption = near_verbatim_caption(results)
    tiers = [tier for tier in map(numbered, tiers_of(results)) if tier in {row["tier"] for row in rows}]
    svg = ""
    if _is_drawable(rows):
        svg = draw_tier_estimates(rows, panels=list(panels), tiers=tiers, label=caption)
    return Figure("near-verbatim", "Near-verbatim text by tier", caption, svg, near_verbatim_table(results))


def composition_figure(results: Results) -> Figure:
    """Figure 4, at the headline tier in train; sections go by the names that the note template gives them."""
    figures = memorization_at(results, HEADLINE_TIER, "train")
    rows_of = figures.sections if figures else []
    totals = {kind: sum(_kinds(section)[kind] or 0 for section in rows_of) for kind in COMPOSITION}
    sections = sorted((s for s in rows_of if s.section != POOLED_SECTIONS), key=lambda s: (-_shown(s), s.section))
    drawn = {label(s.section): _kinds(s) for s in sections[:_SECTIONS_DRAWN]}
    if sections[_SECTIONS_DRAWN:]:
        drawn[_REST] = _summed([_kinds(section) for section in sections[_SECTIONS_DRAWN:]])
    # Hidden counts of a kind are in the pooled row, unless they are hidden there too: then its total is not known.
    pooled = next((_kinds(section) for section in rows_of if section.section == POOLED_SECTIONS), None)
    if pooled is not None:
        drawn[POOLED_SECTIONS] = pooled
    hidden = [kind for kind, tokens in (pooled or {}).items() if tokens is None]
    rows: list[Row] = [
        {"section": section, "kind": kind, "tokens": tokens, "order": order}
        for section, kinds in drawn.items()
        for order, (kind, tokens) in enumerate(kinds.items())
        if tokens is not None
    ]
    caption = composition_caption(totals, hidden=hidden)
    if figures is not None and not rows_of and is_suppressed(figures.templated_share):
        caption = f"Composition by section is {SUPPRESSED_WHY}."
    svg = draw_composition(rows, sections=list(drawn), label=caption) if sum(totals.values()) else ""
    table = Table(
        "Memorized tokens by note section",
        ("Section", *(label(kind) for kind in COMPOSITION)),
        tuple((section, *(count(kinds[kind]) for kind in COMPOSITION)) for section, kinds in drawn.items()),
    )
    title = f"What the memorized text is, by note section ({tier_title(HEADLINE_TIER)}, train)"
    return Figure("composition", title, caption, svg, table)


def _shown(section: SectionComposition) -> int:
    return sum(tokens or 0 for tokens in _kinds(section).values())


def _summed(sections: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    counts = {kind: [kinds[kind] for kinds in sections] for kind in COMPOSITION}
    known = {kind: [tokens for tokens in of_kind if tokens is not None] for kind, of_kind in counts.items()}
    return {kind: sum(tokens) if tokens else None for kind, tokens in known.items()}


def _kinds(section: SectionComposition) -> dict[str, int | None]:
    counts = (
        section.revealing_single,
        section.revealing_shared,
        section.templated_single,
        section.templated_shared,
    )
    return dict(zip(COMPOSITION, counts, strict=True))


def roc_figure(results: Results, *, arm: Literal["train", "nontrain"]) -> Figure:
    """Figures 9 and 10; a suppressed curve is drawn as the box of its published rates over all patients."""
    rows: list[Row] = []
    listed: list[tuple[str, ...]] = []
    curves = boxes = 0
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        for tier in tiers_of(results):
            pair = tiers.get(tier)
            side: Disclosure | None = None if pair is None else getattr(pair, arm)
            if side is None:
                continue
            place = {"panel": label(diagnosis), "tier": numbered(tier)}
            rates = (figure(side.sensitivity, share=True), figure(side.false_positive_rate, share=True))
            if side.roc:
                curves += 1
                points = [
                    (point.false_positive_rate, point.true_positive_rate)
                    for point in sorted(side.roc, key=lambda point: -point.threshold)
                ]
                if points[0] != (0.0, 0.0):
                    points.insert(0, (0.0, 0.0))
                rows += [{**place, "x": x, "y": y, "order": order} for order, (x, y) in enumerate(points)]
                curve = ", ".join(f"({number(x)}, {number(y)})" for x, y in points)
            else:
                box = _box(side)
                boxes += box is not None
                rows += [] if box is None else [{**place, **box}]
                curve = "suppressed" if is_suppressed(side.auroc) or box else NOT_MEASURED
            listed.append((label(diagnosis), numbered(tier), *rates, curve))
    caption = _roc_caption(arm, curves, boxes)
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))
    tiers_drawn = [numbered(tier) for tier in tiers_of(results)]
    svg = draw_roc(rows, panels=panels, tiers=tiers_drawn, label=caption) if rows else ""
    heads = ("Diagnosis", "Tier", "Sensitivity", "False-positive rate", "Curve among mentions (FPR, TPR)")
    table = Table(f"Operating points, {arm}", heads, tuple(listed))
    return Figure(f"roc-{arm}", f"ROC by diagnosis, {arm}", caption, svg, table)


def _box(side: Disclosure) -> dict[str, float] | None:
    ends = [_ends(side.false_positive_rate, exact=True), _ends(side.sensitivity, exact=True)]
    (x, x2), (y, y2) = ((end["low"], end["high"]) for end in ends)
    if x is None or x2 is None or y is None or y2 is None:
        return None
    return {"x": x, "x2": x2, "y": y, "y2": y2}


def _roc_caption(arm: str, curves: int, boxes: int) -> str:
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
            " sensitivity and false-positive rate over all patients, as wide as the hidden counts allow. Above the"
            " diagonal is better than chance, sampling error aside."
        )
    return " ".join(parts)


def delta_figure(results: Results, *, metric: str) -> Figure:
    """Figures 3 and 11: train minus nontrain by tier, one panel a diagnosis, the mean first."""
    rows: list[Row] = []
    listed: list[tuple[str, ...]] = []
    share = is_share(metric)
    series: dict[str, dict[str, Estimate | None]] = {
        _MEAN: {tier: mean.delta.get(metric) for tier, mean in results.disclosure.mean.items()}
    }
    for diagnosis, tiers in results.disclosure.by_diagnosis.items():
        series[label(diagnosis)] = {
            tier: None if pair.delta is None else getattr(pair.delta, metric) for tier, pair in tiers.items()
        }
    for panel, deltas in series.items():
        for tier in tiers_of(results):
            if tier in deltas:
                delta = deltas[tier]
                ranges = {end: getattr(delta, end, None) for end in ("confidence_low", "confidence_high")}
                rows.append({"panel": panel, "tier": tier_number(tier), **_ends(delta), **ranges})
                shown = figure(delta, share=share, signed=True)
                listed.append((panel, numbered(tier), shown, _confidence_range(delta)))
    at_headline = {
        name: deltas.get(HEADLINE_TIER) for name, deltas in series.items() if name != _MEAN and HEADLINE_TIER in deltas
    }
    caption = delta_caption(at_headline, METRICS[metric])
    svg = ""
    if _is_drawable(rows):
        svg = draw_deltas(
            rows,
            panels=list(series),
            tiers=[tier_number(tier) for tier in tiers_of(results)],
            title="train minus nontrain",
            label=caption,
        )
    table = Table(
        f"{METRICS[metric]}, train minus nontrain{'' if share else ' (bands do not subtract)'}",
        ("Diagnosis", "Tier", "Difference", "With chance, where a band"),
        tuple(listed),
    )
    return Figure(f"delta-{metric.replace('_', '-')}", f"Train minus nontrain: {METRICS[metric]}", caption, svg, table)


def copy_forward_figure(results: Results) -> Figure:
    """Figure 12, at the headline tier in train."""
    figures = memorization_at(results, HEADLINE_TIER, "train")
    bins = figures.copy_forward if figures else []
    total = sum(bin_.pieces or 0 for bin_ in bins)
    repeated = total - sum(bin_.pieces or 0 for bin_ in bins if bin_.notes == "1")
    if any(bin_.pieces is None for bin_ in bins):
        shown = "; the bars are the others" if total else ""
        caption = f"Copy-forward is suppressed in part: fewer than 11 patients stand behind some of the counts{shown}."
    elif total:
        caption = (
            f"{percent(repeated / total)} of the patient-specific, clinically revealing pieces stand in more than one"
            " of the patient's notes: text carried forward from visit to visit."
        )
    elif figures is not None and is_suppressed(figures.stitched_share):
        caption = f"Copy-forward is {SUPPRESSED_WHY}."
    else:
        caption = f"Copy-forward was {NOT_MEASURED}: there is no patient-specific, clinically revealing piece."
    svg = ""
    if total:
        svg = draw_bars(
            [{"name": bin_.notes, "value": bin_.pieces} for bin_ in bins if bin_.pieces is not None],
            names=[bin_.notes for bin_ in bins],
            x_title="notes of the patient that hold the text",
            y_title="pieces",
            label=caption,
        )
    rows = tuple((bin_.notes, count(bin_.pieces)) for bin_ in bins)
    title = f"Copy-forward ({tier_title(HEADLINE_TIER)}, train)"
    return Figure("copy-forward", title, caption, svg, Table("Pieces by notes", ("Notes", "Pieces"), rows))


def balance_figure(results: Results) -> Figure:
    """Table 4 as a love plot."""
    rows: list[Row] = []
    listed = []
    flagged = poor = 0
    for diagnosis, cohort in results.cohorts.items():
        for row in cohort.balance:
            flagged += row.flag != "balanced"
            poor += row.flag == "poorly_matched"
            before, value = (
                NOT_MEASURED if smd is None else number(smd, signed=True) for smd in (row.smd_before, row.smd)
            )
            listed.append((label(diagnosis), row.contrast, row.covariate, before, value, label(row.flag)))
            place: Row = {"panel": row.contrast, "name": label(diagnosis), "covariate": row.covariate}
            rows += [
                {**place, "value": abs(smd), "before": is_before}
                for smd, is_before in ((row.smd_before, True), (row.smd, False))
                if smd is not None
            ]
    caption = f"Balance was {NOT_MEASURED}: there is no matched cohort with balance figures."
    if listed:
        caption = (
            f"{flagged} of {len(listed)} standardized mean differences are flagged (above 0.1, dotted line);"
            f" {poor} mark a cohort as poorly matched (above 0.25, solid line). Hollow marks are all candidates, before"
            " matching."
        )
    svg = ""
    if rows:
        svg = draw_balance(
            rows,
            panels=list(dict.fromkeys(str(row["panel"]) for row in rows)),
            names=list(dict.fromkeys(str(row["name"]) for row in rows)),
            label=caption,
        )
    heads = ("Diagnosis", "Contrast", "Covariate", "SMD of candidates", "SMD", "Flag")
    return Figure("balance", "Balance of the matched cohorts", caption, svg, Table("Balance", heads, tuple(listed)))


def _confidence_range(delta: Estimate | None) -> str:
    """Return where a band's 95% interval may reach, in words; nothing for what has an interval of its own."""
    if not isinstance(delta, TestedDelta) or delta.confidence_low is None or delta.confidence_high is None:
        return "–"
    return f"{number(delta.confidence_low, signed=True)} to {number(delta.confidence_high, signed=True)}"


def _ends(estimate: Estimate | None, *, exact: bool = False) -> dict[str, float | None]:
    """Return value, low and high; with `exact`, a value is its own low and high."""
    if estimate is None:
        return {"value": None, "low": None, "high": None}
    if exact and estimate.value is not None:
        return {"value": estimate.value, "low": estimate.value, "high": estimate.value}
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _is_drawable(rows: list[Row]) -> bool:
    return any(row["value"] is not None or row["low"] is not None for row in rows)
