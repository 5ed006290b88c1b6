"""Figures of groups of patients: memorization and disclosure by subgroup, and the distribution over patients.

Owns which estimates they show and their captions. Works on suppressed results. A figure without anything to draw says
so in words.
"""

import re
from collections.abc import Sequence

from clinaudit.reports.figures.charts import draw_tier_estimates
from clinaudit.reports.figures.drawn_ranges import (
    Mark,
    chart_rows,
    drawn_range,
    has_marks,
    is_drawn,
    not_drawn_sentence,
)
from clinaudit.reports.schema.groups import GroupDisclosure, GroupMemorization, PatientDistribution
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import (
    Figure,
    Table,
    join_suppressed_rows,
    list_tiers,
    memorization_summaries,
    numbered_tier_title,
)
from clinaudit.reports.wording.findings import memorization_summary
from clinaudit.reports.wording.names import HEADLINE_TIER, display_title, tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, SUPPRESSED, count_text, estimate_text, percent_text

_PARTITIONS = {"age": "Age", "sex": "Sex", "race": "Race and ethnicity", "notes": "Number of notes"}


def subgroup_figure(results: Results) -> Figure:
    """Memorization by subgroup: all tiers as a table, the headline tier as a chart."""
    panels = {"Memorized": "memorized_fraction", "Patient-attributable": "attributable_fraction"}
    marks: list[Mark] = []
    listed: list[tuple[str, ...]] = []
    tiers = {} if results.subgroups is None else results.subgroups.memorization
    for tier in list_tiers(results):
        for arm, groups in tiers.get(tier, {}).items():
            for group in groups:
                shares = [getattr(group, name) for name in panels.values()]
                cells = (
                    numbered_tier_title(tier),
                    arm,
                    _PARTITIONS[group.partition],
                    _group(group),
                    count_text(group.patients),
                )
                listed.append((*cells, *(estimate_text(share, share=True) for share in shares)))
                if tier == HEADLINE_TIER:
                    marks += [
                        Mark(panel, _name(group), arm, share) for panel, share in zip(panels, shares, strict=True)
                    ]
    caption = _subgroup_caption(tiers.get(HEADLINE_TIER, {}).get("train", [])) + not_drawn_sentence(marks)
    heads = ("Tier", "Arm", "By", "Group", "Patients", *panels)
    table = Table("Memorization by subgroup", heads, join_suppressed_rows(listed, names=3))
    title = f"Memorization by subgroup ({tier_title(HEADLINE_TIER)})"
    return Figure("subgroups", title, caption, _draw(marks, list(panels), caption), table)


def subgroup_disclosure_figure(results: Results) -> Figure:
    """Sensitivity by subgroup, all diagnoses together: how often a diagnosis is stated of those who have it."""
    panel = "Diagnosis stated"
    marks: list[Mark] = []
    listed: list[tuple[str, ...]] = []
    tiers = {} if results.subgroups is None else results.subgroups.disclosure
    for tier in list_tiers(results):
        for arm, groups in tiers.get(tier, {}).items():
            for group in groups:
                cells = (
                    numbered_tier_title(tier),
                    arm,
                    _PARTITIONS[group.partition],
                    _group(group),
                    count_text(group.patients),
                )
                listed.append((*cells, estimate_text(group.sensitivity, share=True)))
                if tier == HEADLINE_TIER:
                    marks.append(Mark(panel, _name(group), arm, group.sensitivity))
    svg = ""
    caption = f"Disclosure by subgroup was {NOT_MEASURED}."
    if listed:
        caption = (
            "Of the patients who have one of the diagnoses, the share of whom it is stated, all diagnoses together"
            " (mean over patients, with bounds that never collapse). Groups overlap between the four ways of grouping."
            f"{not_drawn_sentence(marks)}"
        )
        svg = _draw(marks, [panel], caption)
    heads = ("Tier", "Arm", "By", "Group", "Patients with a diagnosis", panel)
    table = Table("Diagnosis stated, by subgroup", heads, join_suppressed_rows(listed, names=3))
    title = f"Sensitive diagnoses by subgroup ({tier_title(HEADLINE_TIER)})"
    return Figure("subgroup-exposure", title, caption, svg, table)


def distribution_figure(results: Results) -> Figure:
    """Distribution of the attributable fraction over patients: who is worst off, not only the mean."""
    marks: list[Mark] = []
    listed: list[tuple[str, ...]] = []
    thresholds: dict[float, str] = {}
    for tier, arm, summary in memorization_summaries(results):
        spread = summary.distribution
        if spread is None:
            continue
        for item in spread.above:
            thresholds[item.threshold] = _threshold(item.threshold)
            marks.append(Mark(thresholds[item.threshold], numbered_tier_title(tier), arm, item.share))
        listed.append(
            (
                numbered_tier_title(tier),
                arm,
                *(estimate_text(item.share, share=True) for item in spread.above),
                *(_decile(spread, share) for share in (0.5, 0.9)),
                estimate_text(spread.worst_tenth, share=True),
                "; ".join(f"{_bin(item.low, item.high)}: {count_text(item.patients)}" for item in spread.bins),
            )
        )
    caption = _distribution_caption(results) + not_drawn_sentence(marks)
    panels = [thresholds[threshold] for threshold in sorted(thresholds)]
    tiers = [tier for tier in map(numbered_tier_title, list_tiers(results)) if tier in {mark.line for mark in marks}]
    svg = ""
    if has_marks(marks):
        svg = draw_tier_estimates(chart_rows(marks), panels=panels, tiers=tiers, label=caption, columns=2)
    heads = ("Tier", "Arm", *panels, "Median", "90th percentile", "Mean of the worst-off tenth", "Patients by fraction")
    table = Table("The patient-attributable fraction, patient by patient", heads, tuple(listed))
    return Figure("distribution", "Who is worst off: patients by attributable fraction", caption, svg, table)


def _group(row: GroupMemorization | GroupDisclosure) -> str:
    return row.group if row.group[:1] in "<0123456789" else display_title(row.group)


def _name(row: GroupMemorization | GroupDisclosure) -> str:
    return f"{_PARTITIONS[row.partition]}: {_group(row)}"


def _place(line: str) -> tuple[int, int]:
    """Return where a group stands: by the way of grouping, then by its first number."""
    grouping, _, group = line.partition(": ")
    first = re.match(r"\d+", group)
    return list(_PARTITIONS.values()).index(grouping), int(first[0]) if first else 0


def _draw(marks: Sequence[Mark], panels: Sequence[str], caption: str) -> str:
    shown = [mark for mark in marks if is_drawn(drawn_range(mark.estimate))]
    order = list(dict.fromkeys(mark.line for mark in marks))
    names = sorted({mark.line for mark in shown}, key=lambda line: (_place(line), order.index(line)))
    return draw_tier_estimates(chart_rows(shown), panels=panels, tiers=names, label=caption) if shown else ""


def _subgroup_caption(groups: Sequence[GroupMemorization]) -> str:
    known = [
        (group.attributable_fraction.value, _name(group))
        for group in groups
        if group.attributable_fraction.value is not None and group.group != "unknown"
    ]
    if not known:
        return f"Memorization by subgroup was {NOT_MEASURED}, or every group is too small to show."
    (low, lowest), (high, highest) = min(known), max(known)
    return (
        f"At {tier_title(HEADLINE_TIER)} in train the patient-attributable fraction ranges from {percent_text(low)}"
        f" ({lowest}) to {percent_text(high)} ({highest}) over the groups shown, means over patients; the intervals"
        " say how much of that is chance, and they are not adjusted for the number of groups."
    )


def _distribution_caption(results: Results) -> str:
    summary = memorization_summary(results, HEADLINE_TIER, "train")
    spread = None if summary is None else summary.distribution
    if spread is None:
        return f"The distribution over patients was {NOT_MEASURED}, or is suppressed."
    worst = spread.worst_tenth
    tail = estimate_text(worst, share=True) if worst.value is not None else SUPPRESSED
    listed = [item for item in spread.above if item.threshold in (0.01, 0.1)]
    shares = ", ".join(
        f"{_threshold(item.threshold).lower()}: {estimate_text(item.share, share=True)}" for item in listed
    )
    return (
        f"At {tier_title(HEADLINE_TIER)} in train, share of the patients with an attributable fraction {shares}. Mean"
        f" of the tenth of the patients who are worst off: {tail}."
    )


def _threshold(threshold: float) -> str:
    return "Above zero" if threshold == 0 else f"Above {percent_text(threshold).replace('.0%', '%')}"


def _bin(low: float, high: float) -> str:
    return "0" if high == 0 else f"{percent_text(low).replace('.0%', '%')} to {percent_text(high).replace('.0%', '%')}"


def _decile(spread: PatientDistribution, share: float) -> str:
    fraction = next((item.fraction for item in spread.deciles if item.share == share), None)
    return SUPPRESSED if fraction is None else percent_text(fraction)
