"""The tables of a corpus: which files hold them, their columns, and their rows, a frame of checked text each.

`rows` has the meaning of a cell, `checks` what must hold of the rows. The text of a note goes to the note texts when it
is read. Names of files may hold names of patients: only those of tables and of a single workbook are ever shown.
"""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import CellError, Kind, as_text, is_misread, says_nothing
from clinaudit.priors.corpus.child_readers import MAX_CELL_CHARS
from clinaudit.priors.corpus.files import FILE_ENDINGS, DataFile, find_file, is_named_for, printable, unreadable
from clinaudit.priors.corpus.header import Fault, Header
from clinaudit.priors.corpus.note_texts import TextStore
from clinaudit.priors.corpus.records import Layout, Problems, read_rows
from clinaudit.priors.corpus.schema import NOTES, SCHEMAS, Schema

Meaning = TypeVar("Meaning")


@dataclass(slots=True, eq=False)
class Table:
    """The part of one table that could be read."""

    file: DataFile
    #: Where everything wrong with its cells goes.
    problems: Problems
    #: `row`, from 1 without the header, and each column of the schema as text: exact where not blank, null where blank,
    #: absent or wrong. A text that went to the note texts is empty here.
    frame: pl.DataFrame
    #: The schema's columns that the file has (in JSONL: that at least one record gives).
    columns: set[str]
    #: What was read otherwise than it is written, in words without content.
    readings: list[str] = field(default_factory=list)
    #: A text has the most characters that a cell of a spreadsheet holds.
    may_be_cut: bool = False
    #: Every record could be parsed, so that what is absent here is absent from the file.
    complete: bool = True

    @property
    def lists_patients(self) -> bool:
        """Whether a patient who is not in the table is in no record of the file."""
        return self.complete and "patient_id" in self.columns

    def meanings(self, column: str, parse: Callable[[str], Meaning]) -> Iterator[Meaning | None]:
        """Return what each cell of a column means: None where it is blank, or wrong, which is a problem.

        Each text is parsed once; equal cells share what they mean.
        """
        meaning: dict[str | None, Meaning | None] = {None: None}
        wrong: dict[str, str] = {}
        for text in self.frame[column].drop_nulls().unique():
            try:
                meaning[text] = parse(text)
            except CellError as error:
                wrong[text] = str(error)
        for row, text in self.frame.select("row", column).iter_rows() if wrong else ():
            if text in wrong:
                self.problems.add(self.file.name, wrong[text], row=row, column=column)
        return map(meaning.get, self.frame[column])


def read_table(file: DataFile, schema: Schema, problems: Problems, texts: TextStore | None = None) -> Table:
    """Read a whole table; everything wrong with it is added to `problems`.

    With `texts`, the cells of `text` go there, one a row: a row's place is its text's position.
    """
    header = Header(schema.columns)
    found = Problems()
    rows: list[int] = []
    cells: dict[str, list[str | None]] = {name: [] for name in schema.columns}
    may_be_cut, complete, wordless, misread = False, True, 0, 0
    try:
        for number, record in read_rows(file, header, Layout()):
            if isinstance(record, Fault):
                found.add(file.name, record.what, row=number, column=record.column)
                complete = False
                continue
            rows.append(number)
            for name, kind in schema.columns.items():
                try:
                    cell = _read_cell(record.get(name), kind)
                except CellError as error:
                    found.add(file.name, str(error), row=number, column=name)
                    cell = None
                if texts is not None and kind is Kind.TEXT:
                    texts.append(cell or "")
                    wordless += cell is not None and says_nothing(cell)
                    misread += cell is not None and is_misread(cell)
                    may_be_cut |= cell is not None and len(cell) == MAX_CELL_CHARS
                    cell = None if cell is None else ""
                cells[name].append(cell)
    except BadInputError as error:
        complete = False
        if file.format == "parquet":
            # The rows of a damaged file before the damage prove nothing.
            header.found, rows, cells, found = set(), [], {name: [] for name in cells}, Problems()
        found.add(file.name, error.message)
    problems.overrule(found)
    frame = pl.DataFrame({"row": rows, **cells}, schema={"row": pl.Int64, **dict.fromkeys(cells, pl.String)})
    table = Table(file, problems, frame, header.found, header.readings(is_csv=file.format == "csv"), may_be_cut)
    table.complete = complete
    if wordless:
        table.readings.append(f"{wordless} notes hold a program's word for nothing (such as NA or NULL), and no other")
    if misread:
        table.readings.append(
            f"{misread} notes hold signs (Ã©, U+FFFD) of a wrong encoding in which they were read before"
        )
    if rows or (complete and schema.may_be_empty):
        what = "is missing"
        if file.format == "csv":
            what += f"; the first line must name the columns (it was read as {header.described})"
        for name in schema.required:
            if name not in table.columns:
                problems.add(file.name, what, column=name)
    elif complete:
        problems.add(file.name, "has no rows")
        table.complete = False
    return table


def _read_cell(value: object, kind: Kind) -> str | None:
    """Return a cell as it stands, None where it is blank; patients, dates and places repeat, and are held once."""
    if isinstance(value, Fault):
        raise CellError(value.what)
    text = as_text(value, kind)
    if text is None or not text.strip():
        return None
    if kind in (Kind.ID, Kind.CODE) and text != text.strip():
        raise CellError("has blanks around it")
    return text if kind is Kind.TEXT else sys.intern(text)


#: Endings of files that hold tables, read or not.
_OTHERS = (".json", ".ndjson", ".xlsx", ".xls", ".xlsm", ".ods", ".feather", ".arrow", ".sas7bdat")
_TABLE_ENDINGS = (*FILE_ENDINGS, *_OTHERS)
#: How the name of a file begins that was meant as a table.
_MEANT = {"notes": "note", "patients": "patient", "diagnoses": "diagnos"}
#: Most names shown.
_MOST_SHOWN = 5


def find_tables(path: Path, problems: Problems) -> dict[str, DataFile]:
    """Return the files of a corpus directory by table; letters of either case are read.

    Two files for one table, a file that seems to hold more of it or to be meant as a table that is not there, and
    anything that is not a regular file, are problems.
    """
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise unreadable("the corpus directory", error) from None
    found: dict[str, DataFile] = {}
    for schema in SCHEMAS:
        ours = [name for name in names if name.lower() in {schema.name + ending for ending in FILE_ENDINGS}]
        if len(ours) > 1:
            problems.add(schema.name, f"is given by more than one file: {', '.join(ours)}; keep one")
        for name in ours:
            try:
                found[schema.name] = find_file(path / name, name)
            except BadInputError as error:
                problems.add(name, error.message)
        if not ours and schema is NOTES:
            problems.add(NOTES.name, _describe_absence(names))
        elif not ours:
            meant = [name for name in names if name.lower().startswith(_MEANT[schema.name])]
            for name in [name for name in meant if name.lower().endswith(_TABLE_ENDINGS)][:_MOST_SHOWN]:
                what = f"is not read; save it as {schema.name}.csv, or move it out of the corpus"
                problems.add(printable(name), what)
        for name in [name for name in names if ours and name not in ours and is_named_for(name, schema.name)]:
            what = f"is not read; put its rows into {ours[0]}, or move it out of the corpus"
            problems.add(printable(name), what)
    return found


def _describe_absence(names: Sequence[str]) -> str:
    """Return what to say where there is no notes table: what must be there. Names of other files may be patients'."""
    workbooks = [name for name in names if name.lower().endswith(".xlsx")]
    advice = advise_import(workbooks[0]) if len(workbooks) == 1 else ""
    return f"there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...){advice}"


def advise_import(name: str) -> str:
    """Return what to say after a problem of a file that is a workbook: the command that reads it; else nothing."""
    if not name.lower().endswith(".xlsx"):
        return ""
    command = f"clinaudit import excel {shlex.quote(printable(name))} corpus/ --columns columns.toml"
    return f"; a workbook is read by {command} (docs/importing.md)"
