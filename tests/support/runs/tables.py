"""The tables of estimates of a run, as its readers have them, and rows of its evidence."""

from pathlib import Path

from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.reports.estimates.frame import Estimates, Row
from clinaudit.reports.exports import read_csv


def published_of(run: Path) -> Estimates:
    """Return what a run publishes."""
    return Estimates(read_csv((run / "results.csv").read_text(encoding="utf-8")))


def exact_of(run: Path) -> Estimates:
    """Return what a run measured."""
    return Estimates(read_csv((run / "evidence" / "results.csv").read_text(encoding="utf-8")))


def row_of(estimates: Estimates, metric: str, **place: str) -> Row:
    """Return a row that has to be there."""
    row = estimates.find(metric, **place)
    assert row is not None, (metric, place)
    return row


def value_of(estimates: Estimates, metric: str, **place: str) -> float:
    """Return a figure that has to be there."""
    row = row_of(estimates, metric, **place)
    assert row.value is not None, row
    return row.value


def evidence_row(table: str, **given: object) -> dict[str, object]:
    """Return a row of an evidence table, with zeros, empty texts and lists where nothing is given."""
    blank: dict[str, object] = {"int": 0, "float": 0.0, "text": "", "bool": False}
    return {column: given.get(column, blank.get(kind, [])) for column, kind in SCHEMAS[table].items()}
