"""The report's tables of memorization."""

from collections.abc import Sequence

from clinaudit.reports.schema.memorization import LengthSummary, Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, measured_memorization, numbered
from clinaudit.reports.wording.numbers import NOT_MEASURED, count, estimate_text, number

_FRACTIONS = (
    ("Generations", "generations"),
    ("Patients", "patients"),
    ("Memorized", "memorized_fraction"),
    ("Without prompt echo", "memorized_fraction_without_echo"),
    ("Patient-attributable", "attributable_fraction"),
    ("Hit rate", "hit_rate"),
    ("Empty", "empty"),
    ("Shorter than the n-gram", "shorter_than_ngram"),
)
_COUNTS = ("generations", "patients", "empty", "shorter_than_ngram")
_REGIONS = (
    ("Source notes a generation", "source_notes_mean"),
    ("Stitched regions", "stitched_share"),
    ("Templated tokens", "templated_share"),
    ("Pieces in several patients' notes", "multi_patient_share"),
)


def memorization_table(results: Results) -> Table:
    """Return Figures 2 and 8 as a table, by tier and arm."""
    return _by_tier_and_arm(results, "Verbatim memorization by tier", _FRACTIONS)


def regions_table(results: Results) -> Table:
    """Return what the memorized regions are made of, by tier and arm."""
    return _by_tier_and_arm(results, "Memorized regions by tier", _REGIONS, lengths=True)


def paper_view_table(results: Results) -> Table:
    """Return the paper's counting beside ours: a patient counts once in each cohort."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        view = figures.paper_view
        if view is not None:
            shares = (estimate_text(view.memorized_fraction, share=True), estimate_text(view.hit_rate, share=True))
            rows.append((numbered(tier), arm, f"{view.rows:,}", *shares))
    heads = ("Tier", "Arm", "Patients, once a cohort", "Memorized", "Hit rate")
    return Table(
        "Memorized text, each patient counted once in each cohort (as the method's paper does)", heads, tuple(rows)
    )


def shared_table(results: Results) -> Table:
    """Return how many patients' notes hold the memorized pieces, by tier and arm."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        rows += [(numbered(tier), arm, bin_.k, count(bin_.pieces)) for bin_ in figures.k_distribution]
    heads = ("Tier", "Arm", "Patients whose notes hold it", "Pieces")
    return Table("Memorized pieces by number of patients", heads, tuple(rows))


def near_verbatim_table(results: Results) -> Table:
    """Return the near-verbatim figures by tier and arm."""
    rows = []
    for tier, arm, figures in measured_memorization(results):
        near = figures.near_verbatim
        if near is not None:
            shares = (estimate_text(near.fraction, share=True), estimate_text(near.extra_fraction, share=True))
            windows = f"{near.edit_budget} of {near.window}"
            rows.append((numbered(tier), arm, windows, *shares, estimate_text(near.longest_region)))
    heads = ("Tier", "Arm", "Edits allowed a window", "Near-verbatim", "Beyond verbatim", "Longest region, tokens")
    return Table("Near-verbatim text by tier (counted separately)", heads, tuple(rows))


def _by_tier_and_arm(
    results: Results, caption: str, columns: Sequence[tuple[str, str]], *, lengths: bool = False
) -> Table:
    heads = ("Tier", "Arm", *(title for title, _ in columns), *(("Region length, characters",) if lengths else ()))
    rows = []
    for tier, arm, figures in measured_memorization(results):
        cells = [_memorization_cell(figures, name) for _, name in columns]
        if lengths:
            cells.append(_length(figures.region_length.get("characters"), figures))
        rows.append((numbered(tier), arm, *cells))
    return Table(caption, heads, tuple(rows))


def _memorization_cell(figures: Memorization, name: str) -> str:
    value = getattr(figures, name)
    return count(value) if name in _COUNTS else estimate_text(value, share=name != "source_notes_mean")


def _length(lengths: LengthSummary | None, figures: Memorization) -> str:
    if lengths is None or lengths.mean is None:
        return estimate_text(figures.stitched_share) if figures.stitched_share.value is None else NOT_MEASURED
    median = "" if lengths.median is None else f", median {number(lengths.median)}"
    return f"mean {number(lengths.mean)}{median}"
