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
from clinaudit.priors.corpus.files import Compression, Format, find_given_file, iter_lines
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, Record, is_encodable, iter_records

_ENDINGS: Final[Mapping[str, tuple[Format, Compression | None]]] = {
    ".jsonl": ("jsonl", None),
    ".jsonl.gz": ("jsonl", "gz"),
    ".jsonl.zst": ("jsonl", "zst"),
    ".csv": ("csv", None),
    ".txt": ("txt", None),
}


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of the input. PHI."""

    #: The line of the file, from 1.
    row: int
    #: As the file has it, text or a whole number; a map knows the row by it as text.
    id: str | int
    #: None: the row's text is null.
    text: str | None = field(repr=False)
    #: None: the row has none, or null.
    query: str | None = field(repr=False)


class Rows:
    """The rows of a file, all of which were read and found usable; iterated over, they are read again."""

    def __init__(
        self,
        path: Path,
        *,
        role: str,
        query_field: str | None = None,
        null_text: bool = False,
        query: str | None = None,
    ) -> None:
        """Read all rows; `role` names the file.

        Raises `BadInputError` that lists every problem by row and column, without content. `query_field` is the key of
        a row's question, None: no question is read. `null_text`: a text may be null. `query` is the question about a
        file that is one text; raises `UsageError` where rows have their own.
        """
        self.file = find_given_file(path, role, _ENDINGS)
        if query is not None and not self.is_one_text:
            raise UsageError(
                f"--query is the question about one text; the rows of {self.file.name} have their own: --query-field"
            )
        self._query_field, self._null_text, self._query = query_field, null_text, query
        #: Rows; characters of their texts; rows that ask something, and rows that lack the key of the question.
        self.count = self.chars = self.asking = self.lacking = 0
        problems = Problems()
        header = self._header()
        first_rows: dict[bytes, int] = {}
        for row, has_query in self._read(header, problems):
            # Two ids of a billion share a digest of so many bytes with a probability of 1e-21.
            key = hashlib.blake2b(str(row.id).encode(), digest_size=16).digest()
            if first_rows.setdefault(key, row.row) != row.row:
                problems.add(self.file.name, f"stood in row {first_rows[key]} already", row=row.row, column="id")
            self.count += 1
            self.chars += len(row.text or "")
            # A question of blanks alone asks nothing.
            self.asking += bool(row.query and row.query.strip())
            self.lacking += not has_query
        if not self.count and not len(problems):
            problems.add(self.file.name, "has no rows")
        problems.raise_any(role)
        #: Keys that no row is read by, in the order they came.
        self.other_keys = tuple(header.unread)

    @property
    def is_one_text(self) -> bool:
        """Whether the whole file is the text of one row: what is made of it is a text alone, too."""
        return self.file.format == "txt"

    def __iter__(self) -> Iterator[TextRow]:
        """Yield the rows of the file, in its order."""
        problems = Problems()
        yield from (row for row, _ in self._read(self._header(), problems))
        problems.raise_any("what was read before")

    def require_same_kind(self, out: Path) -> None:
        """Raise where what is written would have another form than what was read, by the name of the output."""
        form, ending = self.file.format, out.suffix.lower()
        if ending != f".{form}" and (form != "jsonl" or ending in (".csv", ".txt")):
            what = "is one text" if self.is_one_text else f"holds rows of {form.upper()}"
            raise UsageError(
                f"{self.file.name} {what}, and so does what is made of it: let the name of --out end in .{form}"
            )

    def _header(self) -> Header:
        return Header(("id", "text", *filter(None, [self._query_field])))

    def _read(self, header: Header, problems: Problems) -> Iterator[tuple[TextRow, bool]]:
        """Yield each row, and whether it has the key of the question, be it null."""
        name = self._query_field
        for row, record in self._records(header, problems):
            text = self._text_of("text", row, record, problems, may_be_null=self._null_text and "text" in record)
            query = None if name is None else self._text_of(name, row, record, problems, may_be_null=True)
            given = record.get("id")
            try:
                key = as_text(given, Kind.ID) or ""
                if not key.strip():
                    raise CellError("is blank or missing")
            except CellError as error:
                problems.add(self.file.name, str(error), row=row, column="id")
                key = f"row {row} without an id"
            key_or_number = given if isinstance(given, int) and not isinstance(given, bool) else key
            yield TextRow(row, key_or_number, text, query), name in record

    def _records(self, header: Header, problems: Problems) -> Iterator[tuple[int, Record]]:
        if not self.is_one_text:
            yield from iter_records(self.file, header=header, problems=problems)
            return
        try:
            asked = {} if self._query is None or self._query_field is None else {self._query_field: self._query}
            yield 1, {"id": 1, "text": b"".join(iter_lines(self.file)).decode(), **asked}
        except BadInputError as error:
            problems.add(self.file.name, error.message)
        except UnicodeDecodeError:
            problems.add(self.file.name, "is not UTF-8; save it as UTF-8")

    def _text_of(self, column: str, row: int, record: Record, problems: Problems, *, may_be_null: bool) -> str | None:
        value = record.get(column)
        if isinstance(value, str) and is_encodable(value):
            return value
        if value is not None or not may_be_null:
            absent = column not in record
            what = "is missing" if absent else NOT_UNICODE if isinstance(value, str) else "is not text"
            problems.add(self.file.name, what, row=row, column=column)
        return None


class RowWriter:
    """Writes rows in the form of a file that was read: of one text the text alone, nothing where it is None."""

    def __init__(self, file: BinaryIO, rows: Rows, columns: Sequence[str]) -> None:
        self._file, self._form, self._columns = file, rows.file.format, columns
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
