"""Tables of an export, CSV or Parquet, found by name and read row by row as text.

A fault concerns one row, which is rejected, or the whole file, which is an error. Cells come without the blanks around
them; the text of a note as it stands.
"""

import csv
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import (
    FILE_ENDINGS,
    Compression,
    DataFile,
    Format,
    find_file,
    iter_lines,
    printable,
    stat_input,
    unreadable,
)
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.parquet import iter_parquet
from clinaudit.priors.corpus.records import is_encodable, next_cells
from clinaudit.priors.importers.ledger import ImportLedger, Place, RecordError

#: Folders of an export below the one that is given (physionet.org/files/mimiciv/3.1/hosp).
_MAX_DEPTH = 5
_STEP_BYTES = 1 << 20
#: What databases write into a CSV where a cell holds nothing (SQL Server, PostgreSQL).
_NULLS = frozenset({"NULL", "\\N"})
TABLE_ENDINGS: dict[str, tuple[Format, Compression | None]] = {
    ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] in ("csv", "parquet")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a text table is written."""

    #: None: a tab where the header has one, a comma otherwise.
    delimiter: str | None = None
    encoding: str = "utf-8"
    #: False: quotes mean nothing (the vocabulary files of OMOP).
    quoted: bool = True
    #: What the column map that names a column calls it: `columns.sex`. Empty: there is no map.
    keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that are read, and how the table is written."""

    required: Collection[str]
    optional: Collection[str] = ()
    #: Columns whose cells keep the blanks around them: the text of a note.
    exact: Collection[str] = ()
    layout: Layout = Layout()

    @classmethod
    def of(cls, required: str, optional: str = "", *, exact: str = "", layout: Layout | None = None) -> "Columns":
        """Return the columns that are named between blanks."""
        return cls(required.split(), optional.split(), exact.split(), layout or Layout())

    @property
    def wanted(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


Row = Mapping[str, str | None]


class Reader:
    """Reads the files of one import, counts their records and says how far it is."""

    def __init__(self, ledger: ImportLedger, advance: Callable[[int], None]) -> None:
        self.ledger = ledger
        self._advance = advance

    def rows(self, table: str, file: DataFile, columns: Columns) -> Iterator[tuple[Place, Row]]:
        """Yield each row with the named columns, None where a cell is blank or an optional column is not there.

        The ledger must be told what becomes of each. Names of columns are compared without regard to case. Rows that
        cannot be read are rejected. Raises `BadInputError`, with file and row, on what cannot be read on.
        """
        self.ledger.expect(table)
        read = self._parquet_rows if file.format == "parquet" else self._csv_rows
        with located(file, has_map=bool(columns.layout.keys)):
            for number, row in read(table, file, columns):
                cells = cells_of(self.ledger, table, row, columns.wanted, exact=columns.exact)
                yield Place(file.name, "row", number), cells

    def tracker(self) -> Callable[[int], None]:
        """Return what is told at which byte of a file its reader stands, and passes on how far it came."""
        last = 0

        def at(byte: int) -> None:
            nonlocal last
            if byte - last >= _STEP_BYTES:
                self._advance(byte - last)
                last = byte

        return at

    def _csv_rows(self, table: str, file: DataFile, columns: Columns) -> Iterator[tuple[int, Mapping[str, str]]]:
        layout = columns.layout
        lines = (line.decode(layout.encoding, errors="surrogateescape") for line in iter_lines(file, at=self.tracker()))
        first = next(lines, "")
        delimiter = layout.delimiter or ("\t" if "\t" in first else ",")
        rows = csv.reader(
            chain([first] if first else [], lines),
            strict=True,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE,
        )
        number = 0
        try:
            names = [name.strip() for name in next_cells(rows) or []]
            header = [name.lower() for name in names]
            places = _column_places(header, columns, delimiter)
            if layout.keys:
                self.ledger.columns_not_read = tuple(name for name in names if name and name.lower() not in places)
            while (cells := next_cells(rows)) is not None:
                number += 1
                if not cells:  # a blank line holds no record
                    continue
                self.ledger.seen(table)
                if len(cells) != len(header):
                    fault = f"the row has {'more' if len(cells) > len(header) else 'fewer'} fields than the header"
                elif not all(cells[place].isascii() or is_encodable(cells[place]) for place in places.values()):
                    fault = f"a cell is not {layout.encoding.upper()}" + (
                        "; set `encoding` in the column map" if layout.keys else ""
                    )
                else:
                    yield number, {name: cells[place] for name, place in places.items()}
                    continue
                self.ledger.reject(table, Place(file.name, "row", number), fault)
        except csv.Error:
            # The parser cannot tell where the next record begins.
            raise BadInputError(
                f"row {number + 1}: is malformed CSV from here on (a quote not closed, or text after one)"
            ) from None

    def _parquet_rows(self, table: str, file: DataFile, columns: Columns) -> Iterator[tuple[int, Mapping[str, str]]]:
        layout = columns.layout
        header = Header(columns.wanted)
        for number, row in iter_parquet(file, header):
            if number == 1:
                require_columns(row, columns.required, layout.keys, "")
                if layout.keys:
                    self.ledger.columns_not_read = tuple(header.unread)
            if row:
                self.ledger.seen(table)
            cells = {name: _as_text(value) for name, value in row.items()}
            if any(value == _UNREADABLE for value in cells.values()):
                self.ledger.reject(table, Place(file.name, "row", number), "a value is neither text nor a number")
            else:
                yield number, cells
        self._advance(file.identity[2])


#: A value that no column may hold: bytes, lists.
_UNREADABLE = "\0unreadable"


def _as_text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return _UNREADABLE
        case str():
            return value
        case int():
            return str(value)
        case float():
            # A column of whole numbers with gaps, as data frames write it.
            return str(int(value)) if value.is_integer() else str(value)
    return _UNREADABLE


@contextmanager
def located(file: DataFile, *, has_map: bool = False) -> Iterator[None]:
    """Put the name of the file before the message of a `BadInputError`, and say that nothing was written."""
    try:
        yield
    except BadInputError as error:
        has_place = error.message.startswith(("row ", "sheet row ", "line ", "entry ", "column "))
        place = f"{file.name}{', ' if has_place else ': '}"
        faulty = "the export or the column map" if has_map else "the export"
        raise BadInputError(f"{place}{error.message}; nothing was written: correct {faulty} and try again") from None


def _column_places(header: Sequence[str], columns: Columns, delimiter: str) -> dict[str, int]:
    wanted, keys = columns.wanted, columns.layout.keys
    if twice := sorted(name for name in wanted if header.count(name.lower()) > 1):
        raise BadInputError(f"column {', '.join(twice)}: stands in the header more than once")
    places = {name: header.index(name.lower()) for name in wanted if name.lower() in header}
    sign = {"\t": "tabs", ",": "commas"}.get(delimiter, delimiter)
    remedy = "; if it is not, set `delimiter` in the column map" if keys else ""
    require_columns(places, columns.required, keys, f" (the header was read as separated by {sign}{remedy})")
    return places


def require_columns(found: Collection[str], wanted: Collection[str], keys: Mapping[str, str], where: str) -> None:
    """Raise `BadInputError` that names missing columns, and the keys of the column map that ask for them."""
    missing = [name for name in wanted if name not in found]
    if missing:
        named = ", ".join(f"{name} ({keys[name]} of the column map)" if keys else name for name in missing)
        raise BadInputError(f"column {named}: is missing{where}")


def cells_of(
    ledger: ImportLedger, table: str, row: Mapping[str, str], names: Collection[str], *, exact: Collection[str]
) -> dict[str, str | None]:
    """Return the named cells, None where one is blank, without the blanks around them but for `exact`.

    Databases pad texts of a fixed length, also ids, by which tables are joined. The ledger counts what was taken off.
    """
    cells: dict[str, str | None] = {}
    for name in names:
        text = row.get(name, "")
        bare = text.strip()
        if not bare or bare in _NULLS:
            cells[name] = None
        elif name in exact:
            cells[name] = text
        else:
            cells[name] = bare
            if bare != text:
                ledger.trimmed[f"{name} of {table}"] += 1
    return cells


def required(row: Row, column: str) -> str:
    """Return a cell; raises `RecordError` where it is blank."""
    cell = row[column]
    if cell is None:
        raise RecordError(f"{column} is blank")
    return cell


def find_tables(source: Path, names: Collection[str]) -> dict[str, DataFile]:
    """Return the files under a directory that hold the named tables, whatever the case of their names.

    Raises `BadInputError` for a source that is no directory, and where two files hold one table.
    """
    shown = printable(str(source))
    try:
        stat_input(source, shown)
    except BadInputError as error:
        raise BadInputError(f"{shown} {error.message}; give the folder of the export") from None
    if not source.is_dir():
        raise BadInputError(f"{shown} is not a folder; give the folder of the export")
    found: dict[str, list[Path]] = {}
    for path in _files_below(source, shown):
        for ending in TABLE_ENDINGS:
            stem = path.name.lower().removesuffix(ending)
            if stem in names and stem != path.name.lower():
                found.setdefault(stem, []).append(path)
    files = {}
    for name, paths in sorted(found.items()):
        if len(paths) > 1:
            listed = ", ".join(sorted(printable(str(path.relative_to(source))) for path in paths))
            raise BadInputError(f"the table {name} is given by more than one file: {listed}; leave one under SOURCE")
        files[name] = data_file(paths[0], printable(str(paths[0].relative_to(source))), TABLE_ENDINGS)
    return files


def data_file(path: Path, name: str, endings: Mapping[str, tuple[Format, Compression | None]]) -> DataFile:
    """Return the file at `path`; raises `BadInputError` that names it."""
    try:
        return find_file(path, name, endings)
    except BadInputError as error:
        raise BadInputError(f"{name}: {error.message}; correct the export and try again") from None


def _files_below(source: Path, shown: str) -> Iterator[Path]:
    def stop(error: OSError) -> None:
        raise unreadable(shown, error)

    for folder, folders, names in os.walk(source, followlinks=True, onerror=stop):
        here = Path(folder)
        if len(here.relative_to(source).parts) >= _MAX_DEPTH:
            folders.clear()
        folders.sort()
        yield from (here / name for name in sorted(names))
