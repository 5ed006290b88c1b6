"""Tables of memorization: by tier and arm, its regions, K, near-verbatim text, and the paper's own counting.

Owns what stands in which column. Works on suppressed results. An estimate without a value is given in words.
"""

from collections.abc import Sequence

from clinaudit.reports.schema.memorization import LengthSummary, Memorization
from clinaudit.reports.schema.results import Results
from clinaudit.reports.tables.table import Table, memorization_summaries, numbered_tier_title
from clinaudit.reports.wording.numbers import NOT_MEASURED, count_text, estimate_text, number_text

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
    """Return the paper's Figures 2 and 8 as a table, by tier and arm."""
    return _by_tier_and_arm(results, "Verbatim memorization by tier", _FRACTIONS)


def regions_table(results: Results) -> Table:
    """Return what the memorized regions are made of, by tier and arm."""
    return _by_tier_and_arm(results, "Memorized regions by tier", _REGIONS, lengths=True)


def paper_view_table(results: Results) -> Table:
    """Return the paper's counting beside ours: a patient counts once in each cohort."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        view = summary.paper_view
        if view is not None:
            shares = (estimate_text(view.memorized_fraction, share=True), estimate_text(view.hit_rate, share=True))
            rows.append((numbered_tier_title(tier), arm, f"{view.rows:,}", *shares))
    heads = ("Tier", "Arm", "Patients, once a cohort", "Memorized", "Hit rate")
    return Table(
        "Memorized text, each patient counted once in each cohort (as the method's paper does)", heads, tuple(rows)
    )


def shared_table(results: Results) -> Table:
    """Return patient specificity K (in how many patients' notes a piece stands), by tier and arm."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        rows += [(numbered_tier_title(tier), arm, bin_.k, count_text(bin_.pieces)) for bin_ in summary.k_distribution]
    heads = ("Tier", "Arm", "Patients whose notes hold it", "Pieces")
    return Table("Memorized pieces by number of patients", heads, tuple(rows))


def near_verbatim_table(results: Results) -> Table:
    """Return near-verbatim text by tier and arm."""
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        near = summary.near_verbatim
        if near is not None:
            shares = (estimate_text(near.fraction, share=True), estimate_text(near.extra_fraction, share=True))
            windows = f"{near.edit_budget} of {near.window}"
            rows.append((numbered_tier_title(tier), arm, windows, *shares, estimate_text(near.longest_region)))
    heads = ("Tier", "Arm", "Edits allowed a window", "Near-verbatim", "Beyond verbatim", "Longest region, tokens")
    return Table("Near-verbatim text by tier (counted separately)", heads, tuple(rows))


def _by_tier_and_arm(
    results: Results, caption: str, columns: Sequence[tuple[str, str]], *, lengths: bool = False
) -> Table:
    heads = ("Tier", "Arm", *(title for title, _ in columns), *(("Region length, characters",) if lengths else ()))
    rows = []
    for tier, arm, summary in memorization_summaries(results):
        cells = [_memorization_cell(summary, name) for _, name in columns]
        if lengths:
            cells.append(_length(summary.region_length.get("characters"), summary))
        rows.append((numbered_tier_title(tier), arm, *cells))
    return Table(caption, heads, tuple(rows))


def _memorization_cell(summary: Memorization, name: str) -> str:
    value = getattr(summary, name)
    return count_text(value) if name in _COUNTS else estimate_text(value, share=name != "source_notes_mean")


def _length(lengths: LengthSummary | None, summary: Memorization) -> str:
    if lengths is None or lengths.mean is None:
        return estimate_text(summary.stitched_share) if summary.stitched_share.value is None else NOT_MEASURED
    median = "" if lengths.median is None else f", median {number_text(lengths.median)}"
    return f"mean {number_text(lengths.mean)}{median}"
