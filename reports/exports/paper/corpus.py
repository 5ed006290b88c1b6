"""Tables 5 to 8 as CSV: sizes, race and sex, ages by split and cohort; longitudinal coverage; the training log.

Owns what stands in which row.
"""

from collections.abc import Iterator

from clinaudit.reports.exports.paper.csv_table import CsvTable, Row, Value, count_cells, estimate_cells
from clinaudit.reports.schema.corpus import PublishedPopulation
from clinaudit.reports.schema.report_content import ReportContent
from clinaudit.reports.schema.results import PublishedResults


def table5(content: ReportContent) -> CsvTable:
    """Return how large each split and cohort is, a row each; deviations and ranges where exact."""
    exact = {} if content.exact is None else content.exact.populations
    rows: list[Row] = []
    for place, population in _populations(content.results):
        cells = place | count_cells("patients", population.patients) | count_cells("practices", population.practices)
        for name in ("notes", "tokens", "notes_per_patient", "tokens_per_patient", "tokens_per_note"):
            cells[name] = getattr(population, name)
        for name in ("notes_per_practice", "patients_per_practice"):
            cells |= estimate_cells(name, getattr(population, name))
        for name, spread in exact.get(str(place["population"]), {}).items():
            if name != "age":
                cells |= {f"{name}_sd": spread.sd, f"{name}_min": spread.min, f"{name}_max": spread.max}
        rows.append(cells)
    return CsvTable("table5_corpus", rows)


def longitudinal(content: ReportContent) -> CsvTable:
    """Return how long the patients of each split were followed (Appendix E); percentiles where exact."""
    corpus, exact = content.results.corpus, {} if content.exact is None else content.exact.follow_up
    rows: list[Row] = []
    for name, split in ({} if corpus is None else corpus.follow_up).items():
        for cell, count in split.patients.items():
            share = estimate_cells("share", split.shares.get(cell))
            rows.append({"split": name, "figure": cell} | count_cells("patients", count) | share)
        rows.append({"split": name, "figure": "span_years"} | estimate_cells("mean", split.span_years))
        for figure, percentiles in exact.get(name, {}).items():
            rows.append({"split": name, "figure": f"{figure}, exact"} | percentiles.model_dump())
    return CsvTable("longitudinal_coverage", rows)


def table6(results: PublishedResults) -> CsvTable:
    """Return patients by race and ethnicity, and by sex, with their share of all patients of the row."""
    return CsvTable("table6_race_sex", [*_groups(results, "race"), *_groups(results, "sex")])


def table7(content: ReportContent) -> CsvTable:
    """Return the mean age of each split and cohort, its deviation where exact, and its patients by age band."""
    exact = {} if content.exact is None else content.exact.populations
    rows: list[Row] = []
    for place, population in _populations(content.results):
        cells = place | {"band": "mean"} | estimate_cells("mean_age", population.age)
        if (ages := exact.get(str(place["population"]), {}).get("age")) is not None:
            cells["age_sd"] = ages.sd
        rows.append(cells)
    return CsvTable("table7_age", [*rows, *_groups(content.results, "age_bands", title="band")])


def table8(results: PublishedResults) -> CsvTable:
    """Return the training log, a row an epoch."""
    return CsvTable("table8_training", [row.model_dump() for row in results.training or ()])


def _groups(results: PublishedResults, field: str, *, title: str = "group") -> Iterator[Row]:
    for place, population in _populations(results):
        for group, count in getattr(population, field).items():
            named: dict[str, Value] = {title: group} if title == "band" else {"partition": field, title: group}
            share = population.shares.get(field, {}).get(group)
            yield place | named | count_cells("patients", count) | estimate_cells("share", share)


def _populations(results: PublishedResults) -> Iterator[tuple[dict[str, Value], PublishedPopulation]]:
    if results.corpus is None:
        return
    for name, population in results.corpus.splits.items():
        yield {"kind": "split", "population": name}, population
    for name, population in results.corpus.cohorts.items():
        yield {"kind": "cohort", "population": name}, population
