"""All files of the paper's numbers by name: `paper/*.csv` of published content, `evidence/paper/*.csv` of exact.

Owns which tables there are. One function serves both: exact content has the same records, with ranges of no width.
"""

from collections.abc import Iterator
from typing import Final

from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.exports.paper.csv_table import (
    CsvTable,
    Row,
    Value,
    count_cells,
    csv_text,
    estimate_cells,
    filled,
)
from clinaudit.reports.exports.paper.disclosure import figure3, table1, table4
from clinaudit.reports.schema.corpus import PopulationResults
from clinaudit.reports.schema.hipaa import HIPAA_IDENTIFIERS
from clinaudit.reports.schema.identifiers import IdentifierResults, IdentifiersResults
from clinaudit.reports.schema.memorization import LENGTH_UNITS, PIECE_KINDS, SECTION_KINDS, MemorizationResults
from clinaudit.reports.schema.record import ARMS, Arm
from clinaudit.reports.schema.results import ReportContent, RunResults
from clinaudit.reports.wording.identifiers import identifier_figures
from clinaudit.reports.wording.names import HIPAA_TITLES

_MOMENTS = ("notes_per_patient", "tokens_per_patient", "notes_per_practice", "patients_per_practice")
_FRACTIONS = ("memorized_fraction", "memorized_fraction_without_echo", "attributable_fraction")


def figure2(content: ReportContent) -> CsvTable:
    """Return memorized shares (Figure 2) and patients with a match (Figure 8); the paper's counting where exact."""
    rows: list[Row] = []
    for tier, arm, summary in _summaries(content.results):
        cells = _place(tier, arm) | count_cells("patients", summary.patients)
        for name in _FRACTIONS:
            cells |= estimate_cells(name, getattr(summary, name).mean, interval=True)
        cells |= estimate_cells("hit_patients_share", summary.hit_patients_share, interval=True)
        view = None if summary.evidence is None else summary.evidence.paper_view
        if view is not None:
            cells["paper_rows"] = view.rows
            cells["paper_memorized_fraction"] = view.memorized_fraction.value
            cells["paper_hit_rate"] = view.hit_rate.value
        rows.append(cells)
    return CsvTable("figure2_figure8_memorization", rows)


def figure4(results: RunResults) -> CsvTable:
    """Return the composition of memorized tokens by note section and kind, largest section first."""
    rows: list[Row] = []
    for tier, arm, summary in _summaries(results):
        for row in summary.sections:
            kinds: dict[str, Value] = {kind: getattr(row, kind) for kind in SECTION_KINDS}
            templated = estimate_cells("templated_share", row.templated_share)
            rows.append(_place(tier, arm) | {"section": row.section} | kinds | templated)
    return CsvTable("figure4_sections", rows)


def figure12(results: RunResults) -> CsvTable:
    """Return the K = 1 revealing pieces by how many of the patient's notes hold them."""
    return _shares(results, "figure12_copy_forward", bins="copy_forward", title="notes")


def k_distribution(results: RunResults) -> CsvTable:
    """Return the pieces by K, in how many patients' notes they stand."""
    return _shares(results, "k_distribution", bins="k_distribution", title="k")


def _shares(results: RunResults, name: str, *, bins: str, title: str) -> CsvTable:
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
    rows: list[Row] = []
    for tier, arm, summary in _summaries(content.results):
        cells = _place(tier, arm) | {name: getattr(summary, name) for name in names}
        for kind in PIECE_KINDS:
            lengths = summary.piece_length.get(kind, {})
            cells |= {f"piece_{kind}_{unit}": lengths.get(unit) for unit in LENGTH_UNITS}
        for unit, length in ({} if summary.evidence is None else summary.evidence.region_length).items():
            cells |= {f"region_{unit}_{name}": value for name, value in length.model_dump(exclude={"mean"}).items()}
        rows.append(cells)
    return CsvTable("memorized_regions", rows)


def _place(tier: str, arm: Arm) -> dict[str, Value]:
    return {"tier": tier, "arm": arm}


def _summaries(results: RunResults) -> Iterator[tuple[str, Arm, MemorizationResults]]:
    for tier in TIER_IDS:
        arms = results.memorization.get(tier, {})
        yield from ((tier, arm, arms[arm]) for arm in ARMS if arm in arms)


_COUNTS = ("patients", "own_patients", "other_patients", "verified_patients")
_SHARES = ("own", "other", "sampled", "chance", "verified")
_RATES = ("verified_per_1000", "corrected_per_1000", "sampled_per_1000", "chance_per_1000")


def identifiers_by_tier(results: RunResults) -> CsvTable:
    """Return patients, shares and rates by tier and arm, all of HIPAA's identifiers together."""
    rows: list[Row] = [
        {"tier": tier, "arm": arm, **_figures(figures)} for tier, arm, figures in identifier_figures(results)
    ]
    return CsvTable("identifiers_by_tier", rows)


def identifiers_by_kind(results: RunResults) -> CsvTable:
    """Return the same by HIPAA's identifier and arm, with how many planted ones were found, or why none was sought."""
    rows = [] if results.identifiers is None else list(_kinds(results.identifiers))
    return CsvTable("identifiers_by_kind", rows)


def _kinds(identifiers: IdentifiersResults) -> Iterator[Row]:
    recalls = {row.identifier: row for row in identifiers.recall}
    for name in HIPAA_IDENTIFIERS:
        place: dict[str, Value] = {"identifier": name, "title": HIPAA_TITLES[name]}
        arms = identifiers.categories.get(name, {})
        recall = recalls.get(name)
        found: dict[str, Value] = {
            "not_tested": identifiers.not_tested.get(name),
            "planted": None if recall is None else recall.planted,
            "planted_found": None if recall is None else recall.found,
            **estimate_cells("recall", None if recall is None else recall.recall, interval=True),
        }
        if not arms:
            yield {**place, "arm": None, **found}
        yield from ({**place, "arm": arm, **found, **_figures(arms[arm])} for arm in ARMS if arm in arms)


def _figures(figures: IdentifierResults) -> dict[str, Value]:
    cells: dict[str, Value] = {}
    for name in _COUNTS:
        cells |= count_cells(name, getattr(figures, name))
    for name in (*_SHARES, *_RATES):
        cells |= estimate_cells(name, getattr(figures, name), interval=True)
    return cells


def table5(content: ReportContent) -> CsvTable:
    """Return how large each split and cohort is, a row each; deviations and ranges where exact."""
    rows: list[Row] = []
    for place, population in _populations(content.results):
        cells = place | count_cells("patients", population.patients) | count_cells("practices", population.practices)
        for name in ("notes", "tokens", "notes_per_patient", "tokens_per_patient", "tokens_per_note"):
            cells[name] = getattr(population, name)
        for name in ("notes_per_practice", "patients_per_practice"):
            cells |= estimate_cells(name, getattr(population, name))
        for name in _MOMENTS:
            spread = None if population.evidence is None else getattr(population.evidence, name)
            if spread is not None:
                cells |= {f"{name}_sd": spread.sd, f"{name}_min": spread.min, f"{name}_max": spread.max}
        rows.append(cells)
    return CsvTable("table5_corpus", rows)


def longitudinal(content: ReportContent) -> CsvTable:
    """Return how long the patients of each split were followed (Appendix E); percentiles where exact."""
    corpus = content.results.corpus
    rows: list[Row] = []
    for name, split in ({} if corpus is None else corpus.follow_up).items():
        for cell, count in split.patients.items():
            share = estimate_cells("share", split.shares.get(cell))
            rows.append({"split": name, "figure": cell} | count_cells("patients", count) | share)
        rows.append({"split": name, "figure": "span_years"} | estimate_cells("mean", split.span_years))
        for figure, percentiles in ({} if split.evidence is None else split.evidence.model_dump()).items():
            rows.append({"split": name, "figure": f"{figure}, exact"} | percentiles)
    return CsvTable("longitudinal_coverage", rows)


def table6(results: RunResults) -> CsvTable:
    """Return patients by race and ethnicity, and by sex, with their share of all patients of the row."""
    return CsvTable("table6_race_sex", [*_groups(results, "race"), *_groups(results, "sex")])


def table7(content: ReportContent) -> CsvTable:
    """Return the mean age of each split and cohort, its deviation where exact, and its patients by age band."""
    rows: list[Row] = []
    for place, population in _populations(content.results):
        cells = place | {"band": "mean"} | estimate_cells("mean_age", population.age)
        if population.evidence is not None:
            cells["age_sd"] = population.evidence.age.sd
        rows.append(cells)
    return CsvTable("table7_age", [*rows, *_groups(content.results, "age_bands", title="band")])


def table8(results: RunResults) -> CsvTable:
    """Return the training log, a row an epoch."""
    return CsvTable("table8_training", [row.model_dump() for row in results.training or ()])


def _groups(results: RunResults, field: str, *, title: str = "group") -> Iterator[Row]:
    for place, population in _populations(results):
        for group, count in getattr(population, field).items():
            named: dict[str, Value] = {title: group} if title == "band" else {"partition": field, title: group}
            share = population.shares.get(field, {}).get(group)
            yield place | named | count_cells("patients", count) | estimate_cells("share", share)


def _populations(results: RunResults) -> Iterator[tuple[dict[str, Value], PopulationResults]]:
    if results.corpus is None:
        return
    for name, population in results.corpus.splits.items():
        yield {"kind": "split", "population": name}, population
    for name, population in results.corpus.cohorts.items():
        yield {"kind": "cohort", "population": name}, population


FOLDER: Final = "paper"
#: Every file there may be, in the paper's order, then identifiers, of which it has no table. No row: no file.
FILE_NAMES: Final = tuple(
    f"{FOLDER}/{name}.csv"
    for name in (
        "table1_disclosure",
        "figure2_figure8_memorization",
        "figure3_delta",
        "table4_balance",
        "table5_corpus",
        "longitudinal_coverage",
        "table6_race_sex",
        "table7_age",
        "table8_training",
        "figure4_sections",
        "figure12_copy_forward",
        "k_distribution",
        "memorized_regions",
        "identifiers_by_tier",
        "identifiers_by_kind",
    )
)


def paper_files(content: ReportContent) -> dict[str, str]:
    """Return the text of each file by its name, `paper/table1_disclosure.csv`; a table without a row is left out."""
    return {f"{FOLDER}/{table.name}.csv": csv_text(table) for table in filled(list_tables(content))}


def list_tables(content: ReportContent) -> list[CsvTable]:
    """Return the tables in the order of `FILE_NAMES`."""
    results = content.results
    return [
        table1(results),
        figure2(content),
        figure3(results),
        table4(results),
        table5(content),
        longitudinal(content),
        table6(results),
        table7(content),
        table8(results),
        figure4(results),
        figure12(results),
        k_distribution(results),
        regions(content),
        identifiers_by_tier(results),
        identifiers_by_kind(results),
    ]
