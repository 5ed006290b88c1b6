"""From the tables' rows to notes, patients and labels.

Every invalid cell is added to its table's problems; use the results only where there are none. The rules:
docs/corpus-format.md, "Cells".
"""

from collections.abc import Callable, Container, Mapping
from datetime import date, time
from typing import Any

import polars as pl

from clinaudit.priors.corpus.cells import (
    Age,
    CellError,
    DayOrder,
    completed_years,
    find_day_order,
    parse_age,
    parse_birth,
    parse_count,
    parse_date,
    parse_flag,
    parse_sex,
    parse_split,
)
from clinaudit.priors.corpus.checks import check_tables, splits_of
from clinaudit.priors.corpus.note_texts import TextStore
from clinaudit.priors.corpus.patient import Note, Patient, TableSplit, moment_of
from clinaudit.priors.corpus.tables import Meaning, Table


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


def collect_splits(tables: Mapping[str, Table]) -> dict[str, TableSplit]:
    """Return each patient's split where a table gives it; checks compare what several rows say."""
    for name in ("notes", "patients"):
        if (table := tables.get(name)) is not None and "split" in table.columns:
            splits = pl.Series(table.meanings("split", parse_split), dtype=pl.String)
            table.frame = table.frame.with_columns(split=splits)
    check_tables(tables)
    return {**splits_of(tables, "notes"), **splits_of(tables, "patients")}  # type: ignore[dict-item]


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
