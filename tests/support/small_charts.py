"""A corpus of a few patients in the default note template, without ground truth; enough for eight questions on most."""

import json
from pathlib import Path

#: Complaint, condition, code, drug, allergy, operation, relative, pressure; of each patient.
_PATIENTS = """\
ear pressure; gout; m10.9; allopurinol 300 mg daily; latex (itching); appendectomy; aunt; 120/80
heel pain; asthma; j45.30; albuterol inhaler 2 puffs as needed; sulfa (rash); tonsillectomy; uncle; 131/77
sore throat; hypertension; i10; lisinopril 20 mg daily; penicillin (hives); hernia repair; mother; 150/91
low back pain; osteoporosis; m81.0; alendronate 70 mg weekly; codeine (nausea); cataract removal; father; 118/64
"""
_NOTE = """\
patient: {name}
dob: 03/0{number}/1970
visit date: 0{visit}/12/2024
provider: Orla Estermont, MD
location: Silverton Square Clinic
cc: {complaint} for {number} weeks
hpi: 54-year-old male with {complaint}. {condition}: stable, seen {visit} times.
past medical history:
{condition}; dx'd in 200{number};
sciatica; dx'd in 201{number};
surgical history: {operation}
family history:
{relative}: positive for stroke number {number};
tobacco/alcohol/supplements: smokes {number} cigars a month
current problems:
{condition} ({code})
sciatica (m54.3)
current medications:
{drug}
allergies: {allergy}
vitals: bp {pressure}, p 7{number}, wt 1{visit}{number} lbs
assessment: strain of type {visit}{number}
plan: rest for {number} nights. call back.
"""


def write_small_corpus(directory: Path, *, last: str = "") -> Path:
    """Write four patients of two visits, and one whose only note is `last`; the last two are held out from training."""
    directory.mkdir(parents=True)
    notes, patients = [], []
    for number, line in enumerate(_PATIENTS.splitlines(), start=1):
        complaint, condition, code, drug, allergy, operation, relative, pressure = line.split("; ")
        for visit in (1, 2):
            text = _NOTE.format(
                name=f"Ferdinand Q. Stonebury{'abcd'[number - 1]}",
                number=number,
                visit=visit,
                complaint=complaint if visit == 2 else f"check of {complaint}",
                condition=condition,
                code=code,
                drug=drug,
                allergy=allergy,
                operation=operation,
                relative=relative,
                pressure=pressure if visit == 2 else f"14{number}/8{number}",
            )
            notes.append({"patient_id": f"P{number}", "note_id": f"P{number}-{visit}", "text": text})
        patients.append({"patient_id": f"P{number}", "split": "train" if number < 4 else "nontrain"})
    if last:
        notes.append({"patient_id": "P9", "note_id": "P9-1", "text": last})
        patients.append({"patient_id": "P9", "split": "nontrain"})
    for name, rows in (("notes", notes), ("patients", patients)):
        (directory / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return directory
