"""Records of a CSV, JSONL or Parquet file, one mapping for each row, and the problems of an input, all at once.

The standard library parses the text formats: polars' readers fill a short CSV row with nulls, and for a malformed line
they name no row and quote the line. Rows count from 1 without the header; a blank line counts as a row that holds no
record. A row that cannot be parsed is a problem, and reading continues where the format allows it. A problem is in
fixed words and never holds a cell's content; all cells of a column with the same one share a line.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile, iter_lines
from clinaudit.priors.corpus.header import DOUBLED, Header
from clinaudit.priors.corpus.parquet import iter_parquet

#: Rows named of those that share a problem.
_ROWS_NAMED = 5


class Problems:
    """Collects problems; at most one for a cell, the first found."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], str] = {}

    def __len__(self) -> int:
        """The number of cells (or files, or rows) with a problem."""
        return len(self._lines)

    def add(self, file: str, what: str, *, row: int = 0, column: str = "") -> None:
        """Add the problem `what` of `file`; rows count from 1 without the header, and 0 is the file as a whole."""
        self._lines.setdefault((file, row, column), what)

    def overrule(self, others: "Problems") -> None:
        """Add the problems of `others`; they replace those of the same cells."""
        self._lines.update(others._lines)

    def listed(self) -> tuple[str, ...]:
        """Return one line for each problem of a column, by file and first row, with the rows that have it.

        `notes.csv, row 3, column text: is blank`; `notes.csv, column text, in 31 rows (1, 2, 5, 6, 9, ...): is blank`.
        """
        rows: dict[tuple[str, str, str], list[int]] = {}
        for (file, row, column), what in sorted(self._lines.items()):
            rows.setdefault((file, column, what), []).append(row)
        in_order = sorted(rows.items(), key=lambda item: (item[0][0], item[1][0], item[0][1:]))
        return tuple(_line(*key, found) for key, found in in_order)

    def raise_any(self, what: str) -> None:
        """Raise one `BadInputError` that lists all problems, if there are any; `what` names the input."""
        if not self._lines:
            return
        lines = self.listed()
        noun = "problem" if len(lines) == 1 else "problems"
        raise BadInputError(f"{len(lines)} {noun} in {what}; nothing was run: correct and try again", lines)


def _line(file: str, column: str, what: str, rows: Sequence[int]) -> str:
    """Return the line of a problem that some rows of a column share; row 0 is the file or the column as a whole."""
    place = [file]
    if len(rows) == 1 and rows[0]:
        place.append(f"row {rows[0]}")
    if column:
        place.append(f"column {column}")
    if len(rows) > 1:
        first = ", ".join(map(str, rows[:_ROWS_NAMED])) + (", ..." if len(rows) > _ROWS_NAMED else "")
        place.append(f"in {len(rows):,} rows ({first})")
    return f"{', '.join(place)}: {what}"


#: Longest CSV field in characters: an unclosed quote would otherwise take the rest of the file for one.
_MAX_FIELD_CHARS = 64 * 1024 * 1024
_NOT_UTF8 = "is not UTF-8; save the file as UTF-8"
_NO_OBJECT = "is not a JSON object on one line (a line a record, no list around them)"
Record = Mapping[str, object]


def iter_records(file: DataFile, *, header: Header, problems: Problems) -> Iterator[tuple[int, Record]]:
    """Yield (row, values by column) for each record of `file`, of the header's columns only.

    CSV values are strings; JSONL and Parquet values are of whatever type the file says. An absent key is absent.
    A row that could not be parsed is in `problems` instead. `header` says at the end what was read by another name.
    """
    try:
        if file.format == "csv":
            yield from _iter_csv(file, header, problems)
        elif file.format == "jsonl":
            yield from _iter_jsonl(file, header, problems)
        else:
            yield from iter_parquet(file, header)
    except BadInputError as error:
        problems.add(file.name, error.message)


def _iter_csv(file: DataFile, header: Header, problems: Problems) -> Iterator[tuple[int, Record]]:
    # surrogateescape keeps an invalid byte in its own cell, so that its row and column can be reported.
    lines = (line.decode("utf-8", errors="surrogateescape") for line in iter_lines(file))
    first = next(lines, "")
    if "\r" in first.rstrip("\r\n"):
        raise BadInputError("ends its lines in carriage returns alone; save it with the line ends of today")
    if header.declare(first):
        first = next(lines, "")
    else:
        header.find_delimiter(first)
    reader = csv.reader(chain([first], lines), strict=True, delimiter=header.delimiter)
    row = 0
    try:
        names = next_cells(reader) or []
        header.require_a_column(names)
        columns = header.match(names)
        header.width = len(columns)
        _check_doubled(file, columns, problems)
        while (cells := next_cells(reader)) is not None:
            row += 1
            if cells and len(cells) != len(columns):
                what = (
                    f"has not as many fields as the header, which has {len(columns)}, separated by "
                    f"{header.separated_by}; a cell that holds a delimiter (as in 1,5) must stand in quotes"
                )
                problems.add(file.name, what, row=row)
            elif cells:
                _check_encoding(file, row, columns, cells, problems)
                yield row, {name: cell for name, cell in zip(columns, cells, strict=True) if name is not None}
    except csv.Error:
        # The parser cannot tell where the next record begins.
        what = "is malformed CSV from here on (a quote not closed, or text after one)"
        problems.add(file.name, what, row=row + 1)


def next_cells(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the next row, None at the end; `csv` has one field limit per process, so it is set for each row alone."""
    before = csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _check_doubled(file: DataFile, columns: Sequence[str | None], problems: Problems, *, row: int = 0) -> None:
    named = [name for name in columns if name is not None]
    for name in {name for name in named if named.count(name) > 1}:
        problems.add(file.name, DOUBLED, row=row, column=name)


def _check_encoding(
    file: DataFile, row: int, columns: Sequence[str | None], cells: Sequence[str], problems: Problems
) -> None:
    for name, cell in zip(columns, cells, strict=True):
        if not cell.isascii() and not is_encodable(cell):
            problems.add(file.name, _NOT_UTF8, row=row, column=name or "")


def is_encodable(text: str) -> bool:
    """Whether `text` can be written as UTF-8: a lone surrogate cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _iter_jsonl(file: DataFile, header: Header, problems: Problems) -> Iterator[tuple[int, Record]]:
    for row, line in enumerate(iter_lines(file), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line.decode("utf-8"))
        except UnicodeDecodeError:
            problems.add(file.name, _NOT_UTF8, row=row)
        except _RepeatedKeyError:
            problems.add(file.name, "gives one key twice", row=row)
        except (ValueError, RecursionError):
            problems.add(file.name, _NO_OBJECT, row=row)
        else:
            if isinstance(record, dict):
                columns = header.match(record)
                _check_doubled(file, columns, problems, row=row)
                yield row, {name: value for name, value in zip(columns, record.values(), strict=True) if name}
            else:
                problems.add(file.name, _NO_OBJECT, row=row)


class _RepeatedKeyError(ValueError):
    """A JSON object gives one key twice; `json` would silently keep the last value only."""


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; raises `ValueError` for one that is none, NaN included, and for a repeated key."""
    return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)


def json_rows(content: str, problems: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of each row of a JSONL text that is not blank; add others' faults to `problems`."""
    # Not `splitlines`: JSON may hold line separators that are not line ends.
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, parse_json(line)
        except _RepeatedKeyError:
            problems.append(f"row {number}: gives one key twice")
        except (ValueError, RecursionError):
            problems.append(f"row {number}: is not JSON")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _RepeatedKeyError
    return record


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
