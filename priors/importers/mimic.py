"""MIMIC-IV-Note 2.2 with the `hosp` tables of MIMIC-IV (mimic.mit.edu/docs/iv): `discharge` and `radiology` notes.

Sources: the documentation of the modules `note` and `hosp`. A patient's age is `anchor_age` in the year `anchor_year`,
moved to the year of the latest note, as that documentation says. MIMIC has no names, birth dates, providers
or practices.
"""

import re
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers.corpus_writer import CorpusWriter, NoteRecord, PatientRecord
from clinaudit.priors.importers.ledger import RecordError
from clinaudit.priors.importers.tables import Reader, Row, find_tables, required
from clinaudit.priors.importers.values import Labels, require_sex

NOTE_TABLES = ("discharge", "radiology")
PATIENT_TABLE = "patients"
#: "patients over 89 ... have been grouped together": their `anchor_age` is 91, whatever it was.
_GROUPED_AGE = 89
_WHOLE = re.compile(r"[0-9]{1,4}")
#: Words of `race` and `marital_status` that say nothing.
_UNKNOWN_WORDS = frozenset({"UNKNOWN", "UNABLE TO OBTAIN", "PATIENT DECLINED TO ANSWER", "?"})


def find_mimic(source: Path) -> dict[str, DataFile]:
    """Return the tables that are used; raises `BadInputError` where there are no notes or no patients."""
    files = find_tables(source, {*NOTE_TABLES, PATIENT_TABLE, "admissions", "diagnoses_icd"})
    if not set(NOTE_TABLES) & set(files):
        raise BadInputError(
            "SOURCE holds neither discharge.csv.gz nor radiology.csv.gz of MIMIC-IV-Note; give the folder that holds "
            "the folders note/ and hosp/"
        )
    if PATIENT_TABLE not in files:
        raise BadInputError(
            "SOURCE holds no patients.csv.gz of MIMIC-IV (module hosp); give the folder that holds note/ and hosp/"
        )
    return files


class MimicExport:
    """Reads the tables of one export."""

    def __init__(self, files: dict[str, DataFile], writer: CorpusWriter, labels: Labels) -> None:
        self._files = files
        self._writer = writer
        self._labels = labels
        #: By patient: time of the latest admission, race, marital status.
        self._admissions: dict[str, tuple[str, str | None, str | None]] = {}

    def read(self, reader: Reader) -> None:
        """Read admissions, patients, notes and, of the patients with notes, diagnoses."""
        files = self._files
        if "admissions" in files:
            columns: tuple[str, ...] = ("subject_id", "admittime", "race", "marital_status")
            reader.each("admissions", files["admissions"], self._add_admission, required=columns)
        columns = ("subject_id", "gender", "anchor_age", "anchor_year")
        reader.each(PATIENT_TABLE, files[PATIENT_TABLE], self._add_patient, required=columns)
        self._admissions.clear()
        columns = ("note_id", "subject_id", "note_type", "charttime", "text")
        for table in NOTE_TABLES:
            if table in files:
                reader.each(table, files[table], self._add_note, required=columns, exact=("text",))
        if "diagnoses_icd" in files:
            columns = ("subject_id", "icd_code", "icd_version")
            reader.each("diagnoses_icd", files["diagnoses_icd"], self._add_code, required=columns)

    def _add_admission(self, row: Row) -> bool:
        patient, time = required(row, "subject_id"), row["admittime"] or ""
        known = self._admissions.get(patient)
        if known is None or time >= known[0]:
            self._admissions[patient] = (time, _word(row["race"]), _word(row["marital_status"]))
        return True

    def _add_patient(self, row: Row) -> bool:
        patient = required(row, "subject_id")
        age, year = row["anchor_age"], row["anchor_year"]
        if not (age and year and _WHOLE.fullmatch(age) and _WHOLE.fullmatch(year)):
            raise RecordError("anchor_age or anchor_year is not a whole number")
        grouped = int(age) > _GROUPED_AGE
        _, race, marital_status = self._admissions.get(patient, ("", None, None))
        self._writer.add_patient(
            PatientRecord(
                patient_id=patient,
                age="90+" if grouped else None,
                age_in_year=None if grouped else (int(age), int(year)),
                sex=require_sex(row["gender"]),
                race=race,
                marital_status=marital_status,
            )
        )
        return True

    def _add_note(self, row: Row) -> bool:
        self._writer.add_note(
            NoteRecord(
                patient_id=required(row, "subject_id"),
                note_id=required(row, "note_id"),
                text=row["text"] or "",
                visit_date=row["charttime"],
                note_type=row["note_type"],
            )
        )
        return True

    def _add_code(self, row: Row) -> bool:
        patient = required(row, "subject_id")
        if patient not in self._writer.patients:
            raise RecordError("its patient is not in the export")
        if patient not in self._writer.latest_visit:
            return False
        code = required(row, "icd_code")
        match row["icd_version"]:
            case "10":
                self._labels.add(patient, self._labels.book.meaning("icd10", code), ("icd10",))
            case "9":  # not read: the panel has no codes of ICD-9
                self._labels.add(patient, frozenset(), ("icd9",))
            case _:
                raise RecordError("icd_version is neither 9 nor 10")
        return True


def _word(text: str | None) -> str | None:
    return None if text in _UNKNOWN_WORDS else text
