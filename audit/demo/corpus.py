"""Writes the demo's corpus directory (docs/corpus-format.md), with a table of the planted diagnoses (ground truth).

Owns the files and their columns. Knows nothing of wording. Rows and bytes depend on the seed and the sizes alone.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from clinaudit.audit.demo.notes import WrittenVisit, write_notes
from clinaudit.audit.demo.population import DIAGNOSIS_IDS, Patient, draw_population
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.errors import StorageError, UsageError

#: The least that reached 40 matched patients in every cell of every cohort (see tests/audit/demo/test_demo_corpus.py).
_PATIENTS_PER_ARM = 130
#: The planted diagnoses. The file marks a corpus of the demo, which may be overwritten; any other corpus may not.
TRUTH_FILE = "truth.jsonl"
NOTES_FILE = "notes.jsonl"
PATIENTS_FILE = "patients.csv"
DIAGNOSES_FILE = "diagnoses.csv"
_PATIENT_COLUMNS = (
    *("patient_id", "split", "age", "sex", "name"),
    *("dob", "race", "marital_status", "occupation", "children"),
)
_NOTE_COLUMNS = ("note_id", "text", "visit_date", "provider", "practice")


def write_demo_corpus(directory: Path, *, seed: int, patients_per_arm: int = _PATIENTS_PER_ARM) -> None:
    """Write notes, patients, diagnoses and truth into `directory`; each file appears whole or not at all.

    Raises `UsageError` where the directory holds something that the demo did not make, `StorageError` where it
    cannot be written. Writing again gives the same bytes, so that a killed run is simply run again.
    """
    patients = draw_population(seed=seed, patients_per_arm=patients_per_arm)
    charts = [(patient, write_notes(patient, seed=seed)) for patient in patients]
    try:
        if directory.exists() and any(directory.iterdir()) and not (directory / TRUTH_FILE).exists():
            raise UsageError(f"{directory} holds files that the demo did not make; give the demo another folder")
        directory.mkdir(parents=True, exist_ok=True)
        write_atomically(directory / TRUTH_FILE, _as_lines(_truth_row(*chart) for chart in charts))
        rows = ([getattr(one, "arm" if name == "split" else name) for name in _PATIENT_COLUMNS] for one in patients)
        write_atomically(directory / PATIENTS_FILE, _as_csv(_PATIENT_COLUMNS, rows))
        flags = (
            (patient.patient_id, diagnosis, "true" if patient.has(diagnosis) else "false")
            for patient in patients
            for diagnosis in DIAGNOSIS_IDS
        )
        write_atomically(directory / DIAGNOSES_FILE, _as_csv(("patient_id", "diagnosis", "present"), flags))
        texts = (
            {
                "patient_id": patient.patient_id,
                **{name: str(getattr(note, name)) for name in _NOTE_COLUMNS},
                "note_type": "progress note",
            }
            for patient, notes in charts
            for note in notes
        )
        write_atomically(directory / NOTES_FILE, _as_lines(texts))
    except OSError as error:
        raise StorageError(
            f"cannot write the demo corpus to {directory} ({error.strerror}); make room or give another folder"
        ) from error


def _truth_row(patient: Patient, notes: Sequence[WrittenVisit]) -> dict[str, object]:
    return {
        "patient_id": patient.patient_id,
        "split": patient.arm,
        "diagnoses": {diagnosis: patient.has(diagnosis) for diagnosis in DIAGNOSIS_IDS},
        "sensitive_medications": [p.medication for p in patient.sensitive if p.medication],
        "other_medications": [chronic.medication for chronic in patient.conditions],
        "mentions": [{"note_id": note.note_id, **asdict(mention)} for note in notes for mention in note.mentions],
    }


def _as_lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()
