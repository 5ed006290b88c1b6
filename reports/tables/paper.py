"""Tables in the paper's own layout for the annex: Table 1, and composition and copy-forward at every tier.

A mark stands only where the whole range is beyond its threshold.
"""

from typing import Final

from clinaudit.reports.schema.memorization import LENGTH_UNITS, PIECE_KINDS, SECTION_KINDS
from clinaudit.reports.schema.numbers import EstimateRange
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.memorization import FEW_PATIENTS, few_note
from clinaudit.reports.tables.table import Table, asked_about, memorization_summaries, numbered_tier_title
from clinaudit.reports.wording.captions import KIND_TITLES
from clinaudit.reports.wording.names import ARM_WORDS, BOLD, display_title, is_bold, list_tiers
from clinaudit.reports.wording.numbers import (
    estimate_text,
    is_measured,
    number_text,
    percent_text,
    range_text,
    shown_text,
)

_HEADS: Final = {"auroc": "AUROC", "ppv": "PPV"}
_MARK: Final = "*"
_NONE: Final = "–"


def table1_tables(results: RunResults) -> list[Table]:
    """Return the paper's Table 1 in its layout, of each arm: rates above, then AUROC and PPV among mentions by tier."""
    return [table for arm in ARMS if (table := _table1(results, arm)).rows]


def _table1(results: RunResults, arm: Arm) -> Table:
    by_diagnosis = results.disclosure.by_diagnosis
    rows: list[tuple[str, ...]] = []
    for tier in list_tiers(results):
        pairs = [tiers.get(tier) for tiers in by_diagnosis.values()]
        metrics = [None if pair is None else getattr(pair, arm) for pair in pairs]
        found = [None if own is None else own.get(metric) for own in metrics for metric in BOLD]
        if any(map(is_measured, found)):
            cells = [_marked(estimate, metric) for estimate, metric in zip(found, list(BOLD) * len(pairs), strict=True)]
            rows.append((numbered_tier_title(tier), *cells))
    if rows:
        cohorts = [results.cohorts.get(diagnosis) for diagnosis in by_diagnosis]
        mentions = [None if cohort is None else cohort.mention_rate.get(arm) for cohort in cohorts]
        rates = [("Average mention rate over tiers", mentions)]
        if arm == "train":
            prevalences = [None if cohort is None else cohort.prevalence for cohort in cohorts]
            rates.insert(0, ("Training prevalence", prevalences))
        rows = [
            (name, *(cell for one in own for cell in (shown_text(one, missing=_NONE), ""))) for name, own in rates
        ] + rows
    heads = ("Prior", *(f"{display_title(name)}, {_HEADS[metric]}" for name in by_diagnosis for metric in BOLD))
    note = f"{_MARK}: AUROC of at least 0.65, PPV of at least 0.8, over the whole range."
    return Table(f"Table 1 of the paper, in its layout: {ARM_WORDS[arm]}", heads, tuple(rows), note)


def _marked(estimate: EstimateRange | None, metric: str) -> str:
    if estimate is None or not is_measured(estimate):
        return _NONE
    mark = _MARK if is_bold(estimate, metric) else ""
    return range_text(estimate, share=False) + mark


def composition_tables(results: RunResults) -> list[Table]:
    """Return for each tier and arm the sections' shares by kind, and what of a section is template text (Figure 4)."""
    tables = []
    for tier, arm, summary in memorization_summaries(results):
        rows = [
            (
                display_title(section.section),
                *(_share(getattr(section, kind)) for kind in SECTION_KINDS),
                _NONE if section.templated_share is None else estimate_text(section.templated_share, share=True),
            )
            for section in summary.sections
            if any(getattr(section, kind) for kind in SECTION_KINDS)
        ]
        heads = ("Section", *(KIND_TITLES[kind] for kind in SECTION_KINDS), "template text of the section")
        caption = f"Repeated text by note section and kind: {', '.join(asked_about(tier, arm))}"
        tables.append(Table(caption, heads, tuple(rows), few_note(rows)))
    return tables


def copy_forward_tables(results: RunResults) -> list[Table]:
    """Return for each tier and arm the K = 1 revealing pieces by how many of the patient's notes hold them."""
    tables = []
    for tier, arm, summary in memorization_summaries(results):
        is_shown = any(bin_.share for bin_ in summary.copy_forward)
        rows = [(bin_.notes, _share(bin_.share)) for bin_ in summary.copy_forward] if is_shown else []
        where = ", ".join(asked_about(tier, arm))
        caption = f"Patient-specific pieces by the patient's notes that hold them: {where}"
        tables.append(Table(caption, ("Notes", "Share of the pieces"), tuple(rows), few_note(rows)))
    return tables


def source_notes_table(results: RunResults) -> Table:
    """Return how many notes a generation was copied from: the latest of each piece, at most and at least."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        found = (summary.source_notes_mean, summary.source_notes_any, summary.source_notes_min)
        if any(value is not None for value in found):
            rows.append((*asked_about(tier, arm), *map(_number, found)))
    heads = ("Tier", "Who", "Latest note of each piece", "All notes that hold a piece", "Fewest that hold every piece")
    return Table("Source notes of a generation that repeats anything, mean", heads, tuple(rows), few_note(rows))


def piece_lengths_table(results: RunResults) -> Table:
    """Return the mean length of a piece in one patient's notes alone, and of one in several patients'."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        lengths = [summary.piece_length.get(kind, {}).get(unit) for kind in PIECE_KINDS for unit in LENGTH_UNITS]
        if any(value is not None for value in lengths):
            rows.append((*asked_about(tier, arm), *map(_number, lengths)))
    heads = ("Tier", "Who", *(f"{kind}, {unit}" for kind in ("K = 1", "K > 1") for unit in LENGTH_UNITS))
    return Table("Mean length of a piece by K", heads, tuple(rows), few_note(rows))


def _share(value: float | None) -> str:
    return FEW_PATIENTS if value is None else percent_text(round(value, 2))


def _number(value: float | None) -> str:
    return FEW_PATIENTS if value is None else number_text(value)
