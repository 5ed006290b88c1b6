"""A site's own table, one row a note with the patient's facts beside it: a CSV or an Excel sheet with a column map.

Owns what rows of one patient may differ in. Knows nothing of how a CSV or a sheet is read.
"""

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import CellError, parse_split
from clinaudit.priors.corpus.files import DataFile, printable
from clinaudit.priors.importers.attachments import plain_text_of
from clinaudit.priors.importers.codes import Labels
from clinaudit.priors.importers.column_map import DATES, NOTE_COLUMNS, PATIENT_COLUMNS, REQUIRED, ColumnMap
from clinaudit.priors.importers.corpus_writer import CorpusWriter, NoteRecord, PatientRecord
from clinaudit.priors.importers.excel import MAX_CELL_CHARS, iter_sheet
from clinaudit.priors.importers.ledger import Place, RecordError
from clinaudit.priors.importers.sheet_xml import EXCEL_ERRORS
from clinaudit.priors.importers.tables import TABLE_ENDINGS, Layout, Reader, Row, cells_of, data_file, located
from clinaudit.priors.importers.values import is_day_or_year, iso_day, require_age, require_birth, require_sex

TABLE = "rows"
EXCEL_ENDINGS = {".xlsx": ("xlsx", None), ".xlsm": ("xlsx", None)}
#: Facts that do not change from visit to visit: two values mean two patients under one id.
_FIXED = ("sex", "dob")


def find_own_table(source: Path, *, excel: bool) -> DataFile:
    """Return the file; raises `BadInputError` where it is none of the kind."""
    endings = EXCEL_ENDINGS if excel else TABLE_ENDINGS
    return data_file(source, printable(source.name) or printable(str(source)), endings)  # type: ignore[arg-type]


class OwnTable:
    """Reads one table by its column map."""

    def __init__(self, file: DataFile, columns: ColumnMap, writer: CorpusWriter, labels: Labels) -> None:
        self._file = file
        self._map = columns
        self._writer = writer
        self._labels = labels
        #: By patient: the split its rows give.
        self.splits: dict[str, str] = {}
        #: Day of the row that a patient's changing facts come from.
        self._as_of: dict[str, date] = {}

    def read(self, reader: Reader) -> None:
        """Read all rows."""
        asked = [(column.lower(), f"columns.{name}") for name, column in self._map.columns.items()]
        if self._map.codes is not None:
            asked.append((self._map.codes[0].lower(), "diagnoses.codes"))
        keys = dict(asked)
        if len(keys) < len(asked):
            names = [name for name, _ in asked]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise BadInputError(f"the column map names one column twice: {printable(', '.join(twice))}; correct it")
        if self._file.format == "xlsx":
            self._read_sheet(reader, keys)
            return
        layout = Layout(delimiter=self._map.delimiter, encoding=self._map.encoding, keys=keys)
        exact = (self._map.columns["text"].lower(),)
        for place, row in reader.rows(TABLE, self._file, required=keys, exact=exact, layout=layout):
            reader.ledger.take(TABLE, place, (place.number, row), self._add_row)

    def _read_sheet(self, reader: Reader, keys: dict[str, str]) -> None:
        ledger = reader.ledger
        ledger.expect(TABLE)
        text = self._map.columns["text"].lower()
        with located(self._file, has_map=True):
            for number, row in iter_sheet(self._file, self._map.sheet, keys):
                ledger.seen(TABLE)
                ledger.columns_not_read = tuple(name for name in row if name not in keys)
                cells = cells_of(ledger, TABLE, row, keys, exact=(text,))
                ledger.take(TABLE, Place(self._file.name, "sheet row", number), (number, cells), self._add_sheet_row)

    def _add_sheet_row(self, numbered: tuple[int, Row]) -> bool:
        if len(numbered[1][self._map.columns["text"].lower()] or "") >= MAX_CELL_CHARS:
            raise RecordError("the text has 32,767 characters, all that a cell of Excel can hold: it may be cut off")
        return self._add_row(numbered)

    def _add_row(self, numbered: tuple[int, Row]) -> bool:
        number, row = numbered
        values: dict[str, str | None] = {}
        for name in (*REQUIRED, *NOTE_COLUMNS, *PATIENT_COLUMNS):
            cell = row[self._map.columns[name].lower()] if name in self._map.columns else None
            values[name] = self._present(name, cell)
        for name in DATES:
            values[name] = self._iso(name, values[name])
        patient_id = values["patient_id"]
        if patient_id is None:
            raise RecordError("patient_id is blank")
        patient = _read_patient(patient_id, values)
        diagnoses, coded = self._read_codes(row)
        before = self._writer.patients.get(patient_id)
        split = self._read_split(patient_id, values["split"])
        day = (iso_day(values["visit_date"]) if values["visit_date"] is not None else None) or date.min
        # The note is refused before the patient is changed by its row.
        self._writer.set_patient(self._merged(before, patient, day))
        try:
            self._writer.add_note(
                NoteRecord(
                    patient_id=patient_id,
                    note_id=values["note_id"] or f"row-{number}",
                    text=plain_text_of(values["text"] or "") if self._map.plain_text else values["text"] or "",
                    **{name: values[name] for name in NOTE_COLUMNS if name != "note_id"},
                )
            )
        except RecordError:
            if before is None:
                del self._writer.patients[patient_id]
            else:
                self._writer.patients[patient_id] = before
            raise
        self._as_of[patient_id] = max(day, self._as_of.get(patient_id, day))
        if split is not None:
            self.splits[patient_id] = split
        if coded:
            self._labels.add(patient_id, diagnoses, coded)
        return True

    def _present(self, name: str, cell: str | None) -> str | None:
        """Return a cell, None where it is blank; raises `RecordError` for an error, which Excel writes to a CSV too."""
        if cell in self._map.blank:
            return None
        if cell in EXCEL_ERRORS:
            raise RecordError(f"{name} holds {cell}, an error of Excel")
        return cell

    def _iso(self, name: str, text: str | None) -> str | None:
        if text is None or (self._file.format == "xlsx" and iso_day(text) is not None):
            return text  # a cell of Excel that is a date
        if name not in self._map.formats:
            if not is_day_or_year(text) if name == "dob" else iso_day(text) is None:
                raise RecordError(
                    f"{name} is not a date as ISO 8601 writes it (2024-01-31); say in [formats] of the column map how "
                    "it is written"
                )
            return text
        try:
            return datetime.strptime(text, self._map.formats[name]).isoformat()  # noqa: DTZ007 (the clinic's own clock)
        except ValueError:
            raise RecordError(f"{name} is not a date as formats.{name} writes it") from None

    def _read_split(self, patient_id: str, text: str | None) -> str | None:
        if "split" not in self._map.columns:
            return None
        try:
            split = parse_split(text or "")
        except CellError as error:
            raise RecordError(f"split {error}") from None
        if split == "validation":
            raise RecordError("split is validation, which an import does not carry; leave these patients out")
        if self.splits.get(patient_id, split) != split:
            raise RecordError("split differs from an earlier row of the same patient")
        return split

    def _read_codes(self, row: Row) -> tuple[frozenset[str], tuple[str, ...]]:
        if self._map.codes is None:
            return frozenset(), ()
        column, separator, system = self._map.codes
        cell = self._present("diagnoses.codes", row[column.lower()])
        codes = [] if cell is None else [code for code in cell.split(separator) if code.strip()]
        found: frozenset[str] = frozenset()
        for code in codes:
            found |= self._labels.book.meaning(system, code)
        return found, (system,) if codes else ()

    def _merged(self, before: PatientRecord | None, now: PatientRecord, day: date) -> PatientRecord:
        """Return what is known of a patient: facts that may change are those of the latest row that gives them."""
        if before is None:
            return now
        for name in _FIXED:
            values = {getattr(before, name), getattr(now, name)} - {None}
            if len(values) > 1:
                raise RecordError(f"{name} differs from an earlier row of the same patient")
        later = day >= self._as_of[now.patient_id]
        first, second = (now, before) if later else (before, now)
        facts = ("sex", "dob", "age", "name", "race", "marital_status", "occupation", "children")
        known = {
            name: getattr(first, name) if getattr(first, name) is not None else getattr(second, name) for name in facts
        }
        return replace(first, **known)


def _read_patient(patient_id: str, values: dict[str, str | None]) -> PatientRecord:
    return PatientRecord(
        patient_id=patient_id,
        sex=require_sex(values["sex"]),
        dob=require_birth(values["dob"], "dob"),
        age=require_age(values["age"]),
        name=values["name"],
        race=values["race"],
        marital_status=values["marital_status"],
        occupation=values["occupation"],
        children=values["children"],
    )
