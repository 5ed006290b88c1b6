"""The tables of a corpus: which files hold them, their columns, and their rows, as notes, patients and labels.

Owns what must hold of the rows and what they mean (docs/corpus-format.md, "Cells"); `cells` has the meaning of a cell.
Every invalid cell is a problem; use the results only where there are none. Names of files may hold names of patients:
only those of tables and of a single workbook are ever shown.
"""

import shlex
import stat
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus import cells
from clinaudit.priors.corpus import files as on_disk
from clinaudit.priors.corpus.cells import Age, CellError, DayOrder, Kind, as_text
from clinaudit.priors.corpus.child_readers import MAX_CELL_CHARS
from clinaudit.priors.corpus.files import FILE_ENDINGS, DataFile, find_file, printable
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.patient import Note, Patient, TableSplit, TextStore, moment_of
from clinaudit.priors.corpus.records import Problems, iter_records
from clinaudit.priors.corpus.schema import NOTES, SCHEMAS, Schema

Meaning = TypeVar("Meaning")


#: What the text of a note may show, said to the corpus's owner.
_SHOWN: Final[Mapping[str, Callable[[str], bool]]] = {
    "hold a program's word for nothing (such as NA or NULL), and no other": cells.says_nothing,
    "hold signs (Ã©, U+FFFD) of a wrong encoding in which they were read before": cells.is_misread,
}


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
    readings: list[str]
    #: A text has the most characters that a cell of a spreadsheet holds.
    may_be_cut: bool
    #: Every record could be parsed, so that what is absent here is absent from the file.
    complete: bool

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
    header, unread, wrong = Header(schema.columns), Problems(), Problems()
    columns: dict[str, list[Any]] = {name: [] for name in ("row", *schema.columns)}
    shown, may_be_cut = Counter[str](), False
    for number, record in iter_records(file, header=header, problems=unread):
        columns["row"].append(number)
        for name, kind in schema.columns.items():
            try:
                cell = _read_cell(record.get(name), kind)
            except CellError as error:
                wrong.add(file.name, str(error), row=number, column=name)
                cell = None
            if texts is not None and kind is Kind.TEXT:
                texts.append(cell or "")
                if cell is not None:
                    shown.update(words for words, shows in _SHOWN.items() if shows(cell))
                    may_be_cut |= len(cell) == MAX_CELL_CHARS
                    cell = ""
            columns[name].append(cell)
    problems.overrule(unread)
    complete = not len(unread)
    if file.format == "parquet" and not complete:
        # The rows of a damaged file before the damage prove nothing.
        header.found, columns = set(), {name: [] for name in columns}
    else:
        problems.overrule(wrong)
    readings = header.readings(is_csv=file.format == "csv")
    readings += [f"{shown[words]} notes {words}" for words in _SHOWN if shown[words]]
    frame = pl.DataFrame(columns, schema={"row": pl.Int64, **dict.fromkeys(schema.columns, pl.String)})
    has_rows = not frame.is_empty()
    if has_rows or (complete and schema.may_be_empty):
        what = "is missing"
        if file.format == "csv":
            what += f"; the first line must name the columns (it was read as {header.described})"
        for name in schema.required:
            if name not in header.found:
                problems.add(file.name, what, column=name)
    elif complete:
        problems.add(file.name, "has no rows")
        complete = False
    return Table(file, problems, frame, header.found, readings, may_be_cut, complete)


def _read_cell(value: object, kind: Kind) -> str | None:
    """Return a cell as it stands, None where it is blank; patients, dates and places repeat, and are held once."""
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
    """Return the files of a corpus by table: of a directory, or one file of notes; letters of either case are read.

    Two files for one table, a file that seems to hold more of it or to be meant as a table that is not there, and
    anything that is not a regular file, are problems.
    """
    name, shown = printable(path.name), printable(str(path))
    try:
        if not stat.S_ISDIR(on_disk.stat_input(path, shown).st_mode):
            return {NOTES.name: find_file(path, name)}
    except BadInputError as error:
        problems.add(name or shown, f"{error.message}{_advise_import(path.name)}")
        return {}
    with on_disk.reading("the corpus directory"):
        names = sorted(entry.name for entry in path.iterdir())
    found: dict[str, DataFile] = {}
    for schema in SCHEMAS:
        ours = [name for name in names if name.lower() in {schema.name + ending for ending in FILE_ENDINGS}]
        others: list[str] = []
        remedy = f"save it as {schema.name}.csv"
        if ours:
            others = [name for name in names if name not in ours and on_disk.is_named_for(name, schema.name)]
            remedy = f"put its rows into {ours[0]}"
        elif schema is NOTES:
            # What must be there: names of other files may be patients'.
            workbooks = [name for name in names if name.lower().endswith(".xlsx")]
            formats = "there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...)"
            problems.add(NOTES.name, formats + (_advise_import(workbooks[0]) if len(workbooks) == 1 else ""))
        else:
            meant = [name for name in names if name.lower().startswith(_MEANT[schema.name])]
            others = [name for name in meant if name.lower().endswith(_TABLE_ENDINGS)][:_MOST_SHOWN]
        for name in others:
            problems.add(printable(name), f"is not read; {remedy}, or move it out of the corpus")
        if len(ours) > 1:
            problems.add(schema.name, f"is given by more than one file: {', '.join(ours)}; keep one")
        for name in ours:
            try:
                found[schema.name] = find_file(path / name, name)
            except BadInputError as error:
                problems.add(name, error.message)
    return found


def _advise_import(name: str) -> str:
    """Return what to say after a problem of a file that is a workbook: the command that reads it; else nothing."""
    if not name.lower().endswith(".xlsx"):
        return ""
    command = f"clinaudit import excel {shlex.quote(printable(name))} corpus/ --columns columns.toml"
    return f"; a workbook is read by {command} (docs/importing.md)"


Tables = Mapping[str, Table]
#: Identifiers are never converted: 007 and 7 may be two people.
_EXACTLY = "(identifiers must be written exactly alike in all tables: 007 is not 7)"


def _wrong_rows(tables: Tables) -> Iterator[tuple[str, str, pl.Expr, str]]:
    """Yield the checks: a table, a column, which of its rows are wrong, and why. Of a cell the first reason is said."""
    for schema in SCHEMAS:
        if (table := tables.get(schema.name)) is None:
            continue
        is_whole = pl.all_horizontal(pl.col(schema.key).is_not_null())
        same = f"has the same {' and '.join(schema.key)} as another row"
        ids = table.frame.select("patient_id").unique().drop_nulls()
        looks = ids.with_columns(look=pl.Series(map(cells.look, ids["patient_id"]), dtype=pl.String))
        alike = looks.filter(pl.col("look").is_duplicated())["patient_id"].implode()
        yield from ((schema.name, column, pl.col(column).is_null(), "is blank") for column in schema.required)
        yield schema.name, schema.key[-1], pl.struct(schema.key).is_duplicated() & is_whole, same
        yield schema.name, "patient_id", pl.col("patient_id").is_in(alike), cells.ALIKE
        yield schema.name, "split", pl.col("split").is_null(), "is blank; give train, nontrain or validation"
    absent = "has no row in {patients}", "is in no other table"
    for name, others, what in zip(("notes", "diagnoses"), (["patients"], ["notes", "patients"]), absent, strict=True):
        known = [tables[other] for other in others if other in tables]
        # Whoever is not in a table that could be read whole is in no record of its file.
        if known and all(other.complete and "patient_id" in other.columns for other in known):
            listed = pl.concat([other.frame["patient_id"] for other in known]).drop_nulls().implode()
            yield name, "patient_id", ~pl.col("patient_id").is_in(listed), f"{what} {_EXACTLY}"
    yield (
        *("notes", "split", pl.col("split") != pl.col("split").drop_nulls().first().over("patient_id")),
        "is not that of the patient's earlier notes; a patient is in one split as a whole",
    )
    yield (
        *("patients", "split"),
        pl.col("split") != pl.col("patient_id").replace_strict(_splits_of(tables, "notes"), default=None),
        "is not the one that the notes table gives; correct one, or leave it out",
    )


def _splits_of(tables: Tables, name: str) -> dict[str, TableSplit]:
    """Return the split of each patient of whom a table gives one, that of the first row."""
    if name not in tables or "split" not in tables[name].columns:
        return {}
    first = tables[name].frame.drop_nulls(["patient_id", "split"]).unique("patient_id", keep="first")
    return dict(first.select("patient_id", "split").iter_rows())


def collect_notes(table: Table, texts: TextStore) -> dict[str, tuple[Note, ...]]:
    """Return each patient's notes in order of time; two visits on one day are ordered by their times, if given."""
    visits = table.meanings("visit_date", _in_order_of_column(table, "visit_date", cells.parse_date))
    words = (table.meanings(name, str.strip) for name in ("provider", "practice", "note_type"))
    by_patient: dict[str, list[Note]] = {}
    rows = zip(*(table.meanings(name, str) for name in ("patient_id", "note_id")), visits, *words, strict=True)
    for position, (patient_id, note_id, visit, provider, practice, note_type) in enumerate(rows):
        day, clock = visit or (None, time.min)
        note = Note(patient_id or "", note_id or "", day, provider, practice, note_type, position, texts, clock)
        by_patient.setdefault(note.patient_id, []).append(note)
    return {patient_id: tuple(sorted(notes, key=moment_of)) for patient_id, notes in by_patient.items()}


def _in_order_of_column(
    table: Table, column: str, parse: Callable[[str, DayOrder], Meaning]
) -> Callable[[str], Meaning]:
    """Return what parses a date of a column in its order of day and month; a reading that it decides is noted."""
    order = cells.find_day_order(table.frame.select("row", column).iter_rows())
    if (described := order.describe()) is not None:
        table.readings.append(f"column {column} was {described}")
    return lambda text: parse(text, order)


def collect_splits(tables: Tables) -> dict[str, TableSplit]:
    """Check the rows of all tables, and return each patient's split where a table gives it."""
    for name in ("notes", "patients"):
        if (table := tables.get(name)) is not None and "split" in table.columns:
            splits = pl.Series(table.meanings("split", cells.parse_split), dtype=pl.String)
            table.frame = table.frame.with_columns(split=splits)
    # A column that a file does not have is another matter.
    names = {name: table.file.name for name, table in tables.items()}
    for name, column, wrong, what in _wrong_rows(tables):
        if (table := tables.get(name)) is not None and column in table.columns:
            for row in table.frame.filter(wrong)["row"]:
                table.problems.add(names[name], what.format(**names), row=row, column=column)
    return _splits_of(tables, "notes") | _splits_of(tables, "patients")


def collect_patients(
    table: Table | None, notes: Mapping[str, tuple[Note, ...]], splits: Mapping[str, TableSplit]
) -> list[Patient]:
    """Return the patients who have notes; all cells of the table are checked, those of the other patients too."""
    if table is None:
        return [Patient(patient_id, **_place(splits.get(patient_id))) for patient_id in notes]
    columns = {
        "patient_id": table.meanings("patient_id", str),
        "age": table.meanings("age", cells.parse_age),
        "dob": table.meanings("dob", _in_order_of_column(table, "dob", cells.parse_birth)),
        "sex": table.meanings("sex", cells.parse_sex),
        "children": table.meanings("children", cells.parse_count),
        **{name: table.meanings(name, str.strip) for name in ("name", "race", "marital_status", "occupation")},
    }
    with_notes = []
    for (row, age_cell), *told in zip(table.frame.select("row", "age").iter_rows(), *columns.values(), strict=True):
        known = dict(zip(columns, told, strict=True))
        age, birth, own_notes = known.pop("age"), known.pop("dob"), notes.get(known["patient_id"], ())
        latest = own_notes[-1].visit_date if own_notes else None
        if age_cell is None and birth is not None and latest is not None:
            try:
                years = cells.completed_years(birth, latest)
                # Of a year of birth alone no age follows, only whether it is one.
                age = Age(years) if isinstance(birth, date) else None
            except CellError as error:
                table.problems.add(table.file.name, str(error), row=row, column="dob")
        if own_notes:
            known |= _place(splits.get(known["patient_id"]))
            known["dob" if isinstance(birth, date) else "birth_year"] = birth
            if age is not None:
                known |= {"age": age.years, "age_is_pooled": age.is_pooled}
            with_notes.append(Patient(**known))
    return with_notes


def _place(split: TableSplit | None) -> dict[str, Any]:
    """Return where a patient stands; whoever is in the validation split was not trained on."""
    is_validation = split == "validation"
    return {"split": "nontrain" if is_validation else split or "train", "is_validation": is_validation}


def collect_labels(table: Table | None, notes: Container[str]) -> dict[tuple[str, str], bool] | None:
    """Return the labels of the patients who have notes, None without a table."""
    if table is None:
        return None
    flags = table.meanings("present", cells.parse_flag)
    rows = zip(table.frame["patient_id"], table.frame["diagnosis"], flags, strict=True)
    return {(who, diagnosis): present for who, diagnosis, present in rows if present is not None and who in notes}
