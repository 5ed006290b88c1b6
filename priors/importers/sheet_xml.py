"""What calamine does not tell of an Excel sheet: rows and cells that stand twice, and cells that hold an error.

It keeps the last of two cells with one address, and gives an error as a blank. Owns one reading of the sheet's XML as a
stream, that no record is lost so. Knows nothing of columns. Element names are those of ECMA-376, part 1, section 18.3.
"""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.parsers import expat

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
_ADDRESS = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


class SheetError(ValueError):
    """A sheet that cannot be read whole; the message says where and why."""


def find_errors(path: Path, sheet: str) -> dict[tuple[int, int], str]:
    """Return the cells of a sheet that hold an error: (row, column), both from 1, to what Excel shows.

    Raises `SheetError` where a row or a cell stands twice or out of order, and where the sheet's XML cannot be read.
    """
    with zipfile.ZipFile(path) as archive:
        reader = _SheetReader()
        _parse(archive, _member(archive, sheet), reader)
    return reader.errors


class _Handler:
    """Takes the elements of one XML file; names come without their prefixes."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take the beginning of an element."""

    def text(self, text: str) -> None:
        """Take text."""

    def end(self, name: str) -> None:
        """Take the end of an element."""


class _SheetReader(_Handler):
    def __init__(self) -> None:
        self.errors: dict[tuple[int, int], str] = {}
        self._row = self._column = self._data = 0
        self._is_error = False
        self._value: list[str] | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sheetData":
            self._data += 1
            if self._data > 1:
                raise SheetError("the sheet holds two tables of cells (sheetData)")
        elif name == "row" and self._data:
            row = int(attributes.get("r", self._row + 1))
            if row <= self._row:
                raise SheetError(f"sheet row {row}: stands in the sheet twice, or out of order")
            self._row, self._column = row, 0
        elif name == "c" and self._row:
            row, column = _place(attributes.get("r"), self._row, self._column + 1)
            if row != self._row or column <= self._column:
                raise SheetError(f"sheet row {self._row}: a cell stands in it twice, or out of order")
            self._column = column
            self._is_error = attributes.get("t") == "e"
        elif name == "v" and self._is_error:
            self._value = []

    def text(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)

    def end(self, name: str) -> None:
        if name == "c" and self._is_error:
            shown = "".join(self._value or ())
            self.errors[self._row, self._column] = shown if shown in EXCEL_ERRORS else "#UNKNOWN!"
            self._is_error, self._value = False, None


def _place(address: str | None, row: int, column: int) -> tuple[int, int]:
    """Return row and column of an address such as `AB12`; of a cell without one, those given."""
    if address is None:
        return row, column
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise SheetError(f"sheet row {row}: a cell has no address that can be read")
    letters = 0
    for letter in match[1]:
        letters = 26 * letters + ord(letter) - ord("A") + 1
    return int(match[2]), letters


class _Named(_Handler):
    """Collects the attributes of all elements of one name."""

    def __init__(self, element: str) -> None:
        self._element = element
        self.found: list[dict[str, str]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == self._element:
            self.found.append(dict(attributes))


def _member(archive: zipfile.ZipFile, sheet: str) -> str:
    """Return the name of the file within the workbook that holds a sheet."""
    sheets, relations = _Named("sheet"), _Named("Relationship")
    _parse(archive, _WORKBOOK, sheets)
    _parse(archive, _RELATIONS, relations)
    ids = [
        value
        for one in sheets.found
        if one.get("name") == sheet
        for name, value in one.items()
        if name.endswith(":id")  # the prefix of the namespace of relations is free
    ]
    targets = [one.get("Target", "") for one in relations.found if one.get("Id") in ids]
    if len(ids) != 1 or len(targets) != 1:
        raise SheetError("the workbook does not say in which of its files the sheet is")
    target = targets[0].removeprefix("/")
    return target if target.startswith("xl/") else f"xl/{target}"


def _parse(archive: zipfile.ZipFile, member: str, handler: _Handler) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: handler.start(_bare(name), attributes)
    parser.EndElementHandler = lambda name: handler.end(_bare(name))
    parser.CharacterDataHandler = handler.text
    parser.EntityDeclHandler = _refuse_entity
    try:
        with archive.open(member) as file:
            while chunk := file.read(_CHUNK_BYTES):
                parser.Parse(chunk)
            parser.Parse(b"", True)
    except SheetError:
        raise
    except (KeyError, ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, expat.ExpatError):
        raise SheetError("the workbook is damaged; open it in Excel and save it again") from None


def _bare(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse_entity(*_: object) -> None:
    raise SheetError("the workbook holds XML entities of its own")
