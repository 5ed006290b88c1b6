"""Rows of an Excel sheet, read by calamine in a child process with bounded memory.

A workbook is a ZIP of XML: a few kilobytes can claim gigabytes. What it says that it unpacks to is checked before, and
the child may take no more memory than stated here; its death is an error like any other. Formulas and macros are not
run: the values that Excel stored are read. calamine keeps the last of two cells with one address, and gives an error as
a blank: so the sheet's XML (ECMA-376, part 1, section 18.3) is read once more as a stream, that no record is lost.
"""

import re
import resource
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from math import isfinite
from pathlib import Path
from typing import IO, Final
from xml.parsers import expat

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile, open_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.parquet import rows_of_child, write_line, write_names

#: What a cell shows whose formula has no value (ECMA-376, section 18.17.3, and later ones of Excel's own).
EXCEL_ERRORS: Final = frozenset(
    f"#{name}"
    for name in (
        *("NULL!", "DIV/0!", "VALUE!", "REF!", "NAME?", "NUM!", "N/A", "GETTING_DATA", "SPILL!", "CALC!", "FIELD!"),
        *("BLOCKED!", "CONNECT!", "BUSY!", "EXTERNAL!", "PYTHON!", "UNKNOWN!"),
    )
)
_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_CHUNK_BYTES = 1 << 16
_DAMAGED = "the workbook is damaged; open it in Excel and save it again"
_ADDRESS = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


class _SheetError(ValueError):
    """A sheet that cannot be read whole; the message says where and why."""


def find_errors(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Return the cells of a sheet that hold an error: (row, column), both from 1, to what Excel shows.

    Raises `_SheetError` where a row or a cell stands twice or out of order, and where the sheet's XML cannot be read.
    """
    errors: dict[tuple[int, int], str] = {}
    row = column = tables = 0
    is_error, shown = False, ""
    with zipfile.ZipFile(path) as archive:
        for event, name, attributes in _elements(archive, _member(archive, sheet)):
            if event == "end" and name == "c" and is_error:
                errors[row, column] = shown if shown in EXCEL_ERRORS else "#UNKNOWN!"
                is_error = False
            elif event == "text":
                shown += name
            elif event == "end":
                continue
            elif name == "sheetData":
                tables += 1
                if tables > 1:
                    raise _SheetError("the sheet holds two tables of cells (sheetData)")
            elif name == "row" and tables:
                given, before, column = attributes.get("r", str(row + 1)), row, 0
                if not given.strip().isdecimal():
                    raise _SheetError(_DAMAGED)
                row = int(given)
                if row <= before:
                    raise _SheetError(f"sheet row {row}: stands in the sheet twice, or out of order")
            elif name == "c" and row:
                place = _place(attributes.get("r"), row, column + 1)
                if place[0] != row or place[1] <= column:
                    raise _SheetError(f"sheet row {row}: a cell stands in it twice, or out of order")
                column, is_error, shown = place[1], attributes.get("t") == "e", ""
            elif name == "v":
                shown = ""
    return errors


def _place(address: str | None, row: int, column: int) -> tuple[int, int]:
    """Return row and column of an address such as `AB12`; of a cell without one, those given."""
    if address is None:
        return row, column
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise _SheetError(f"sheet row {row}: a cell has no address that can be read")
    letters = 0
    for letter in match[1]:
        letters = 26 * letters + ord(letter) - ord("A") + 1
    return int(match[2]), letters


def _member(archive: zipfile.ZipFile, sheet: str) -> str:
    """Return the name of the file within the workbook that holds a sheet."""
    ids = [
        value
        for event, element, attributes in _elements(archive, _WORKBOOK)
        if event == "start" and element == "sheet" and attributes.get("name") == sheet
        for name, value in attributes.items()
        if name.endswith(":id")  # the prefix of the namespace of relations is free
    ]
    targets = [
        attributes.get("Target", "")
        for event, element, attributes in _elements(archive, _RELATIONS)
        if event == "start" and element == "Relationship" and attributes.get("Id") in ids
    ]
    if len(ids) != 1 or len(targets) != 1:
        raise _SheetError("the workbook does not say in which of its files the sheet is")
    target = targets[0].removeprefix("/")
    return target if target.startswith("xl/") else f"xl/{target}"


def _elements(archive: zipfile.ZipFile, member: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield where each element starts and ends, by its name without prefix, and the text between."""
    events: list[tuple[str, str, Mapping[str, str]]] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: events.append(("start", name.rpartition(":")[2], attributes))
    parser.EndElementHandler = lambda name: events.append(("end", name.rpartition(":")[2], {}))
    parser.CharacterDataHandler = lambda text: events.append(("text", text, {}))
    parser.EntityDeclHandler = _refuse_entity
    try:
        with archive.open(member) as file:
            while chunk := file.read(_CHUNK_BYTES):
                parser.Parse(chunk)
                yield from events
                events.clear()
            parser.Parse(b"", True)
    except _SheetError:
        raise
    except (KeyError, ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, expat.ExpatError):
        raise _SheetError(_DAMAGED) from None


def _refuse_entity(*_: object) -> None:
    raise _SheetError("the workbook holds XML entities of its own")


#: Excel's own limit of the text in a cell: what is longer is cut off, so a cell this long may be.
MAX_CELL_CHARS = 32_767
#: What a workbook may say that it unpacks to (bytes), and the memory that reading it may take.
MAX_UNPACKED_BYTES = 1 << 30
_MEMORY_BYTES = 6 << 30
_TOO_LARGE = f"unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB; save the sheet as CSV"


def iter_sheet(file: DataFile, header: Header, sheet: str | None) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (row as Excel counts it, values by column) for each row below the header that holds anything.

    The first row that holds anything is the header. Raises `BadInputError` on a workbook that cannot be read, on a
    sheet that is not there, and on a column that is missing or stands twice.
    """
    open_file(file).close()
    _require_small(file.path)
    yield from rows_of_child(
        file,
        "clinaudit.priors.corpus.excel",
        [sheet or "", *sorted(header.columns)],
        header,
        problem="is not an Excel workbook that can be read, or takes too much memory; save it as CSV",
        where=" in the first row of the sheet",
    )


def _require_small(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
                raise BadInputError(_TOO_LARGE)
            if len({member.filename.lower() for member in members}) < len(members):
                raise BadInputError("holds one of its files twice; open it in Excel and save it again")
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
        raise BadInputError("is not an Excel workbook (.xlsx)") from None


# The child ------------------------------------------------------------------------------------------------------------


def _write_rows(path: Path, wanted: str, columns: Sequence[str], out: IO[bytes]) -> None:
    """Write the names of the first row that holds anything, then each such row's values of the wanted columns."""
    from python_calamine import CalamineWorkbook

    workbook = CalamineWorkbook.from_path(path)
    names = workbook.sheet_names
    try:
        if wanted and wanted not in names:
            raise _SheetError("the workbook has no sheet named in the column map as `sheet`")
        if not wanted and len(names) != 1:
            raise _SheetError(f"the workbook has {len(names)} sheets; name one as `sheet` in the column map")
        errors = find_errors(path, wanted or names[0])
        sheet = workbook.get_sheet_by_name(wanted or names[0])
        first_row, first_column = sheet.start or (0, 0)
        places: list[int] | None = None
        for number, cells in enumerate(sheet.iter_rows(), start=1 + first_row):
            values = [
                errors.get((number, column)) or _plain(cell)
                for column, cell in enumerate(cells, start=1 + first_column)
            ]
            if all(value is None for value in values):
                continue
            if places is not None:
                write_line([number, [values[place] if place < len(values) else None for place in places]], out)
                continue
            header = ["" if value is None else str(value) for value in values]
            write_names(header, out)
            places = [at for at, column in enumerate(Header(columns).match(header)) if column is not None]
        if places is None:
            raise _SheetError("the sheet holds nothing")
    except _SheetError as error:
        write_line({"problem": str(error)}, out)


def _plain(cell: object) -> object:
    """Return a cell as JSON has it; None where it holds nothing, or no number at all."""
    if isinstance(cell, datetime) and (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0):
        return cell.date().isoformat()
    if isinstance(cell, date | time):  # and a datetime, which is a date
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return None if cell == "" else cell


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the notes is left behind should this die
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    _write_rows(Path(sys.argv[1]), sys.argv[2], sys.argv[3:], sys.stdout.buffer)
