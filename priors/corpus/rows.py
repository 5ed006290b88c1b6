"""From the tables' rows to notes, patients and labels, and the checks across tables (referential integrity).

Every invalid cell is added to `problems`; use the results only where there are none. The rules: docs/corpus-format.md,
"Cells".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import TypedDict, TypeVar

from clinaudit.priors.corpus.cells import (
    UNDECIDED,
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
from clinaudit.priors.corpus.note_texts import TextStore
from clinaudit.priors.corpus.patient import Note, Patient, Split, TableSplit, moment_of
from clinaudit.priors.corpus.records import Problems
from clinaudit.priors.corpus.tables import Row, Table

Meaning = TypeVar("Meaning")
#: Identifiers are never converted: 007 and 7 may be two people.
_ALIKE = "(identifiers must be written exactly alike in all tables: 007 is not 7)"


@dataclass(frozen=True, slots=True)
class _CellReader:
    """Reads cells of one table; adds invalid ones to `problems`."""

    table: Table
    problems: Problems

    def meaning(self, row: Row, column: str, parse: Callable[[str], Meaning]) -> Meaning | None:
        """Return what a cell means, None where it is blank or wrong."""
        text = row.cell(column)
        if text is None:
            return None
        try:
            return parse(text)
        except CellError as error:
            self.wrong(row, column, str(error))
            return None

    def day_order(self, column: str) -> DayOrder:
        """Return which of day and month comes first in a column's dates; a reading that it decides is noted."""
        if column not in self.table.columns:
            return UNDECIDED
        order = find_day_order((row.number, row.cell(column)) for row in self.table.rows)
        described = order.describe()
        if described is not None:
            self.table.readings.append(f"column {column} was {described}")
        return order

    def wrong(self, row: Row, column: str, what: str) -> None:
        """Add the problem of a cell."""
        self.problems.add(self.table.file.name, what, row=row.number, column=column)


def collect_notes(table: Table, texts: TextStore, problems: Problems) -> dict[str, tuple[Note, ...]]:
    """Return each patient's notes in order of time; two visits on one day are ordered by their times, if given."""
    cells = _CellReader(table, problems)
    by_patient: dict[str, list[Note]] = {}
    order = cells.day_order("visit_date")
    for position, row in enumerate(table.rows):
        visit = cells.meaning(row, "visit_date", lambda text: parse_date(text, order))
        note = Note(
            patient_id=row.text("patient_id"),
            note_id=row.text("note_id"),
            visit_date=visit[0] if visit else None,
            provider=row.word("provider"),
            practice=row.word("practice"),
            note_type=row.word("note_type"),
            position=position,
            texts=texts,
            visit_time=visit[1] if visit else time.min,
        )
        by_patient.setdefault(note.patient_id, []).append(note)

    return {patient_id: tuple(sorted(notes, key=moment_of)) for patient_id, notes in by_patient.items()}


def check_references(tables: Mapping[str, Table], problems: Problems) -> None:
    """Add a problem for every row whose patient is in no other table, where those tables could be read to their end."""
    notes, patients, diagnoses = (tables.get(name) for name in ("notes", "patients", "diagnoses"))
    if notes and patients and _lists_patients(patients):
        known = _patient_ids(patients)
        _check_known(notes, known, f"has no row in {patients.file.name} {_ALIKE}", problems)
    if notes and diagnoses and _lists_patients(notes) and (patients is None or _lists_patients(patients)):
        known = _patient_ids(notes) | (_patient_ids(patients) if patients else set())
        _check_known(diagnoses, known, f"is in no other table {_ALIKE}", problems)


def _lists_patients(table: Table) -> bool:
    return table.complete and "patient_id" in table.columns


def _patient_ids(table: Table) -> set[str]:
    return {row.text("patient_id") for row in table.rows}


def _check_known(table: Table, known: set[str], what: str, problems: Problems) -> None:
    for row in table.rows:
        if row.text("patient_id") and row.text("patient_id") not in known:
            problems.add(table.file.name, what, row=row.number, column="patient_id")


def collect_splits(table: Table, problems: Problems) -> dict[str, TableSplit] | None:
    """Return each patient's split where the notes table gives it, else None; a patient's notes must agree."""
    if "split" not in table.columns:
        return None
    cells = _CellReader(table, problems)
    splits: dict[str, TableSplit] = {}
    for row in table.rows:
        split = _read_split(cells, row)
        if split is not None and splits.setdefault(row.text("patient_id"), split) != split:
            what = "is not that of the patient's earlier notes; a patient is in one split as a whole"
            cells.wrong(row, "split", what)
    return splits


def collect_patients(
    table: Table | None,
    notes: Mapping[str, tuple[Note, ...]],
    splits: Mapping[str, TableSplit] | None,
    problems: Problems,
) -> list[Patient]:
    """Return the patients who have notes; all cells of the table are checked, those of the other patients too.

    `splits` are those of the notes table, which the patients table must not contradict.
    """
    if table is None:
        return [Patient(patient_id, **_place((splits or {}).get(patient_id))) for patient_id in notes]
    cells = _CellReader(table, problems)
    order = cells.day_order("dob")
    with_notes = []
    for row in table.rows:
        own_notes = notes.get(row.text("patient_id"), ())
        split = (splits or {}).get(row.text("patient_id"))
        if "split" in table.columns:
            own = _read_split(cells, row)
            if own is not None and split is not None and own != split:
                cells.wrong(row, "split", "is not the one that the notes table gives; correct one, or leave it out")
            split = own
        patient = _read_patient(cells, row, own_notes, split=split, order=order)
        if own_notes:
            with_notes.append(patient)
    return with_notes


class _Place(TypedDict):
    split: Split
    is_validation: bool


def _place(split: TableSplit | None) -> _Place:
    """Return where a patient stands; whoever is in the validation split was not trained on."""
    if split == "validation":
        return {"split": "nontrain", "is_validation": True}
    return {"split": split or "train", "is_validation": False}


def _read_patient(
    cells: _CellReader, row: Row, notes: tuple[Note, ...], *, split: TableSplit | None, order: DayOrder
) -> Patient:
    birth = cells.meaning(row, "dob", lambda text: parse_birth(text, order))
    age = cells.meaning(row, "age", parse_age)
    if row.cell("age") is None and birth is not None:
        age = _age_at_latest_visit(cells, row, birth, notes)
    return Patient(
        patient_id=row.text("patient_id"),
        age=age.years if age else None,
        sex=cells.meaning(row, "sex", parse_sex),
        name=row.word("name"),
        dob=birth if isinstance(birth, date) else None,
        race=row.word("race"),
        marital_status=row.word("marital_status"),
        occupation=row.word("occupation"),
        children=cells.meaning(row, "children", parse_count),
        age_is_pooled=age is not None and age.is_pooled,
        birth_year=birth if isinstance(birth, int) else None,
        **_place(split),
    )


def _age_at_latest_visit(cells: _CellReader, row: Row, birth: date | int, notes: tuple[Note, ...]) -> Age | None:
    """Return the age in completed years; None without a visit date, or where the year of birth alone is known."""
    latest = notes[-1].visit_date if notes else None
    if latest is None:
        return None
    try:
        age = completed_years(birth, latest)
    except CellError as error:
        cells.wrong(row, "dob", str(error))
        return None
    return Age(age) if isinstance(birth, date) else None


def _read_split(cells: _CellReader, row: Row) -> TableSplit | None:
    """Return a row's split; None where it is blank or wrong, which is a problem."""
    split = cells.meaning(row, "split", parse_split)
    if row.cell("split") is None:
        # `wrong` keeps the first problem of a cell, so one of the wrong type is not called blank as well.
        cells.wrong(row, "split", "is blank; give train, nontrain or validation")
    return split


def collect_labels(
    table: Table | None, notes: Mapping[str, tuple[Note, ...]], problems: Problems
) -> dict[tuple[str, str], bool] | None:
    """Return the labels of the patients who have notes, None without a table."""
    if table is None:
        return None
    cells = _CellReader(table, problems)
    labels = {}
    for row in table.rows:
        present = cells.meaning(row, "present", parse_flag)
        if present is not None and row.text("patient_id") in notes:
            labels[row.text("patient_id"), row.text("diagnosis")] = present
    return labels
