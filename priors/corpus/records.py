"""The one reader of tables: rows of CSV, JSON Lines, Parquet or a sheet of Excel; and the problems of an input.

The standard library parses the text formats: polars' readers fill a short CSV row with nulls, and for a malformed line
they name no row and quote the line. Rows count from 1 without the header, those of a sheet as Excel counts them, and
blank lines count. A row or cell that cannot be read comes as a `Fault`, and reading continues where the format allows
it. A problem is in fixed words and never holds a cell's content.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.child_readers import iter_rows_of_child
from clinaudit.priors.corpus.files import DataFile, iter_bytes, iter_lines, whole_lines
from clinaudit.priors.corpus.header import DOUBLED, Fault, Header, fold

#: Rows named of those that share a problem.
_ROWS_NAMED = 5


class Problems:
    """Problems of an input: at most one for a cell, the first found."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str], str] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, file: str, what: str, *, row: int = 0, column: str = "") -> None:
        """Add the problem `what` of `file`; rows count from 1 without the header, and 0 is the file as a whole."""
        self._found.setdefault((file, row, column), what)

    def overrule(self, others: "Problems") -> None:
        """Add the problems of `others`; they replace those of the same cells."""
        self._found.update(others._found)

    def listed(self) -> tuple[str, ...]:
        """Return one line for each problem of a column, by file and first row, with the rows that have it.

        `notes.csv, row 3, column text: is blank`; `notes.csv, column text, in 31 rows (1, 2, 5, 6, 9, ...): is blank`.
        """
        rows: dict[tuple[str, str, str], list[int]] = {}
        for (file, row, column), what in sorted(self._found.items()):
            rows.setdefault((file, column, what), []).append(row)
        lines = []
        for (file, column, what), found in sorted(rows.items(), key=lambda item: (item[0][0], item[1][0], item[0][1:])):
            alone = f", row {found[0]}" if found[0] else ""  # else the file or column as a whole
            of = f", column {column}" if column else ""
            first = ", ".join(map(str, found[:_ROWS_NAMED])) + (", ..." if len(found) > _ROWS_NAMED else "")
            place = f"{alone}{of}" if len(found) == 1 else f"{of}, in {len(found):,} rows ({first})"
            lines.append(f"{file}{place}: {what}")
        return tuple(lines)

    def raise_any(self, what: str) -> None:
        """Raise one `BadInputError` that lists all problems, if there are any; `what` names the input."""
        if lines := self.listed():
            noun = "problem" if len(lines) == 1 else "problems"
            raise BadInputError(f"{len(lines)} {noun} in {what}; nothing was run: correct and try again", lines)


#: Longest CSV field in characters: an unclosed quote would otherwise take the rest of the file for one.
_MAX_FIELD_CHARS = 64 * 1024 * 1024
#: Bytes of a CSV file in which its header ends.
_HEAD_BYTES = 1 << 16
_UTF8_MARK = b"\xef\xbb\xbf"
#: No text has these; encodings of Windows have signs there.
CONTROLS = re.compile("[\x80-\x9f]")
_OF_WINDOWS = {"iso8859-1": "cp1252", "iso8859-15": "cp1252", "iso8859-2": "cp1250", "iso8859-9": "cp1254"}
#: Letters of few languages, and none of a clinic's. In Latin-1 `É` and a no-break blank after it have the bytes of one.
_RARE = re.compile("[\u0180-\u02ff\u0480-\u05cf\u0700-\u08ff]")


def is_surely_utf8(content: bytes) -> bool:
    """Whether bytes beyond ASCII are UTF-8, and by no chance: `É` and a blank of Latin-1 would be a rare letter."""
    try:
        return not content.isascii() and _RARE.search(content.decode()) is None
    except UnicodeDecodeError:
        return False


_COUNT_OF_ROWS = re.compile(
    r"\(?[0-9.,]+ (?:rows?|records?|Zeilen?|lignes?)(?: (?:selected|returned|exported|betroffen|af+ect\w+))?\)?\.?"
)
_BACKSLASH = 'a quote within a cell is written with a backslash (\\"): write it as two quotes ("")'
Record = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is written, where it does not say so itself."""

    #: None: the header decides.
    delimiter: str | None = None
    encoding: str = "utf-8"
    #: False: quotes mean nothing (the vocabulary files of OMOP).
    quoted: bool = True
    #: Name of the sheet of a workbook; None: it has only one.
    sheet: str | None = None
    #: A column map says all this, so that a message may ask to change it there.
    has_map: bool = False


def read_rows(
    file: DataFile, header: Header, layout: Layout, *, at: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Record | Fault]]:
    """Yield (row, values by column) for each record, of the header's columns only; or what is wrong with it.

    Values of CSV are strings. `at` is told at which byte of the file the reader stands. Raises `BadInputError` where
    the file cannot be read on.
    """
    if file.format == "csv":
        return _csv_rows(file, header, layout, at)
    return _jsonl_rows(file, header, at) if file.format == "jsonl" else iter_rows_of_child(file, header, layout.sheet)


def iter_records(file: DataFile, *, header: Header, problems: Problems) -> Iterator[tuple[int, Record]]:
    """Yield (row, values by column) for each record of `file`, as `read_rows` does with whatever its header decides.

    A row that cannot be read is in `problems` instead, and so is a cell, which is None then.
    """
    try:
        for row, record in read_rows(file, header, Layout()):
            if isinstance(record, Fault):
                problems.add(file.name, record.what, row=row, column=record.column)
                continue
            faults = {name: value for name, value in record.items() if isinstance(value, Fault)}
            for name, fault in faults.items():
                problems.add(file.name, fault.what, row=row, column=name)
            yield row, {**record, **dict.fromkeys(faults)} if faults else record
    except BadInputError as error:
        problems.add(file.name, error.message)


def _csv_rows(
    file: DataFile, header: Header, layout: Layout, at: Callable[[int], None] | None
) -> Iterator[tuple[int, Record | Fault]]:
    blocks = iter_bytes(file, at=at)
    head = b""
    while len(head) < _HEAD_BYTES and (block := next(blocks, b"")):
        head += block
    encoding = "utf-8" if head.startswith(_UTF8_MARK) else layout.encoding
    end = "\r" if _ends_in_returns(head[:_HEAD_BYTES]) else "\n"
    # Each byte of the encoding is one character, so that bytes of UTF-8 can be told from text.
    may_mislead = encoding != "utf-8" and len(bytes(range(256)).decode(encoding, errors="surrogateescape")) == 256
    has_backslash = False

    def decoded() -> Iterator[io.StringIO]:
        nonlocal has_backslash
        for block in whole_lines(chain([head], blocks), end=end.encode()):
            has_backslash = has_backslash or b'\\"' in block
            # surrogateescape keeps an invalid byte in its own cell, so that its row and column can be reported.
            yield io.StringIO(block.decode(encoding, errors="surrogateescape"), newline="" if end == "\r" else end)

    lines = chain.from_iterable(decoded())
    # SQL*Plus begins with a blank line.
    first = next((line for line in lines if line.strip("\ufeff \r\n")), "").removeprefix("\ufeff")
    if header.declare(first, layout.delimiter):
        first = next(lines, "")
    elif layout.delimiter is not None:
        header.delimiter = layout.delimiter
    else:
        header.find_delimiter(first)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE
    cells_of_rows = csv.reader(chain([first], lines), strict=True, delimiter=header.delimiter, quoting=quoting)
    row = 0
    try:
        names = _next_cells(cells_of_rows) or []
        header.require_a_column(names)
        remedy = "; if it is not, set `delimiter` in the column map" if layout.has_map else ""
        columns = header.take(
            names, f" (the first line was read as the header, separated by {header.separated_by}{remedy})"
        )
        header.width = len(columns)
        places = {name: place for place, name in enumerate(columns) if name is not None}
        lowered = {name.lower() for name in names}
        while (cells := _next_cells(cells_of_rows)) is not None:
            row += 1
            if not cells:
                continue  # a blank line holds no record
            wrong = _wrong_row(cells, lowered, row, header, has_backslash=has_backslash)
            if wrong is not None:
                yield row, wrong
                continue
            record: dict[str, object] = {name: cells[place] for name, place in places.items()}
            for name, place in places.items():
                if not (cell := cells[place]).isascii() and (what := _misread(cell, encoding, layout, may_mislead)):
                    record[name] = Fault(what)
            yield row, record
    except csv.Error as error:
        # The parser cannot tell where the next record begins.
        is_return = "new-line" in str(error)
        why = "a carriage return outside of quotes" if is_return else "a quote not closed, or text after one"
        yield row + 1, Fault(f"is malformed CSV from here on ({_BACKSLASH if has_backslash else why})", is_last=True)


def _ends_in_returns(head: bytes) -> bool:
    """Whether the first line of a CSV file ends in a carriage return alone; one within a quoted name ends no line."""
    for match in re.finditer(rb"\r\n|\r|\n", head):
        if head.count(b'"', 0, match.start()) % 2 == 0:
            return match[0] == b"\r" and match.end() < _HEAD_BYTES
    return False


def _wrong_row(
    cells: Sequence[str], lowered: Collection[str], row: int, header: Header, *, has_backslash: bool
) -> Fault | None:
    """Return what is wrong with a row of a CSV file as a whole, None where nothing is."""
    # In another order the cells after it would be of other columns.
    if cells[-1][:100].lower() in lowered and set(map(fold, cells)) == set(map(fold, lowered)):
        return Fault("repeats the header: files were put together; leave one header")
    if row == 1 and all(cell and not cell.strip("- ") for cell in cells):
        return Fault("is a line of dashes under the header, as sqlcmd writes it; leave it out (-h -1 or -W)")
    if len(cells) == header.width:
        return None
    if len(cells) == header.width + 1 and not cells[-1]:
        return Fault("ends in a delimiter, as the header does not: end the header in one, too, or no row")
    if len(cells) == 1 and _COUNT_OF_ROWS.fullmatch(cells[0].strip()):
        return Fault("is the count of rows that a database's tool writes at the end; leave it out")
    what = (
        f"has not as many fields as the header, which has {header.width}, separated by {header.separated_by}; a cell "
        "that holds a delimiter (as in 1,5) must stand in quotes"
    )
    return Fault(f"{what}; or {_BACKSLASH}" if has_backslash else what, is_short=len(cells) < header.width)


def _misread(cell: str, encoding: str, layout: Layout, may_mislead: bool) -> str | None:
    """Return what tells that a cell is in another encoding than the one it was read by, None where nothing does."""
    if may_mislead and is_surely_utf8(cell.encode(encoding, errors="surrogateescape")):
        return f'is UTF-8, not {encoding.upper()}; set encoding = "utf-8" in the column map'
    if not is_encodable(cell):
        remedy = "; set `encoding` in the column map" if layout.has_map else "; save the file as UTF-8"
        return f"is not {encoding.upper()}{remedy}"
    if may_mislead and CONTROLS.search(cell):
        other = _OF_WINDOWS.get(codecs.lookup(encoding).name)
        hint = (
            "set the encoding that it is in" if other is None else f'{other} has signs there; set encoding = "{other}"'
        )
        return f"holds control characters in {encoding.upper()}: {hint}"
    return None


def _next_cells(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the next row, None at the end; `csv` has one field limit per process, so it is set for each row alone."""
    before = csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def is_encodable(text: str) -> bool:
    """Whether `text` can be written as UTF-8: a lone surrogate cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _jsonl_rows(
    file: DataFile, header: Header, at: Callable[[int], None] | None
) -> Iterator[tuple[int, Record | Fault]]:
    for row, line in enumerate(iter_lines(file, at=at), start=1):
        if line.strip():
            yield row, _jsonl_record(line, header)


def _jsonl_record(line: bytes, header: Header) -> Record | Fault:
    try:
        record = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        return Fault("is not UTF-8; save the file as UTF-8")
    except _RepeatedKeyError:
        return Fault("gives one key twice")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return Fault("is not a JSON object on one line (a line a record, no list around them)")
    named = [(name, value) for name, value in zip(header.match(record), record.values(), strict=True) if name]
    found = dict(named)
    if len(found) < len(named):
        return Fault(DOUBLED, next(name for name in found if sum(name == one for one, _ in named) > 1))
    return found


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
