"""What must hold of the tables' rows, and what they mean: notes, patients and labels.

Every invalid cell is added to its table's problems; use the results only where there are none. The rules:
docs/corpus-format.md, "Cells".
"""

from collections.abc import Callable, Container, Iterator, Mapping
from datetime import date, time
from typing import Any

import polars as pl

from clinaudit.priors.corpus.cells import (
    ALIKE,
    Age,
    CellError,
    DayOrder,
    completed_years,
    find_day_order,
    look,
    parse_age,
    parse_birth,
    parse_count,
    parse_date,
    parse_flag,
    parse_sex,
    parse_split,
)
from clinaudit.priors.corpus.note_texts import TextStore
from clinaudit.priors.corpus.patient import Note, Patient, TableSplit, moment_of
from clinaudit.priors.corpus.schema import SCHEMAS
from clinaudit.priors.corpus.tables import Meaning, Table

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
        looks = ids.with_columns(look=pl.Series(map(look, ids["patient_id"]), dtype=pl.String))
        alike = looks.filter(pl.col("look").is_duplicated())["patient_id"].implode()
        yield from ((schema.name, column, pl.col(column).is_null(), "is blank") for column in schema.required)
        yield schema.name, schema.key[-1], pl.struct(schema.key).is_duplicated() & is_whole, same
        yield schema.name, "patient_id", pl.col("patient_id").is_in(alike), ALIKE
        yield schema.name, "split", pl.col("split").is_null(), "is blank; give train, nontrain or validation"
    absent = "has no row in {patients}", "is in no other table"
    for name, others, what in zip(("notes", "diagnoses"), (["patients"], ["notes", "patients"]), absent, strict=True):
        known = [tables[other] for other in others if other in tables]
        if known and all(other.lists_patients for other in known):
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


def _check_rows(tables: Tables) -> None:
    """Add each row that is wrong to the problems of its table; a column that a file does not have is another matter."""
    names = {name: table.file.name for name, table in tables.items()}
    for name, column, wrong, what in _wrong_rows(tables):
        table = tables.get(name)
        for row in table.frame.filter(wrong)["row"] if table is not None and column in table.columns else ():
            tables[name].problems.add(names[name], what.format(**names), row=row, column=column)


def _splits_of(tables: Tables, name: str) -> dict[str, TableSplit]:
    """Return the split of each patient of whom a table gives one, that of the first row."""
    if name not in tables or "split" not in tables[name].columns:
        return {}
    first = tables[name].frame.drop_nulls(["patient_id", "split"]).unique("patient_id", keep="first")
    return dict(first.select("patient_id", "split").iter_rows())


def collect_notes(table: Table, texts: TextStore) -> dict[str, tuple[Note, ...]]:
    """Return each patient's notes in order of time; two visits on one day are ordered by their times, if given."""
    visits = table.meanings("visit_date", _in_order_of_column(table, "visit_date", parse_date))
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
    order = find_day_order(table.frame.select("row", column).iter_rows())
    if (described := order.describe()) is not None:
        table.readings.append(f"column {column} was {described}")
    return lambda text: parse(text, order)


def collect_splits(tables: Tables) -> dict[str, TableSplit]:
    """Check the rows of all tables, and return each patient's split where a table gives it."""
    for name in ("notes", "patients"):
        if (table := tables.get(name)) is not None and "split" in table.columns:
            splits = pl.Series(table.meanings("split", parse_split), dtype=pl.String)
            table.frame = table.frame.with_columns(split=splits)
    _check_rows(tables)
    return _splits_of(tables, "notes") | _splits_of(tables, "patients")


def collect_patients(
    table: Table | None, notes: Mapping[str, tuple[Note, ...]], splits: Mapping[str, TableSplit]
) -> list[Patient]:
    """Return the patients who have notes; all cells of the table are checked, those of the other patients too."""
    if table is None:
        return [Patient(patient_id, **_place(splits.get(patient_id))) for patient_id in notes]
    columns = {
        "patient_id": table.meanings("patient_id", str),
        "sex": table.meanings("sex", parse_sex),
        "children": table.meanings("children", parse_count),
        **{name: table.meanings(name, str.strip) for name in ("name", "race", "marital_status", "occupation")},
    }
    ages = table.meanings("age", parse_age)
    births = table.meanings("dob", _in_order_of_column(table, "dob", parse_birth))
    with_notes = []
    rows = zip(table.frame.select("row", "age").iter_rows(), ages, births, *columns.values(), strict=True)
    for (row, age_cell), age, birth, *cells in rows:
        known = dict(zip(columns, cells, strict=True))
        own_notes = notes.get(known["patient_id"], ())
        latest = own_notes[-1].visit_date if own_notes else None
        if age_cell is None and birth is not None and latest is not None:
            try:
                years = completed_years(birth, latest)
                # Of a year of birth alone no age follows, only whether it is one.
                age = Age(years) if isinstance(birth, date) else None
            except CellError as error:
                table.problems.add(table.file.name, str(error), row=row, column="dob")
        if own_notes:
            patient = Patient(
                **known,
                **_place(splits.get(known["patient_id"])),
                age=age.years if age else None,
                age_is_pooled=age is not None and age.is_pooled,
                dob=birth if isinstance(birth, date) else None,
                birth_year=birth if isinstance(birth, int) else None,
            )
            with_notes.append(patient)
    return with_notes


def _place(split: TableSplit | None) -> dict[str, Any]:
    """Return where a patient stands; whoever is in the validation split was not trained on."""
    is_validation = split == "validation"
    return {"split": "nontrain" if is_validation else split or "train", "is_validation": is_validation}


def collect_labels(table: Table | None, notes: Container[str]) -> dict[tuple[str, str], bool] | None:
    """Return the labels of the patients who have notes, None without a table."""
    if table is None:
        return None
    rows = zip(table.frame["patient_id"], table.frame["diagnosis"], table.meanings("present", parse_flag), strict=True)
    return {(who, diagnosis): present for who, diagnosis, present in rows if present is not None and who in notes}
