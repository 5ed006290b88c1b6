"""The tables of a corpus: which files hold them, their columns, and their rows, read as checked text.

`rows` has the meaning of a cell and the checks across tables. The rows of a table stay in memory; the text of a note
goes to the note texts when it is read. The columns: docs/corpus-format.md. Names of files may hold names of patients:
only names of tables and spreadsheets are ever shown, where there are few; the others are counted by their endings.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import CellError, Kind, as_text
from clinaudit.priors.corpus.files import FILE_ENDINGS, DataFile, find_file, printable, unreadable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.note_texts import TextStore
from clinaudit.priors.corpus.records import Problems, Record, iter_records


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    kind: Kind
    #: The column must be there, and no cell of it blank.
    required: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """One table: its name, its columns, and its key (the columns whose values together are unique)."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    #: The column whose cells are the text of notes.
    text_column: str = ""


#: A spreadsheet cuts longer texts off here.
_SPREADSHEET_CELL_CHARS = 32_767
_WORD = Column(Kind.WORD)
NOTES = Schema(
    "notes",
    {
        "patient_id": Column(Kind.ID, required=True),
        "note_id": Column(Kind.ID, required=True),
        "text": Column(Kind.TEXT, required=True),
        "visit_date": Column(Kind.DATE),
        "provider": _WORD,
        "practice": _WORD,
        "note_type": _WORD,
        "split": _WORD,
    },
    key=("note_id",),
    text_column="text",
)
PATIENTS = Schema(
    "patients",
    {
        "patient_id": Column(Kind.ID, required=True),
        "split": _WORD,
        "age": Column(Kind.NUMBER),
        "sex": _WORD,
        "name": _WORD,
        "dob": Column(Kind.DATE),
        "race": _WORD,
        "marital_status": _WORD,
        "occupation": _WORD,
        "children": Column(Kind.NUMBER),
    },
    key=("patient_id",),
)
DIAGNOSES = Schema(
    "diagnoses",
    {
        "patient_id": Column(Kind.ID, required=True),
        "diagnosis": Column(Kind.CODE, required=True),
        "present": Column(Kind.FLAG, required=True),
    },
    key=("patient_id", "diagnosis"),
)
SCHEMAS = (NOTES, PATIENTS, DIAGNOSES)


@dataclass(frozen=True, slots=True)
class Row:
    """One record as text: exact where not blank, None where blank, null or absent."""

    #: From 1, header excluded.
    number: int
    #: By place; the empty string stands for a text that went to the note texts.
    cells: tuple[str | None, ...]
    #: Each column's place, shared by the rows of a table.
    places: Mapping[str, int]

    def cell(self, column: str) -> str | None:
        """Return a cell as it stands, None where it is blank."""
        return self.cells[self.places[column]]

    def text(self, column: str) -> str:
        """Return a cell as it stands, the empty string where it is blank."""
        return self.cell(column) or ""

    def word(self, column: str) -> str | None:
        """Return a cell without the blanks around it, None where it is blank."""
        return self.text(column).strip() or None


@dataclass(slots=True)
class Table:
    """The part of one table that could be read."""

    file: DataFile
    rows: list[Row] = field(default_factory=list)
    #: The schema's columns that the file has (in JSONL: that at least one record gives).
    columns: set[str] = field(default_factory=set)
    #: What was read otherwise than it is written, in words without content.
    readings: list[str] = field(default_factory=list)
    #: A text has the most characters that a cell of a spreadsheet holds.
    may_be_cut: bool = False
    #: Every record could be parsed, so that what is absent here is absent from the file.
    complete: bool = True


def read_table(file: DataFile, schema: Schema, problems: Problems, texts: TextStore | None = None) -> Table:
    """Read a whole table; everything wrong with it is added to `problems`.

    With `texts`, the cells of the table's text column go there, one a row: a row's place is its text's position.
    """
    table = Table(file)
    places = {name: place for place, name in enumerate(schema.columns)}
    parsing, reading = Problems(), Problems()
    header = Header(schema.columns)
    for number, record in iter_records(file, header=header, problems=parsing):
        table.columns.update(record)
        cells = _read_cells(file, schema, number, record, reading)
        if texts is not None:
            text = cells.get(schema.text_column)
            texts.append(text or "")
            table.may_be_cut |= text is not None and len(text) == _SPREADSHEET_CELL_CHARS
            cells[schema.text_column] = None if text is None else ""
        table.rows.append(Row(number, tuple(cells.get(name) for name in schema.columns), places))
    if file.format == "parquet" and len(parsing):
        # The rows of a damaged file before the damage prove nothing.
        table, reading = Table(file), Problems()
    reading.overrule(parsing)  # of a cell that is not UTF-8, say that rather than what follows from it
    problems.overrule(reading)
    table.complete = not len(parsing)
    if not table.rows and table.complete:
        problems.add(file.name, "has no rows")
        table.complete = False
    elif table.rows:
        _check_required(table, schema, header, problems)
        _check_key(table, schema, problems)
    table.readings += header.readings(is_csv=file.format == "csv")
    return table


def _read_cells(
    file: DataFile, schema: Schema, number: int, record: Record, problems: Problems
) -> dict[str, str | None]:
    cells: dict[str, str | None] = {}
    for name, value in record.items():
        try:
            text = as_text(value, schema.columns[name].kind)
        except CellError as error:
            problems.add(file.name, str(error), row=number, column=name)
            text = None
        if text is not None and name != schema.text_column and schema.key != (name,):
            text = sys.intern(text)  # patients, dates and places repeat
        cells[name] = text if text is not None and text.strip() else None
    return cells


def _check_required(table: Table, schema: Schema, header: Header, problems: Problems) -> None:
    for name, column in schema.columns.items():
        if column.required and name not in table.columns:
            what = "is missing"
            if table.file.format == "csv":
                what += f"; the first line must name the columns (it was read as {header.described})"
            problems.add(table.file.name, what, column=name)
            continue
        for row in table.rows:
            text = row.cell(name)
            if text is None:
                if column.required:
                    problems.add(table.file.name, "is blank", row=row.number, column=name)
            elif column.kind in (Kind.ID, Kind.CODE) and text != text.strip():
                problems.add(table.file.name, "has blanks around it", row=row.number, column=name)


def _check_key(table: Table, schema: Schema, problems: Problems) -> None:
    first: dict[tuple[str, ...], int] = {}
    what = f"has the same {' and '.join(schema.key)} as another row"
    for row in table.rows:
        key = tuple(row.text(name) for name in schema.key)
        if all(key) and first.setdefault(key, row.number) != row.number:
            for number in (first[key], row.number):
                problems.add(table.file.name, what, row=number, column=schema.key[-1])


#: Endings of files that hold tables, read or not.
_TABLE_ENDINGS = (
    *FILE_ENDINGS,
    ".json",
    ".ndjson",
    ".xlsx",
    ".xls",
    ".xlsm",
    ".ods",
    ".feather",
    ".arrow",
    ".sas7bdat",
)
#: How the name of a file begins that was meant as a table.
_MEANT = {"notes": "note", "patients": "patient", "diagnoses": "diagnos"}
#: Most names and endings shown.
_MOST_SHOWN = 5


def find_tables(path: Path, problems: Problems) -> dict[str, DataFile]:
    """Return the files of a corpus directory by table; letters of either case are read.

    Two files for one table, a file that seems to be meant as a table that is not there otherwise, and anything that is
    not a regular file, are problems.
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
            problems.add(NOTES.name, _describe_absence(path, names))
        elif not ours:
            meant = [name for name in names if name.lower().startswith(_MEANT[schema.name])]
            for name in [name for name in meant if name.lower().endswith(_TABLE_ENDINGS)][:_MOST_SHOWN]:
                what = f"is not read; save it as {schema.name}.csv, or move it out of the corpus"
                problems.add(printable(name), what)
    return found


def _describe_absence(path: Path, names: Sequence[str]) -> str:
    """Return what to say where there is no notes table: what must be there, and what is."""
    tables = [name for name in names if name.lower().endswith(_TABLE_ENDINGS)]
    if len(tables) > _MOST_SHOWN:
        tables = []  # a table a patient, it may be
    others = [name for name in names if name not in tables and not name.startswith(".")]
    endings = Counter("folders" if (path / name).is_dir() else _ending(name) for name in others)
    shown = [printable(name) for name in tables]
    shown += [f"{ending} ({count})" for ending, count in endings.most_common(_MOST_SHOWN)]
    return (
        "there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...); "
        f"found: {', '.join(shown) or 'nothing'}{advise_import(tables[0]) if len(tables) == 1 else ''}"
    )


def advise_import(name: str) -> str:
    """Return what to say after a problem of a file that is a workbook: the command that reads it; else nothing."""
    if not name.lower().endswith(".xlsx"):
        return ""
    command = f"clinaudit import excel {shlex.quote(printable(name))} corpus/ --columns columns.toml"
    return f"; a workbook is read by {command} (docs/importing.md)"


def _ending(name: str) -> str:
    """Return words for the files that end like this one; an ending that is no common one may be part of a name."""
    ending = Path(name).suffix.lower()
    return f"files ending in {ending}" if ending[1:].isalnum() and len(ending) <= 5 else "other files"
