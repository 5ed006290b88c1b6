"""Rows of a Parquet file, read by polars, and of an Excel sheet, read by calamine, each in a child process.

A damaged Parquet file can claim to need exabytes, and polars' Rust code then ends the whole process; a workbook of a
few kilobytes can unpack to gigabytes. So this module, run as a program, is the child that reads the file and writes a
row a line (JSON). Its death is an error like any other, and frees its memory. Of a workbook the values that Excel
stored are read; no formula or macro is run. calamine keeps the last of two cells with one address, and gives an error
as a blank: so the sheet's XML (ECMA-376, part 1, section 18.3) is read once more, that no record is lost.
"""

import json
import re
import resource
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile, open_file, reading
from clinaudit.priors.corpus.header import Header

if TYPE_CHECKING:
    import polars as pl

#: What a cell shows whose formula has no value (ECMA-376, section 18.17.3, and later ones of Excel's own).
EXCEL_ERRORS: Final = frozenset(
    f"#{name}"
    for name in (
        *("NULL!", "DIV/0!", "VALUE!", "REF!", "NAME?", "NUM!", "N/A", "GETTING_DATA", "SPILL!", "CALC!", "FIELD!"),
        *("BLOCKED!", "CONNECT!", "BUSY!", "EXTERNAL!", "PYTHON!", "UNKNOWN!"),
    )
)
#: Excel's own limit of the text in a cell: what is longer is cut off, so a cell this long may be.
MAX_CELL_CHARS = 32_767
#: What a workbook may say that it unpacks to (bytes), and the memory that reading it may take.
_MAX_UNPACKED_BYTES, _SHEET_MEMORY_BYTES = 1 << 30, 6 << 30
#: Rows of a Parquet file that are decoded at a time.
_BATCH_ROWS = 200
#: What a pipe holds (Linux); a note is longer than Python's own buffer.
_PIPE_BYTES = 1 << 16
Record = Mapping[str, object]


def iter_rows_of_child(file: DataFile, header: Header, sheet: str | None) -> Iterator[tuple[int, Record]]:
    """Yield (row, values by column) for each row of a Parquet file, or of a sheet where it holds anything.

    Rows of a sheet count as Excel has them; the first that holds anything is the header. A value of Parquet that JSON
    cannot say (bytes, a list) comes as an empty mapping: no column may hold either. Raises `BadInputError` on a file
    that cannot be read to its end, a sheet that is not there, and a column that is missing or stands twice.

    The child prints lines of JSON. The first names all columns of the file (`{"names": [...]}`), or says what is wrong
    with it (`{"problem": "..."}`). A row is its number and the values of the columns that the header knows, in order.
    """
    kind, where, problem = "parquet", "", "is not a Parquet file that can be read"
    if file.format == "xlsx":
        kind, where = "sheet", " in the first row of the sheet"
        problem = "is not an Excel workbook that can be read, or takes too much memory; save it as CSV"
    open_file(file).close()  # the child opens the path itself; this says in our words why it could not
    # -P: a module `polars` lying in the working directory must not be imported.
    command = [sys.executable, "-P", "-m", __name__, kind, str(file.path.absolute()), sheet or ""]
    command += sorted(header.columns)
    with reading(file.name):
        # What a panic prints may quote content.
        child = subprocess.Popen(
            command, bufsize=_PIPE_BYTES, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    whole = True
    with child:
        lines = cast("IO[bytes]", child.stdout)
        try:
            opened = json.loads(lines.readline())
            if "problem" in opened:
                raise BadInputError(opened["problem"])
            names = [name for name in header.take(opened["names"], where) if name is not None]
            if not names:
                # Without a column there are no rows, and missing columns must not read as an empty table.
                yield 1, {}
            for line in lines:
                number, values = json.loads(line)
                yield number, dict(zip(names, values, strict=True))
        except ValueError:  # a line cut off, or none
            whole = False
        except BaseException:
            child.kill()
            raise
    open_file(file).close()  # whatever was read, it is worth nothing if the file changed meanwhile
    if child.returncode or not whole:
        raise BadInputError(problem)


# The child ------------------------------------------------------------------------------------------------------------


def _write_line(value: object, out: IO[bytes]) -> None:
    out.write(json.dumps(value, ensure_ascii=False, default=_said_in_json).encode("utf-8", "surrogatepass") + b"\n")


def _said_in_json(value: object) -> object:
    """Return what JSON has for a value, else an empty mapping; databases write whole numbers as decimals."""
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return {}


def _write_parquet(path: Path, columns: Sequence[str], out: IO[bytes]) -> None:
    """Write the names of all columns, then each row's values of the wanted ones."""
    # Here, in the child: every command has this module, and few read a table.
    import polars as pl

    scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    schema = scan.collect_schema()
    _write_line({"names": list(schema)}, out)
    names = [name for name, column in zip(schema, Header(columns).match(schema), strict=True) if column is not None]
    if not names:
        return
    total, number = scan.select(pl.len()).collect().item(), 0
    scan = scan.select(_as_json_has_it(name, schema[name]) for name in names)
    batches = scan.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
    for number, row in enumerate(chain.from_iterable(frame.iter_rows() for frame in batches), start=1):
        _write_line([number, row], out)
    if number != total:
        raise EOFError("fewer rows than the file says it has")


def _as_json_has_it(name: str, dtype: "pl.DataType") -> "pl.Expr":
    """Return dates as ISO 8601 text: a Python date ends at the year 9999, where a Parquet one does not.

    A short float is infinite from where it does not hold every whole number (IEEE 754, 24 and 11 bits): it lost digits.
    """
    import polars as pl

    if isinstance(dtype, pl.Float32 | pl.Float16):
        exact = 2**24 if isinstance(dtype, pl.Float32) else 2**11
        number = pl.col(name).cast(pl.Float64)
        return pl.when(number.abs() >= exact).then(float("inf")).otherwise(number).alias(name)
    if isinstance(dtype, pl.Date | pl.Datetime):
        return pl.col(name).dt.to_string("iso:strict")
    return pl.col(name)


class _SheetError(ValueError):
    """A sheet that cannot be read whole; the message says where and why."""


_DAMAGED = "the workbook is damaged; open it in Excel and save it again"
_ADDRESS = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def _write_sheet(path: Path, wanted: str, columns: Sequence[str], out: IO[bytes]) -> None:
    """Write the names of the first row that holds anything, then each such row's values of the wanted columns."""
    from python_calamine import CalamineWorkbook

    try:
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
            raise _SheetError("is not an Excel workbook (.xlsx)") from None
        if sum(member.file_size for member in members) > _MAX_UNPACKED_BYTES:
            raise _SheetError(f"unpacks to more than {_MAX_UNPACKED_BYTES >> 30} GiB; save the sheet as CSV")
        if len({member.filename.lower() for member in members}) < len(members):
            raise _SheetError("holds one of its files twice; open it in Excel and save it again")
        workbook = CalamineWorkbook.from_path(path)
        names = workbook.sheet_names
        if wanted and wanted not in names:
            raise _SheetError("the workbook has no sheet named in the column map as `sheet`")
        if not wanted and len(names) != 1:
            raise _SheetError(f"the workbook has {len(names)} sheets; name one as `sheet` in the column map")
        errors = find_errors(path, wanted or names[0])
        sheet = workbook.get_sheet_by_name(wanted or names[0])
        first_row, first_column = sheet.start or (0, 0)
        places: list[int] | None = None
        for number, cells in enumerate(sheet.iter_rows(), start=1 + first_row):
            addressed = enumerate(cells, start=1 + first_column)
            values = [errors.get((number, column)) or _plain(cell) for column, cell in addressed]
            if all(value is None for value in values):
                continue
            if places is None:
                header = ["" if value is None else str(value) for value in values]
                _write_line({"names": header}, out)
                places = [at for at, column in enumerate(Header(columns).match(header)) if column is not None]
            else:
                _write_line([number, [values[place] if place < len(values) else None for place in places]], out)
        if places is None:
            raise _SheetError("the sheet holds nothing")
    except _SheetError as error:
        _write_line({"problem": str(error)}, out)


def _plain(cell: object) -> object:
    """Return a cell as JSON has it; None where it holds nothing, or no number at all."""
    if isinstance(cell, datetime) and cell.time() == time.min:
        return cell.date().isoformat()
    if isinstance(cell, date | time):  # and a datetime, which is a date
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return None if cell == "" else cell


def find_errors(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Return the cells of a sheet that hold an error: (row, column), both from 1, to what Excel shows.

    Raises `_SheetError` where a row or a cell stands twice or out of order, and where the sheet's XML cannot be read.
    """
    import lxml.etree

    errors: dict[tuple[int, int], str] = {}
    number = tables = 0
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_member(archive, sheet)) as file:
            tags = ("{*}sheetData", "{*}row")
            for event, element in lxml.etree.iterparse(file, ("start", "end"), tag=tags, resolve_entities=False):
                if element.tag.endswith("sheetData"):
                    tables += event == "start"
                    if tables > 1:
                        raise _SheetError("the sheet holds two tables of cells (sheetData)")
                    if element.getroottree().docinfo.doctype:
                        raise _SheetError("the workbook holds XML entities of its own")
                elif event == "end":
                    before, number = number, int(element.get("r", number + 1))
                    if number <= before:
                        raise _SheetError(f"sheet row {number}: stands in the sheet twice, or out of order")
                    errors |= _errors_of_row(element, number)
                    element.clear()
                    while element.getprevious() is not None:
                        del element.getparent()[0]
    except _SheetError:
        raise
    except (KeyError, ValueError, EOFError, OSError, RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error):
        raise _SheetError(_DAMAGED) from None
    return errors


def _errors_of_row(row: Any, number: int) -> dict[tuple[int, int], str]:
    errors: dict[tuple[int, int], str] = {}
    column = 0
    for cell in row.iterchildren("{*}c"):
        before, column, row_of_cell = column, column + 1, number  # of a cell without an address
        if (address := cell.get("r")) is not None:
            if (match := _ADDRESS.fullmatch(address)) is None:
                raise _SheetError(f"sheet row {number}: a cell has no address that can be read")
            row_of_cell, column = int(match[2]), 0
            for letter in match[1]:
                column = 26 * column + ord(letter) - ord("A") + 1
        if row_of_cell != number or column <= before:
            raise _SheetError(f"sheet row {number}: a cell stands in it twice, or out of order")
        if cell.get("t") == "e":
            shown = cell.findtext("{*}v", "")
            errors[number, column] = shown if shown in EXCEL_ERRORS else "#UNKNOWN!"
    return errors


def _member(archive: zipfile.ZipFile, sheet: str) -> str:
    """Return the name of the file within the workbook that holds a sheet."""
    import lxml.etree

    def find(member: str, path: str, **names: str) -> list[Any]:
        # By local names: the prefix of a namespace is free.
        return cast("list[Any]", lxml.etree.fromstring(archive.read(member)).xpath(path, **names))

    ids = find("xl/workbook.xml", "//*[local-name()='sheet'][@name=$name]/@*[local-name()='id']", name=sheet)
    links = "//*[local-name()='Relationship'][@Id=$id]/@Target"
    targets = [target for one in ids for target in find("xl/_rels/workbook.xml.rels", links, id=one)]
    if len(ids) != 1 or len(targets) != 1:
        raise _SheetError("the workbook does not say in which of its files the sheet is")
    target = str(targets[0]).removeprefix("/")
    return target if target.startswith("xl/") else f"xl/{target}"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the notes is left behind should this die
    if sys.argv[1] == "sheet":
        resource.setrlimit(resource.RLIMIT_AS, (_SHEET_MEMORY_BYTES, _SHEET_MEMORY_BYTES))
        _write_sheet(Path(sys.argv[2]), sys.argv[3], sys.argv[4:], sys.stdout.buffer)
    else:
        _write_parquet(Path(sys.argv[2]), sys.argv[4:], sys.stdout.buffer)
