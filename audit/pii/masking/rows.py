"""The rows that `clinaudit mask` and `unmask` read, checked whole before the first is used, and those that they write.

Owns what a row may hold, `{"id", "text", "query"?}`, in JSONL and CSV alike; a `.txt` file is the text of one row. What
is written has the form of what was read. Streams: of a file of any size only a digest of each id is held in memory.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.cells import NOT_UNICODE, CellError, Kind, as_text
from clinaudit.priors.corpus.files import Compression, DataFile, Format, find_given_file, iter_lines, printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records

#: Bytes of an id's digest; two ids of a billion share one with a probability of 1e-21.
_DIGEST_BYTES: Final = 16
_ENDINGS: Final[Mapping[str, tuple[Format, Compression | None]]] = {
    ".jsonl": ("jsonl", None),
    ".jsonl.gz": ("jsonl", "gz"),
    ".jsonl.zst": ("jsonl", "zst"),
    ".csv": ("csv", None),
    ".txt": ("txt", None),
}
#: Of the one row of a `.txt` file.
_WHOLE_ID: Final = 1


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of the input. PHI."""

    #: The line of the file, from 1.
    row: int
    #: As the file has it, text or a whole number.
    id: str | int
    #: None: the row's text is null.
    text: str | None = field(repr=False)
    #: None: the row has none, or null.
    query: str | None = field(repr=False)
    #: Whether the row has the key of the question, be it null.
    has_query_field: bool = False

    @property
    def key(self) -> str:
        """The id as text: what a map knows the row by."""
        return str(self.id)


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """A file whose rows were all read and found usable."""

    file: DataFile
    count: int
    #: The key of a row's question; None: no question is read.
    query_field: str | None
    #: Characters of the texts.
    chars: int
    #: Rows that ask something, and rows that lack the key of the question.
    asking: int
    lacking: int
    #: Keys that no row is read by, in the order they came.
    other_keys: tuple[str, ...]
    #: The question about a file that is one text; None: there is none, or the rows have their own.
    query: str | None = field(repr=False, default=None)

    @property
    def is_one_text(self) -> bool:
        """Whether the whole file is the text of one row: what is made of it is a text alone, too."""
        return self.file.format == "txt"


def check_rows(
    path: Path,
    *,
    role: str,
    query_field: str | None,
    null_text: bool,
    needs_query_field: bool = False,
    query: str | None = None,
) -> CheckedRows:
    """Read all rows, and return what they are; `role` names the file.

    Raises `BadInputError` that lists every problem by row and column, without content. `null_text`: a text may be null.
    `needs_query_field`: some row must have that key, be it null. `query` is the question about a file that is one text;
    raises `UsageError` where rows have their own.
    """
    file = find_given_file(path, role, _ENDINGS)
    if query is not None and file.format != "txt":
        raise UsageError(
            f"--query is the question about one text; the rows of {file.name} have their own: --query-field"
        )
    name = file.name
    problems = Problems()
    header = _header(query_field)
    first_rows: dict[bytes, int] = {}
    count = asking = lacking = chars = 0
    for row, record in _iter_rows(file, header, problems, query_field, query):
        read = _read(row, record, name, problems, query_field=query_field, null_text=null_text)
        key = hashlib.blake2b(read.key.encode(), digest_size=_DIGEST_BYTES).digest()
        if first_rows.setdefault(key, row) != row:
            problems.add(name, f"stood in row {first_rows[key]} already", row=row, column="id")
        count += 1
        # A question of blanks alone asks nothing.
        asking += bool(read.query and read.query.strip())
        chars += len(read.text or "")
        lacking += not read.has_query_field
    if not count and not len(problems):
        problems.add(name, "has no rows")
    if needs_query_field and lacking == count > 0:
        what = "is in no row, and was named as the key of the question; name the key that has it"
        problems.add(name, what, column=printable(query_field or ""))
    problems.raise_any(role)
    return CheckedRows(file, count, query_field, chars, asking, lacking, tuple(header.unread), query)


def require_same_kind(rows: CheckedRows, out: Path) -> None:
    """Raise where what is written would have another form than what was read, by the name of the output."""
    form, ending = rows.file.format, out.suffix.lower()
    if ending != f".{form}" and (form != "jsonl" or ending in (".csv", ".txt")):
        what = "is one text" if rows.is_one_text else f"holds rows of {form.upper()}"
        raise UsageError(
            f"{rows.file.name} {what}, and so does what is made of it: let the name of --out end in .{form}"
        )


class RowWriter:
    """Writes rows in the form of a file that was read: of one text the text alone, nothing where it is None."""

    def __init__(self, file: BinaryIO, rows: CheckedRows, columns: tuple[str, ...]) -> None:
        self._file = file
        self._form = rows.file.format
        self._columns = columns
        if self._form == "csv":
            self._write_cells(columns)

    def write(self, row: Mapping[str, object]) -> None:
        """Write one row by its columns; in CSV what it lacks, and what is None, is an empty cell."""
        if self._form == "txt":
            self._file.write(str(row["text"] or "").encode())
        elif self._form == "csv":
            self._write_cells([row.get(name) for name in self._columns])
        else:
            self._file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())

    def _write_cells(self, cells: Sequence[object]) -> None:
        line = io.StringIO()
        csv.writer(line).writerow(cells)
        self._file.write(line.getvalue().encode())


def iter_rows(rows: CheckedRows) -> Iterator[TextRow]:
    """Yield the rows of a file that was checked, in its order."""
    problems = Problems()
    query_field = rows.query_field
    for row, record in _iter_rows(rows.file, _header(query_field), problems, query_field, rows.query):
        yield _read(row, record, rows.file.name, problems, query_field=query_field, null_text=True)
    problems.raise_any("what was read before")


def _iter_rows(
    file: DataFile, header: Header, problems: Problems, query_field: str | None, query: str | None
) -> Iterator[tuple[int, Record]]:
    if file.format != "txt":
        yield from iter_records(file, header=header, problems=problems)
        return
    try:
        written = b"".join(iter_lines(file))
        asked = {} if query is None or query_field is None else {query_field: query}
        yield 1, {"id": _WHOLE_ID, "text": written.decode(), **asked}
    except BadInputError as error:
        problems.add(file.name, error.message)
    except UnicodeDecodeError:
        problems.add(file.name, "is not UTF-8; save it as UTF-8")


def _header(query_field: str | None) -> Header:
    return Header(("id", "text", *([query_field] if query_field is not None else [])))


def _read(
    row: int, record: Record, file: str, problems: Problems, *, query_field: str | None, null_text: bool
) -> TextRow:
    def text_of(column: str, *, may_be_null: bool) -> str | None:
        value = record.get(column)
        if isinstance(value, str) and is_encodable(value):
            return value
        if value is not None or not may_be_null:
            absent = column not in record
            what = "is missing" if absent else NOT_UNICODE if isinstance(value, str) else "is not text"
            problems.add(file, what, row=row, column=column)
        return None

    text = text_of("text", may_be_null=null_text and "text" in record)
    query = None if query_field is None else text_of(query_field, may_be_null=True)
    value = record.get("id")
    try:
        key = as_text(value, Kind.ID)
        if key is None or not key.strip():
            raise CellError("is blank or missing")
    except CellError as error:
        problems.add(file, str(error), row=row, column="id")
        key = f"row {row} without an id"
    given = value if isinstance(value, int) and not isinstance(value, bool) else key
    return TextRow(row, given, text, query, has_query_field=query_field is not None and query_field in record)
