"""The tables of a corpus: which columns each has, which are required, and rows read as checked text.

Owns the columns and the checks that need one table alone: required, blank, repeated. What a cell means (a date, an
age) and what ties the tables together is `corpus`'s business. Contract, section 2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.priors.cells import CellError, Kind, as_text
from clinaudit.priors.problems import Problems
from clinaudit.priors.reading import FILE_ENDINGS, DataFile, find_file, unreadable
from clinaudit.priors.records import Record, iter_records
from clinaudit.templates.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    kind: Kind
    #: The column must be there, and no cell of it blank.
    required: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """One table: its name, its columns, and the columns whose values together may stand in one row only."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]


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
    },
    key=("note_id",),
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
        "diagnosis": Column(Kind.ID, required=True),
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
    cells: Mapping[str, str | None]

    def text(self, column: str) -> str:
        """Return a cell as it stands, the empty string where it is blank."""
        return self.cells.get(column) or ""

    def word(self, column: str) -> str | None:
        """Return a cell without the blanks around it, None where it is blank."""
        return self.text(column).strip() or None


@dataclass(slots=True)
class Table:
    """What could be read of one table."""

    file: DataFile
    rows: list[Row] = field(default_factory=list)
    #: The schema's columns that the file has (in JSONL: that at least one record gives).
    columns: set[str] = field(default_factory=set)
    #: Every record could be parsed, so that what is absent here is absent from the file.
    complete: bool = True


def find_tables(path: Path, problems: Problems) -> tuple[dict[str, DataFile], list[str]]:
    """Return the files of a corpus directory by table, and the tables that a file of no known format seems to hold.

    Nothing is opened. Two files for one table, and anything that is not a regular file, are problems.
    """
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise unreadable("the corpus directory", error) from None
    found: dict[str, DataFile] = {}
    misnamed: list[str] = []
    for schema in SCHEMAS:
        ours = [name for name in names if name in {schema.name + ending for ending in FILE_ENDINGS}]
        if len(ours) > 1:
            problems.add(schema.name, f"is given by more than one file: {', '.join(ours)}; keep one")
        for name in ours:
            try:
                found[schema.name] = find_file(path / name, name)
            except BadInputError as error:
                problems.add(name, error.message)
        if not ours and any(name.lower().startswith(schema.name + ".") for name in names):
            misnamed.append(schema.name)
    if not any(name in {NOTES.name + ending for ending in FILE_ENDINGS} for name in names):
        problems.add(
            NOTES.name, "there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...)"
        )
    return found, misnamed


def read_table(file: DataFile, schema: Schema, problems: Problems) -> Table:
    """Read a whole table; everything wrong with it is added to `problems`."""
    table = Table(file)
    for number, record in _counted(file, schema, problems, table):
        table.columns.update(record)
        table.rows.append(_read_row(file, schema, number, record, problems))
    if not table.rows and table.complete:
        problems.add(file.name, "has no rows")
        table.complete = False
    elif table.rows:
        _check_required(table, schema, problems)
        _check_key(table, schema, problems)
    return table


def _counted(file: DataFile, schema: Schema, problems: Problems, table: Table) -> Iterator[tuple[int, Record]]:
    """Yield the records, and note in `table` whether any of them could not be parsed."""
    parsing = Problems()
    yield from iter_records(file, columns=schema.columns, problems=parsing)
    table.complete = not len(parsing)
    problems.overrule(parsing)  # of a cell that is not UTF-8, say that rather than what follows from it


def _read_row(file: DataFile, schema: Schema, number: int, record: Record, problems: Problems) -> Row:
    cells: dict[str, str | None] = {}
    for name, value in record.items():
        try:
            text = as_text(value, schema.columns[name].kind)
        except CellError as error:
            problems.add(file.name, str(error), row=number, column=name)
            text = None
        cells[name] = text if text is not None and text.strip() else None
    return Row(number, cells)


def _check_required(table: Table, schema: Schema, problems: Problems) -> None:
    for name, column in schema.columns.items():
        if column.required and name not in table.columns:
            what = "is missing (the header names the columns, separated by commas)"
            problems.add(table.file.name, what if table.file.format == "csv" else "is missing", column=name)
            continue
        for row in table.rows:
            text = row.cells.get(name)
            if text is None:
                if column.required:
                    problems.add(table.file.name, "is blank", row=row.number, column=name)
            elif column.kind is Kind.ID and text != text.strip():
                problems.add(table.file.name, "has blanks around it", row=row.number, column=name)


def _check_key(table: Table, schema: Schema, problems: Problems) -> None:
    first: dict[tuple[str, ...], int] = {}
    for row in table.rows:
        key = tuple(row.text(name) for name in schema.key)
        if all(key) and first.setdefault(key, row.number) != row.number:
            what = f"{' and '.join(schema.key)} stood in row {first[key]} already"
            problems.add(table.file.name, what, row=row.number, column=schema.key[-1])
