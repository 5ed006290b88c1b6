"""Charts of repeated text and identifiers by tier, with the policy's limit; of sections, K, copy-forward and groups.

Owns which numbers a chart shows, and the order of groups. A chart without anything to draw says so in words; one of a
single bar is none.
"""

import re
from collections.abc import Sequence
from typing import Final

from clinaudit.priors.renderings import CONTROL
from clinaudit.reports.figures.bars import (
    SERIES,
    SHARE_STEPS,
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
from clinaudit.reports.schema.memorization import SECTION_KINDS, MemorizationResults
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults, view_rendering
from clinaudit.reports.tables.corpus import affected_text
from clinaudit.reports.tables.table import memorization_summaries
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
from clinaudit.reports.wording.names import (
    ARM_WORDS,
    BEFORE_TRAINING,
    asker_words,
    display_title,
    is_rate,
    join_words,
    order_tiers,
)
from clinaudit.reports.wording.numbers import NOT_MEASURED, estimate_text, is_measured, percent_text, rate_text

#: Sections drawn before the rest are pooled, as many as the paper's Figure 4 shows.
_SECTIONS_DRAWN = 10
_REST = "smaller sections, together"
_BAR_KEY: Final = "Pale: a range. Thin line: 95% interval."
#: Ends of scales of numbers per 1,000 queries.
_RATES: Final = tuple(float(step * 10**power) for power in range(1, 6) for step in (1, 2, 5))


def own_text_figure(results: RunResults) -> BarFigure:
    """Return the patient's own text by tier, trained on beside never seen, with the limit drawn in."""
    title = "How much of what it writes is the patient's own text"
    return _by_tier(results, "own-text", title, "attributable_fraction")


def others_text_figure(results: RunResults) -> BarFigure:
    """Return other patients' text by tier, in answers about either arm, with the limit drawn in."""
    title = "How much of what it writes is another patient's own text"
    return _by_tier(results, "others-text", title, "other_patient_fraction")


def memorized_figure(results: RunResults) -> BarFigure:
    """Return all memorized text by tier and arm (the paper's Figures 2 and 8)."""
    return _by_tier(results, "memorized", "Memorized fraction by tier", "memorized_fraction")


def verified_figure(results: RunResults) -> BarFigure:
    """Return verified identifiers per 1,000 queries by tier and arm."""
    return _by_tier(results, "verified-identifiers", "Verified identifiers in 1,000 answers", "verified_per_1000")


def _by_tier(results: RunResults, name: str, title: str, metric: str) -> BarFigure:
    """Return shares, or numbers per 1,000 queries, with a row a tier and a column an arm.

    The control model has a column of its own, of the patients that the audited one was trained on.
    """
    estimates = {tier: dict(by_arm) for tier, by_arm in _estimates(results, metric).items()}
    arms = [arm for arm in ARMS if any(arm in by_arm for by_arm in estimates.values())]
    control = _estimates(view_rendering(results, CONTROL), metric) if CONTROL in results.renderings else {}
    limits = {tier: rule_limit(results, metric, tier) for tier in estimates}
    drawn = sorted({limit for limit in limits.values() if limit is not None})
    every = (estimate for of in (*estimates.values(), *control.values()) for estimate in of.values())
    scale = fitting_scale(every, limit=max(drawn, default=None), steps=_RATES if is_rate(metric) else SHARE_STEPS)
    rows = []
    for tier in order_tiers(estimates):
        shown = [(SERIES[arm], estimates[tier].get(arm)) for arm in arms]
        shown += [("plain", control.get(tier, {}).get("train"))] if control else []
        cells = [
            _cell(estimate, series=series, scale=scale, limit=limits[tier], metric=metric) for series, estimate in shown
        ]
        rows.append(tier_row(tier, cells, with_asker=is_rate(metric)))
    rows = rows if any(cell.bars for row in rows for cell in row.cells) else []
    heads = [*(ARM_WORDS[arm].capitalize() for arm in arms), *([BEFORE_TRAINING.capitalize()] if control else [])]
    columns = ("Someone who knows …", *heads)
    return BarFigure(name, title, "", columns, tuple(rows), _key(scale, drawn, metric) if rows else "")


def _estimates(results: RunResults, metric: str) -> dict[str, dict[Arm, EstimateRange | None]]:
    """Return a figure by tier and arm."""
    estimates: dict[str, dict[Arm, EstimateRange | None]] = {}
    if is_rate(metric):
        for tier, arm, figures in identifier_figures(results):
            estimates.setdefault(tier, {})[arm] = figures.verified_per_1000
    else:
        for tier, arm, summary in memorization_summaries(results):
            estimates.setdefault(tier, {})[arm] = summary.estimate(metric)
    return estimates


def _cell(
    estimate: EstimateRange | None, *, series: Series, scale: Scale, limit: float | None, metric: str = ""
) -> Cell:
    of_rate = is_rate(metric)
    text = rate_text(estimate, interval=True) if of_rate else estimate_text(estimate, share=True, interval=True)
    if estimate is None or not is_measured(estimate):
        return Cell((), text)
    if estimate.value is None and estimate.high is None:
        # Without an upper end the range goes on to the end of the track.
        estimate = estimate.model_copy(update={"high": scale.high})
    return Cell((share_bar(estimate, series=series, text=text, scale=scale, limit=limit),))


def _key(scale: Scale, limits: Sequence[float], metric: str) -> str:
    if is_rate(metric):
        listed, end = ", ".join(f"{limit:g}" for limit in limits), f" A full bar is {scale.high:,.0f}."
        line = f"Upright line: the policy's limit on what is above chance, {listed}. " if limits else ""
    else:
        line = f"Upright line: the policy's limit, {join_words(list(map(percent_text, limits)))}. " if limits else ""
        end = "" if scale.high == 1 else f" A full bar is {percent_text(scale.high)}."
    return f"{line}{_BAR_KEY}{end}"


def before_and_after_figure(comparison: Comparison) -> BarFigure:
    """Return own text of patients trained on, a row a tier, run A beside run B."""
    own = {
        tier: arms["train"].attributable_fraction for tier, arms in comparison.memorization.items() if "train" in arms
    }
    pairs = {tier: (change.a, change.b) for tier, change in own.items()}
    scale = fitting_scale((mean for pair in pairs.values() for mean in pair), limit=None)
    rows = [
        tier_row(tier, [_cell(mean, series="trained", scale=scale, limit=None) for mean in pair])
        for tier, pair in pairs.items()
    ]
    title = "How much of what it writes about a patient it was trained on is that patient's own text"
    return BarFigure("before-after", title, "", ("Someone who knows …", "A, before", "B, after"), tuple(rows))


def sections_figure(results: RunResults) -> BarFigure:
    """Return which note sections were repeated, by kind of text (the paper's Figure 4), trained on."""
    summary = _headline(results)
    sections = [] if summary is None else summary.sections
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
    return _bins_figure(results, "k-distribution", title, "K", bins)


def copy_forward_figure(results: RunResults) -> BarFigure:
    """Return in how many of the patient's own notes a K = 1 revealing piece stands (the paper's Figure 12)."""
    summary = _headline(results)
    bins = [(bin_.notes, bin_.share) for bin_ in (summary.copy_forward if summary else ())]
    title = "Patient-specific pieces by how many of the patient's notes hold them"
    return _bins_figure(results, "copy-forward", title, "Notes", bins)


def _bins_figure(
    results: RunResults, name: str, title: str, head: str, bins: Sequence[tuple[str, float | None]]
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
            asker = asker_words(shown_tier(results.memorization) or "")
            caption = f"{title}, for {asker}: all that are shown have {found[0]}."
    return BarFigure(name, title, caption, (head, "Share of the pieces"), tuple(rows) if drawn > 1 else ())


def _headline(results: RunResults) -> MemorizationResults | None:
    tier = shown_tier(results.memorization)
    return None if tier is None else results.memorization[tier].get("train")


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
