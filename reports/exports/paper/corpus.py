"""Tables 5 to 8 as CSV: sizes, race and sex, ages by split and cohort; the training log.

Owns what stands in which row.
"""

from collections.abc import Iterator

from clinaudit.reports.exports.paper.csv_table import CsvTable, Row, Value, count_cells, estimate_cells
from clinaudit.reports.schema.corpus import PublishedPopulation
from clinaudit.reports.schema.results import PublishedResults


def table5(results: PublishedResults) -> CsvTable:
    """Return how large each split and cohort is, a row each."""
    rows: list[Row] = []
    for place, population in _populations(results):
        cells = place | count_cells("patients", population.patients)
        for name in ("notes", "tokens", "notes_per_patient", "tokens_per_patient"):
            cells[name] = getattr(population, name)
        rows.append(cells)
    return CsvTable("table5_corpus", rows)


def table6(results: PublishedResults) -> CsvTable:
    """Return patients by race and ethnicity, and by sex, with their share of all patients of the row."""
    return CsvTable("table6_race_sex", [*_groups(results, "race"), *_groups(results, "sex")])


def table7(results: PublishedResults) -> CsvTable:
    """Return the mean age of each split and cohort, and its patients by age band."""
    rows: list[Row] = [
        place | {"band": "mean"} | estimate_cells("mean_age", population.age)
        for place, population in _populations(results)
    ]
    return CsvTable("table7_age", [*rows, *_groups(results, "age_bands", title="band")])


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
