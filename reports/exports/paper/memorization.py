"""Figures 2, 4, 8 and 12, K, and what regions are made of (section 5.2 of the paper), by tier and arm, as CSV.

Owns what stands in which row.
"""

from collections.abc import Iterator

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exports.paper.csv_table import CsvTable, Row, Value, count_cells, estimate_cells
from clinaudit.reports.schema.memorization import LENGTH_UNITS, PIECE_KINDS, SECTION_KINDS, PublishedMemorization
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.schema.results import PublishedResults

_FRACTIONS = ("memorized_fraction", "memorized_fraction_without_echo", "attributable_fraction")


def figure2(content: ReportContent) -> CsvTable:
    """Return memorized shares (Figure 2) and patients with a match (Figure 8); the paper's counting where exact."""
    views = {} if content.exact is None else content.exact.paper_view
    rows: list[Row] = []
    for tier, arm, summary in _summaries(content.results):
        cells = _place(tier, arm) | count_cells("patients", summary.patients)
        for name in _FRACTIONS:
            cells |= estimate_cells(name, getattr(summary, name).mean, interval=True)
        cells |= estimate_cells("hit_patients_share", summary.hit_patients_share, interval=True)
        view = views.get(tier, {}).get(arm)
        if view is not None:
            cells["paper_rows"] = view.rows
            cells["paper_memorized_fraction"] = view.memorized_fraction.value
            cells["paper_hit_rate"] = view.hit_rate.value
        rows.append(cells)
    return CsvTable("figure2_figure8_memorization", rows)


def figure4(results: PublishedResults) -> CsvTable:
    """Return the composition of memorized tokens by note section and kind, largest section first."""
    rows: list[Row] = []
    for tier, arm, summary in _summaries(results):
        for row in summary.sections:
            kinds: dict[str, Value] = {kind: getattr(row, kind) for kind in SECTION_KINDS}
            templated = estimate_cells("templated_share", row.templated_share)
            rows.append(_place(tier, arm) | {"section": row.section} | kinds | templated)
    return CsvTable("figure4_sections", rows)


def figure12(results: PublishedResults) -> CsvTable:
    """Return the K = 1 revealing pieces by how many of the patient's notes hold them."""
    return _shares(results, "figure12_copy_forward", bins="copy_forward", title="notes")


def k_distribution(results: PublishedResults) -> CsvTable:
    """Return the pieces by K, in how many patients' notes they stand."""
    return _shares(results, "k_distribution", bins="k_distribution", title="k")


def _shares(results: PublishedResults, name: str, *, bins: str, title: str) -> CsvTable:
    rows: list[Row] = [
        _place(tier, arm) | {title: getattr(row, title), "share": row.share}
        for tier, arm, summary in _summaries(results)
        for row in getattr(summary, bins)
    ]
    return CsvTable(name, rows)


def regions(content: ReportContent) -> CsvTable:
    """Return what the memorized regions are made of: source notes, shares, lengths; their percentiles where exact."""
    names = (
        "source_notes_mean",
        "source_notes_any",
        "source_notes_min",
        "stitched_share",
        "templated_share",
        "multi_patient_share",
        "largest_sections_share",
        *(f"region_{unit}" for unit in LENGTH_UNITS),
    )
    exact = {} if content.exact is None else content.exact.region_lengths
    rows: list[Row] = []
    for tier, arm, summary in _summaries(content.results):
        cells = _place(tier, arm) | {name: getattr(summary, name) for name in names}
        for kind in PIECE_KINDS:
            lengths = summary.piece_length.get(kind, {})
            cells |= {f"piece_{kind}_{unit}": lengths.get(unit) for unit in LENGTH_UNITS}
        for unit, length in exact.get(tier, {}).get(arm, {}).items():
            cells |= {f"region_{unit}_{name}": value for name, value in length.model_dump().items()}
        rows.append(cells)
    return CsvTable("memorized_regions", rows)


def _place(tier: str, arm: Arm) -> dict[str, Value]:
    return {"tier": tier, "arm": arm}


def _summaries(results: PublishedResults) -> Iterator[tuple[str, Arm, PublishedMemorization]]:
    for tier in TIER_IDS:
        arms = results.memorization.get(tier, {})
        yield from ((tier, arm, arms[arm]) for arm in ARMS if arm in arms)
