"""Rows of an Excel sheet, read by calamine in a child process with bounded memory.

A workbook is a ZIP of XML: a few kilobytes can claim gigabytes. What it says that it unpacks to is checked before, and
the child may take no more memory than stated here; its death is an error like any other. Formulas and macros are not
run: the values that Excel stored are read. calamine keeps the last of two cells with one address, and gives an error as
a blank: so the sheet's XML (ECMA-376, part 1, section 18.3) is read once more as a stream, that no record is lost.
"""

import json
import re
import resource
import sys
import zipfile
from collections.abc import Generator, Iterator, Mapping
from datetime import date, datetime
from math import isfinite
from pathlib import Path
from typing import IO, Final
from xml.parsers import expat

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile, open_file
from clinaudit.priors.corpus.parquet import read_by_child
from clinaudit.priors.importers.tables import require_columns

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


def iter_sheet(
    file: DataFile, sheet: str | None, columns: Mapping[str, str]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield (row as Excel counts it, text by lower-case column) for each row below the header that holds anything.

    The header is the first row that holds anything; `columns` holds what must be there, and what the column map calls
    it. Raises `BadInputError` on a workbook that cannot be read, on a sheet that is not there, and on a column that is
    missing or stands twice.
    """
    open_file(file).close()
    _require_small(file.path)
    has_header = yield from read_by_child(
        file,
        "clinaudit.priors.importers.excel",
        [sheet or ""],
        lambda lines: _named_rows(lines, columns),
        problem="is not an Excel workbook that can be read, or takes too much memory; save it as CSV",
    )
    if not has_header:
        raise BadInputError("the sheet holds nothing")


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


def _named_rows(lines: IO[bytes], columns: Mapping[str, str]) -> Generator[tuple[int, Mapping[str, str]], None, bool]:
    """Yield the rows below the header; return whether there was one."""
    opened = json.loads(lines.readline())
    if "problem" in opened:
        raise BadInputError(opened["problem"])
    header: list[str] | None = None
    for line in lines:
        number, cells = json.loads(line)
        if header is None:
            header = [cell.strip().lower() for cell in cells]
            require_columns(header, columns, columns, " in the first row of the sheet")
            if twice := [name for name in columns if header.count(name) > 1]:
                raise BadInputError(f"column {', '.join(twice)}: stands in the header more than once")
            places = {name: header.index(name) for name in header if name}
        else:
            yield number, {name: cells[place] if place < len(cells) else "" for name, place in places.items()}
    return header is not None


# The child ------------------------------------------------------------------------------------------------------------


def _write_rows(path: Path, wanted: str, out: IO[bytes]) -> None:
    """Write one line of JSON a row that holds anything: its number in Excel and its cells as text."""
    from python_calamine import CalamineWorkbook

    workbook = CalamineWorkbook.from_path(path)
    names = workbook.sheet_names
    problem = None
    errors: dict[tuple[int, int], str] = {}
    if wanted and wanted not in names:
        problem = "the workbook has no sheet named in the column map as `sheet`"
    elif not wanted and len(names) != 1:
        problem = f"the workbook has {len(names)} sheets; name one as `sheet` in the column map"
    else:
        try:
            errors = find_errors(path, wanted or names[0])
        except _SheetError as error:
            problem = str(error)
    _write_line(out, {"problem": problem} if problem else {})
    if problem:
        return
    sheet = workbook.get_sheet_by_name(wanted or names[0])
    first_row, first_column = sheet.start or (0, 0)
    for number, cells in enumerate(sheet.iter_rows(), start=1 + first_row):
        places = enumerate(cells, start=1 + first_column)
        texts = [errors.get((number, column)) or _as_text(cell) for column, cell in places]
        if any(texts):
            _write_line(out, [number, texts])


def _write_line(out: IO[bytes], value: object) -> None:
    out.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")


def _as_text(cell: object) -> str:
    if isinstance(cell, datetime) and (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0):
        return cell.date().isoformat()
    if isinstance(cell, date):  # and a datetime, which is one
        return cell.isoformat()
    if isinstance(cell, float) and not isfinite(cell):
        return ""  # no number at all; a blank identifier is rejected
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the notes is left behind should this die
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    _write_rows(Path(sys.argv[1]), sys.argv[2], sys.stdout.buffer)
