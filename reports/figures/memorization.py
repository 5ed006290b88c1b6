"""Charts of repeated text and identifiers by tier, with the policy's limit; of sections, K, copy-forward and groups.

Owns which numbers a chart shows, and the order of groups. A chart without anything to draw says so in words; one of a
single bar is none.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from clinaudit.reports.figures.bars import (
    SERIES,
    BarFigure,
    BarRow,
    Cell,
    MarkKind,
    Scale,
    Series,
    Swatch,
    fitting_scale,
    share_bar,
    stacked_bar,
    tier_row,
)
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.corpus import PARTITIONS, GroupResults, Partition
from clinaudit.reports.schema.identifiers import IdentifierResults
from clinaudit.reports.schema.memorization import SECTION_KINDS, MemorizationResults, SectionComposition
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.corpus import affected_text
from clinaudit.reports.wording.captions import (
    KIND_TITLES,
    PARTITION_TITLES,
    group_title,
    groups_caption,
    rule_limit,
    sections_caption,
    shown_tier,
)
from clinaudit.reports.wording.identifiers import identifier_figures
from clinaudit.reports.wording.names import ARM_WORDS, asker_words, display_title, join_words, list_tiers
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text, is_measured, percent_text, rate_text

#: Sections drawn before the rest are pooled, as many as the paper's Figure 4 shows.
_SECTIONS_DRAWN = 10
_REST = "smaller sections, together"
_NO_LIMIT = "Pale: a range. Thin line: 95% interval."


def own_text_figure(results: RunResults) -> BarFigure:
    """Return the patient's own text by tier, trained on beside never seen, with the limit drawn in."""
    return _by_tier(
        results, "own-text", "How much of what it writes is the patient's own text", "attributable_fraction"
    )


def others_text_figure(results: RunResults) -> BarFigure:
    """Return other patients' text by tier, in answers about either arm, with the limit drawn in."""
    return _by_tier(
        results, "others-text", "How much of what it writes is another patient's own text", "other_patient_fraction"
    )


def memorized_figure(results: RunResults) -> BarFigure:
    """Return all memorized text by tier and arm (the paper's Figures 2 and 8)."""
    return _by_tier(results, "memorized", "Memorized fraction by tier", "memorized_fraction")


def _by_tier(results: RunResults, name: str, title: str, metric: str) -> BarFigure:
    tiers = [tier for tier in list_tiers(results) if tier in results.memorization]
    arms = [arm for arm in ARMS if any(arm in results.memorization[tier] for tier in tiers)]
    limits = {tier: rule_limit(results, metric, tier) for tier in tiers}
    drawn_limits = sorted({limit for limit in limits.values() if limit is not None})
    scale = fitting_scale(
        (_mean(results, tier, arm, metric) for tier in tiers for arm in arms), limit=max(drawn_limits, default=None)
    )
    rows = []
    for tier in tiers:
        means = [(arm, _mean(results, tier, arm, metric)) for arm in arms]
        cells = [_cell(mean, series=SERIES[arm], scale=scale, limit=limits[tier]) for arm, mean in means]
        rows.append(tier_row(tier, cells))
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    columns = ("Someone who knows …", *(ARM_WORDS[arm].capitalize() for arm in arms))
    return BarFigure(name, title, "", columns, tuple(rows), _key(scale, drawn_limits) if rows else "")


def _cell(mean: EstimateRange | None, *, series: Series, scale: Scale, limit: float | None) -> Cell:
    text = estimate_text(mean, share=True, interval=True)
    if not is_measured(mean):
        return Cell((), text)
    return Cell((share_bar(mean, series=series, text=text, scale=scale, limit=limit),))


def _key(scale: Scale, limits: Sequence[float]) -> str:
    line = f"Upright line: the policy's limit, {join_words(list(map(percent_text, limits)))}. " if limits else ""
    end = "" if scale.high == 1 else f" A full bar is {percent_text(scale.high)}."
    return f"{line}{_NO_LIMIT}{end}"


def _mean(results: RunResults, tier: str, arm: Arm, metric: str) -> EstimateRange | None:
    summary = results.memorization[tier].get(arm)
    if summary is None:
        return None
    if metric == "other_patient_fraction":
        return None if summary.other_patients is None else summary.other_patients.fraction.mean
    mean: EstimateRange = getattr(summary, metric).mean
    return mean


def before_and_after_figure(comparison: Comparison) -> BarFigure:
    """Return own text of patients trained on, a row a tier, run A beside run B."""
    own = {
        tier: arms["train"].attributable_fraction for tier, arms in comparison.memorization.items() if "train" in arms
    }
    pairs = {tier: (of.a, of.b) for tier, of in own.items()}
    scale = fitting_scale((mean for pair in pairs.values() for mean in pair), limit=None)
    rows = [
        tier_row(tier, [_cell(mean, series="trained", scale=scale, limit=None) for mean in pair])
        for tier, pair in pairs.items()
    ]
    title = "How much of what it writes about a patient it was trained on is that patient's own text"
    return BarFigure("before-after", title, "", ("Someone who knows …", "A, before", "B, after"), tuple(rows))


def sections_figure(results: RunResults) -> BarFigure:
    """Return which note sections were repeated, by kind of text (the paper's Figure 4), trained on."""
    sections = _shown_sections(_headline(results))
    known = {section.section: [getattr(section, kind) for kind in SECTION_KINDS] for section in sections}
    ranked = sorted((name for name in known if _total(known[name])), key=lambda name: (-_total(known[name]), name))
    drawn = [(display_title(name), known[name]) for name in ranked[:_SECTIONS_DRAWN]]
    if rest := ranked[_SECTIONS_DRAWN:]:
        drawn.append((display_title(_REST), [sum(known[name][at] or 0 for name in rest) for at in range(4)]))
    longest = max((_total(shares) for _, shares in drawn), default=1.0)
    scale = Scale(0.0, min(1.0, longest))
    kinds: tuple[MarkKind, ...] = ("revealing-single", "revealing-shared", "templated-single", "templated-shared")
    rows = [
        BarRow(name, (Cell((stacked_bar(zip(kinds, shares, strict=True), scale=scale, text=_share(_total(shares))),)),))
        for name, shares in drawn
    ]
    shown = [at for at in range(4) if any(shares[at] for _, shares in drawn)]
    swatches = tuple(Swatch(kinds[at], KIND_TITLES[SECTION_KINDS[at]]) for at in shown)
    title = "Which parts of the notes it repeats"
    columns = ("Section", "Share of the repeated text")
    is_drawn = len(rows) > 1
    caption = sections_caption(sections)
    summary = _headline(results)
    if rest and summary is not None and summary.largest_sections_share is not None:
        caption += f" The ten sections drawn hold {percent_text(round(summary.largest_sections_share, 2))} of it."
    return BarFigure(
        "sections",
        title,
        caption,
        columns,
        tuple(rows) if is_drawn else (),
        swatches=swatches if is_drawn else (),
    )


def shared_figure(results: RunResults) -> BarFigure:
    """Return K, in how many patients' notes a piece stands, as shares of the pieces, trained on."""
    summary = _headline(results)
    bins = [(bin_.k, bin_.share) for bin_ in (summary.k_distribution if summary else ())]
    title = "Pieces of memorized text by K, the number of patients whose notes contain them"
    return _bins_figure(
        "k-distribution", title, ("K", "Share of the pieces"), bins, shown_tier(results.memorization) or ""
    )


def copy_forward_figure(results: RunResults) -> BarFigure:
    """Return in how many of the patient's own notes a K = 1 revealing piece stands (the paper's Figure 12)."""
    summary = _headline(results)
    bins = [(bin_.notes, bin_.share) for bin_ in (summary.copy_forward if summary else ())]
    title = "Patient-specific pieces by how many of the patient's notes hold them"
    return _bins_figure(
        "copy-forward", title, ("Notes", "Share of the pieces"), bins, shown_tier(results.memorization) or ""
    )


def _bins_figure(
    name: str, title: str, columns: tuple[str, str], bins: Sequence[tuple[str, float | None]], tier: str
) -> BarFigure:
    rows = [
        BarRow(label, (Cell((stacked_bar([("revealing-single", share)], scale=Scale(), text=_share(share)),)),))
        for label, share in bins
    ]
    drawn = sum(bool(share) for _, share in bins)
    hidden = any(share is None for _, share in bins)
    caption = "Shares of all that are shown; a bin behind which 1 to 20 patients stand is not." if hidden else ""
    if drawn < 2:
        found = next(((label, share) for label, share in bins if share), None)
        caption = f"{title}: {NOT_MEASURED}, or too few patients are behind it."
        if found is not None:
            caption = f"{title}, for {asker_words(tier)}: all that are shown have {found[0]}."
    return BarFigure(name, title, caption, columns, tuple(rows) if drawn > 1 else ())


def _headline(results: RunResults) -> MemorizationResults | None:
    tier = shown_tier(results.memorization)
    return None if tier is None else results.memorization[tier].get("train")


def _shown_sections(summary: MemorizationResults | None) -> list[SectionComposition]:
    return [] if summary is None else summary.sections


def _total(shares: Sequence[float | None]) -> float:
    return sum(share or 0.0 for share in shares)


def _share(share: float | None) -> str:
    return "few patients" if share is None else percent_text(round(share, 2))


def groups_figure(results: RunResults) -> BarFigure:
    """Return the patients of each group who have any own text, a heading a partition."""
    measured = {} if results.subgroups is None else results.subgroups.memorization
    tier = shown_tier(measured)
    by_arm = {} if tier is None else measured[tier]
    arms = [arm for arm in ARMS if by_arm.get(arm)]
    rows: list[BarRow] = []
    for partition in PARTITIONS:
        groups = {arm: _of(partition, by_arm[arm]) for arm in arms}
        names = sorted({name for found in groups.values() for name in found}, key=_place)
        if len(names) > 1:
            rows.append(BarRow(PARTITION_TITLES[partition], ()))
            cells = {name: tuple(_group_cell(groups[arm].get(name), arm) for arm in arms) for name in names}
            rows += [BarRow(group_title(name), cells[name]) for name in names]
    caption = groups_caption(by_arm.get("train", []))
    if caption and tier is not None:
        caption = f"Asked by {asker_words(tier)}. {caption}"
    columns = ("Patients with any own text", *(ARM_WORDS[arm].capitalize() for arm in arms))
    return BarFigure("groups", "Who is affected", caption, columns, tuple(rows))


def _of(partition: Partition, groups: Sequence[GroupResults]) -> dict[str, GroupResults]:
    return {group.group: group for group in groups if group.partition == partition and group.patients.high}


def _group_cell(group: GroupResults | None, arm: Arm) -> Cell:
    if group is None:
        return Cell((), "nobody")
    if not is_measured(group.share):
        return Cell((), NOT_MEASURED)
    text = affected_text(group)
    return Cell((share_bar(group.share, series=SERIES[arm], text=text),))


def _place(name: str) -> tuple[int, int, str]:
    """Return where a group stands: by its first number, those with "<" first, names after numbers."""
    first = re.search(r"\d+", name)
    return (0, -1 if name.startswith("<") else int(first[0]), name) if first else (1, 0, name)


_SCALES: Final = tuple(float(step * 10**power) for power in range(1, 6) for step in (1, 2, 5))


def verified_figure(results: RunResults) -> BarFigure:
    """Return verified identifiers per 1,000 queries by tier and arm."""
    by_tier: dict[str, dict[Arm, IdentifierResults]] = {}
    for tier, arm, figures in identifier_figures(results):
        by_tier.setdefault(tier, {})[arm] = figures
    arms = [arm for arm in ARMS if any(arm in of_arm for of_arm in by_tier.values())]
    limits = {tier: rule_limit(results, "verified_per_1000", tier) for tier in by_tier}
    drawn = sorted({limit for limit in limits.values() if limit is not None})
    rates = [figures.verified_per_1000 for of_arm in by_tier.values() for figures in of_arm.values()]
    scale = _rate_scale(rates, limits=drawn)
    rows = [
        tier_row(
            tier,
            [_rate_cell(of_arm.get(arm), arm, scale=scale, limit=limits[tier]) for arm in arms],
            with_asker=True,
        )
        for tier, of_arm in by_tier.items()
    ]
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    columns = ("Someone who knows …", *(ARM_WORDS[arm].capitalize() for arm in arms))
    line = (
        f"Upright line: the policy's limit on what is above chance, {', '.join(f'{limit:g}' for limit in drawn)}. "
        if drawn
        else ""
    )
    key = f"{line}Pale: a range. Thin line: 95% interval. A full bar is {scale.high:,.0f}."
    return BarFigure(
        "verified-identifiers",
        "Verified identifiers in 1,000 answers",
        "",
        columns,
        tuple(rows),
        key if rows else "",
    )


def _rate_cell(figures: IdentifierResults | None, arm: Arm, *, scale: Scale, limit: float | None) -> Cell:
    rate = None if figures is None else figures.verified_per_1000
    text = rate_text(rate, interval=True)
    if rate is None or not is_measured(rate):
        return Cell((), text)
    # Without an upper end the range goes on to the end of the track.
    drawn = rate if rate.value is not None or rate.high is not None else rate.model_copy(update={"high": scale.high})
    return Cell((share_bar(drawn, series=SERIES[arm], text=text, scale=scale, limit=limit),))


def _rate_scale(rates: Iterable[EstimateRange], *, limits: Iterable[float]) -> Scale:
    """Return the shortest of a few scales that holds every number, its interval, and twice the limit."""
    ends = [
        end
        for rate in rates
        for end in (rate.value, rate.low, rate.high, rate.confidence_low, rate.confidence_high)
        if end is not None
    ]
    reach = max([*ends, *(2 * limit for limit in limits)], default=0.0)
    return Scale(0.0, next((high for high in _SCALES if reach <= high), reach))
