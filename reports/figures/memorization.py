"""Figures of memorization: by tier, near-verbatim, by note section, and copy-forward.

Owns which estimates a chart shows and how they are captioned. A figure without anything to draw says so in words.
"""

from collections.abc import Mapping, Sequence

from clinaudit.reports.figures.charts import Row, draw_bars, draw_composition, draw_tier_estimates
from clinaudit.reports.figures.drawn_ranges import Mark, chart_rows, has_marks, not_drawn_sentence
from clinaudit.reports.figures.palette import COMPOSITION
from clinaudit.reports.schema.memorization import POOLED_SECTIONS, SectionComposition
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.memorization import memorization_table, near_verbatim_table
from clinaudit.reports.tables.table import Figure, Table, list_tiers, memorization_summaries, numbered_tier_title
from clinaudit.reports.wording.captions import composition_caption, gradient_caption, near_verbatim_caption
from clinaudit.reports.wording.findings import memorization_summary
from clinaudit.reports.wording.names import HEADLINE_TIER, display_title, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, SUPPRESSED_WHY, count_text, is_suppressed, percent_text

#: Sections drawn before the rest are pooled (the paper's Figure 4 shows ten).
_SECTIONS_DRAWN = 10
_REST = "Smaller sections, together"
#: The row `POOLED_SECTIONS`, in words that tell it from the other.
_HIDDEN_PARTS = "Text of few patients, any section"


def memorization_figure(results: Results) -> Figure:
    """Memorization by tier and arm (the paper's Figures 2 and 8), and the attributable fraction beside it."""
    panels = {
        "Memorized": "memorized_fraction",
        "Patient-attributable": "attributable_fraction",
        "Hit rate": "hit_rate",
    }
    marks = [
        Mark(panel, numbered_tier_title(tier), arm, getattr(summary, name))
        for tier, arm, summary in memorization_summaries(results)
        for panel, name in panels.items()
    ]
    caption = gradient_caption(results) + not_drawn_sentence(marks)
    tiers = [numbered_tier_title(tier) for tier in list_tiers(results) if tier in results.memorization]
    svg = ""
    if has_marks(marks):
        svg = draw_tier_estimates(chart_rows(marks), panels=list(panels), tiers=tiers, label=caption)
    return Figure("memorization", "Verbatim memorization by tier", caption, svg, memorization_table(results))


def near_verbatim_figure(results: Results) -> Figure:
    """Near-verbatim text, in a chart of its own."""
    panels = {"Near-verbatim": "fraction", "Beyond verbatim": "extra_fraction"}
    marks = [
        Mark(panel, numbered_tier_title(tier), arm, getattr(summary.near_verbatim, name))
        for tier, arm, summary in memorization_summaries(results)
        if summary.near_verbatim is not None
        for panel, name in panels.items()
    ]
    caption = near_verbatim_caption(results) + not_drawn_sentence(marks)
    tiers = [tier for tier in map(numbered_tier_title, list_tiers(results)) if tier in {mark.line for mark in marks}]
    svg = ""
    if has_marks(marks):
        svg = draw_tier_estimates(chart_rows(marks), panels=list(panels), tiers=tiers, label=caption)
    return Figure("near-verbatim", "Near-verbatim text by tier", caption, svg, near_verbatim_table(results))


def composition_figure(results: Results) -> Figure:
    """Composition by note section (the paper's Figure 4), at the headline tier in train.

    Sections have the names that the note template gives them.
    """
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    section_rows = summary.sections if summary else []
    totals = {kind: sum(_kinds(section)[kind] or 0 for section in section_rows) for kind in COMPOSITION}
    sections = sorted((s for s in section_rows if s.section != POOLED_SECTIONS), key=lambda s: (-_shown(s), s.section))
    drawn = {display_title(s.section): _kinds(s) for s in sections[:_SECTIONS_DRAWN]}
    if sections[_SECTIONS_DRAWN:]:
        drawn[_REST] = _summed([_kinds(section) for section in sections[_SECTIONS_DRAWN:]])
    # Hidden counts of a kind are in the pooled row, unless they are hidden there too: then its total is not known.
    pooled = next((_kinds(section) for section in section_rows if section.section == POOLED_SECTIONS), None)
    if pooled is not None:
        drawn[_HIDDEN_PARTS] = pooled
    hidden = [kind for kind, tokens in (pooled or {}).items() if tokens is None]
    rows: list[Row] = [
        {"section": section, "kind": kind, "tokens": tokens, "order": order}
        for section, kinds in drawn.items()
        for order, (kind, tokens) in enumerate(kinds.items())
        if tokens
    ]
    caption = composition_caption(totals, hidden=hidden)
    if _REST in drawn:
        caption += f" “{_REST}”: all after the {_SECTIONS_DRAWN} with most text."
    if any((pooled or {}).values()):
        caption += f" “{_HIDDEN_PARTS}”: what is suppressed in the sections' own rows, added up."
    if summary is not None and not section_rows and is_suppressed(summary.templated_share):
        caption = f"Composition by section is {SUPPRESSED_WHY}."
    svg = draw_composition(rows, sections=_sections(rows), label=caption) if rows else ""
    table = Table(
        "Memorized tokens by note section",
        ("Section", *(display_title(kind) for kind in COMPOSITION)),
        tuple((section, *(count_text(kinds[kind]) for kind in COMPOSITION)) for section, kinds in drawn.items()),
    )
    title = f"What the memorized text is, by note section ({tier_title(HEADLINE_TIER)}, train)"
    return Figure("composition", title, caption, svg, table)


def _sections(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["section"]) for row in rows))


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


def copy_forward_figure(results: Results) -> Figure:
    """Copy-forward (the paper's Figure 12), at the headline tier in train."""
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    bins = summary.copy_forward if summary else []
    total = sum(bin_.pieces or 0 for bin_ in bins)
    repeated = total - sum(bin_.pieces or 0 for bin_ in bins if bin_.notes == "1")
    if any(bin_.pieces is None for bin_ in bins):
        shown = "; the bars are the others" if total else ""
        caption = f"Copy-forward is suppressed in part: fewer than 11 patients stand behind some of the counts{shown}."
    elif total:
        caption = (
            f"{percent_text(repeated / total)} of the patient-specific, clinically revealing pieces stand in more than"
            " one of the patient's notes: text carried forward from visit to visit."
        )
    elif summary is not None and is_suppressed(summary.stitched_share):
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
    rows = tuple((bin_.notes, count_text(bin_.pieces)) for bin_ in bins)
    title = f"Copy-forward ({tier_title(HEADLINE_TIER)}, train)"
    return Figure("copy-forward", title, caption, svg, Table("Pieces by notes", ("Notes", "Pieces"), rows))
