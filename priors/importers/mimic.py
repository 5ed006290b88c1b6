"""MIMIC-IV-Note 2.2 with the `hosp` tables of MIMIC-IV (mimic.mit.edu/docs/iv): `discharge` and `radiology` notes.

Sources: the documentation of the modules `note` and `hosp`. A patient's age is `anchor_age` in the year `anchor_year`,
moved to the year of the latest note, as that documentation says. MIMIC has no names, birth dates, providers
or practices.
"""

import re
from typing import ClassVar

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers.corpus_writer import NotesRow, PatientRecord
from clinaudit.priors.importers.export import ImportRequest, TableExport
from clinaudit.priors.importers.ledger import RecordError
from clinaudit.priors.importers.tables import Columns, Row, find_tables, required
from clinaudit.priors.importers.values import require_sex

_NOTE_TABLES = ("discharge", "radiology")
#: "patients over 89 ... have been grouped together": their `anchor_age` is 91, whatever it was.
_GROUPED_AGE = 89
_WHOLE = re.compile(r"[0-9]{1,4}")
#: Words of `race` and `marital_status` that say nothing.
_UNKNOWN_WORDS = frozenset({"UNKNOWN", "UNABLE TO OBTAIN", "PATIENT DECLINED TO ANSWER", "?"})


class MimicExport(TableExport):
    """Admissions, patients, notes and, of the patients with notes, diagnoses."""

    patient_table, code_table = "patients", "diagnoses_icd"
    columns: ClassVar = {
        "admissions": Columns.of("subject_id admittime race marital_status"),
        "patients": Columns.of("subject_id gender anchor_age anchor_year"),
        **dict.fromkeys(_NOTE_TABLES, Columns.of("note_id subject_id note_type charttime text", exact="text")),
        "diagnoses_icd": Columns.of("subject_id icd_code icd_version"),
    }

    def __init__(self, request: ImportRequest) -> None:
        super().__init__(request)
        #: By patient: time of the latest admission, race, marital status.
        self._admissions: dict[str, tuple[str, str | None, str | None]] = {}

    def _find(self) -> dict[str, DataFile]:
        files = find_tables(self.request.source, self.columns)
        if files.keys().isdisjoint(_NOTE_TABLES):
            raise BadInputError(
                "SOURCE holds neither discharge.csv.gz nor radiology.csv.gz of MIMIC-IV-Note; give the folder that "
                "holds the folders note/ and hosp/"
            )
        if "patients" not in files:
            raise BadInputError(
                "SOURCE holds no patients.csv.gz of MIMIC-IV (module hosp); give the folder that holds note/ and hosp/"
            )
        return files

    def _read(self) -> None:
        self.each("admissions", self._add_admission)
        self.each("patients", self._add_patient)
        self._admissions.clear()
        for table in _NOTE_TABLES:
            self.each(table, self._add_note)
        self.each("diagnoses_icd", self._add_code)

    def _add_admission(self, row: Row) -> None:
        patient, time = required(row, "subject_id"), row["admittime"] or ""
        known = self._admissions.get(patient)
        if known is None or time >= known[0]:
            self._admissions[patient] = (time, _word(row["race"]), _word(row["marital_status"]))

    def _add_patient(self, row: Row) -> None:
        patient = required(row, "subject_id")
        age, year = row["anchor_age"], row["anchor_year"]
        if not (age and year and _WHOLE.fullmatch(age) and _WHOLE.fullmatch(year)):
            raise RecordError("anchor_age or anchor_year is not a whole number")
        grouped = int(age) > _GROUPED_AGE
        _, race, marital_status = self._admissions.get(patient, ("", None, None))
        self.writer.add_patient(
            PatientRecord(
                patient_id=patient,
                age="90+" if grouped else None,
                age_in_year=None if grouped else (int(age), int(year)),
                sex=require_sex(row["gender"]),
                race=race,
                marital_status=marital_status,
            )
        )

    def _add_note(self, row: Row) -> None:
        self.writer.add_note(
            NotesRow(
                patient_id=required(row, "subject_id"),
                note_id=required(row, "note_id"),
                text=row["text"] or "",
                visit_date=row["charttime"],
                note_type=row["note_type"],
            )
        )

    def _add_code(self, row: Row) -> bool:
        patient = required(row, "subject_id")
        if not self.has_notes(patient):
            return False
        code = required(row, "icd_code")
        match row["icd_version"]:
            case "10":
                self.labels.add(patient, self.labels.book.meaning("icd10", code), ("icd10",))
            case "9":  # not read: the panel has no codes of ICD-9
                self.labels.add(patient, frozenset(), ("icd9",))
            case _:
                raise RecordError("icd_version is neither 9 nor 10")
        return True


def _word(text: str | None) -> str | None:
    return None if text in _UNKNOWN_WORDS else text
