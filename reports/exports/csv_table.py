"""What a CSV file of the paper's numbers is: named columns, and rows of text and numbers.

Owns how a number is written, and into which columns an estimate and a count go.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clinaudit.reports.schema.numbers import CountRange, EstimateRange
from clinaudit.reports.schema.results import round_floats
from clinaudit.reports.wording.escaped_text import harmless_text

#: A cell; None is written as an empty one.
Value = str | int | float | None
Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """One file: its name without suffix, and its rows; a row has a cell for each of its own columns."""

    name: str
    rows: Sequence[Row]


def csv_text(table: CsvTable) -> str:
    """Return the text of the file: the columns in the order in which the rows first name them, then the rows."""
    columns = list(dict.fromkeys(column for row in table.rows for column in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in table.rows)
    return text.getvalue()


def estimate_cells(name: str, estimate: EstimateRange | None, *, interval: bool = False) -> dict[str, Value]:
    """Return the cells of an estimate: the number (none where a range is all that is published) and its range.

    With `interval` the ends of its 95% interval besides.
    """
    found = estimate or EstimateRange()
    cells: dict[str, Value] = {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    if interval:
        cells |= {f"{name}_ci_low": found.confidence_low, f"{name}_ci_high": found.confidence_high}
    return cells


def count_cells(name: str, count: CountRange | None) -> dict[str, Value]:
    """Return the cells of a count of patients: the ends of its class, which are equal where it is exact."""
    return {f"{name}_low": None if count is None else count.low, f"{name}_high": None if count is None else count.high}


def filled(tables: Iterable[CsvTable]) -> list[CsvTable]:
    """Return the tables that have a row."""
    return [table for table in tables if table.rows]


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = harmless_text(value)
        # A spreadsheet would read it as a formula.
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    number = round_floats(float(value))
    return str(int(number)) if number.is_integer() else str(number)
