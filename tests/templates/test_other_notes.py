"""The profiles that ship, each on notes in its layout that were not used to write it. All people are invented."""

from pathlib import Path

import pytest

from clinaudit.templates.names import PREAMBLE
from clinaudit.templates.profile import load_profile
from clinaudit.templates.sections import LayoutReader, SectionResolver

#: Consultations as the systems of British general practice print them, without the shorthand below their banners:
#: banner, date, clinician, practice, name, birth, age or None, sex.
CONSULTATIONS = [
    (
        "Patient: LUND, Ada (Ms)   Date of Birth: 02-Jan-1989 (34y)   Gender: Female   NHS Number: 943 476 5919\n"
        "01-Mar-2023 10:15   The Elms Surgery   SMITH, John (Dr)",
        ("01-Mar-2023", "SMITH, John (Dr)", "The Elms Surgery", "LUND, Ada (Ms)", "02-Jan-1989", "34", "Female"),
    ),
    (
        "01 Mar 2023 10:15 - Surgery: Dr John Smith (GP) at The Elms Surgery\nAda Lund, DOB 02 Jan 1989, F",
        ("01 Mar 2023", "Dr John Smith", "The Elms Surgery", "Ada Lund", "02 Jan 1989", None, "F"),
    ),
    (
        "01/03/2023 10:15 Dr A Smith, The Surgery\nAda Lund DOB 02/01/1989 F NHS No: 943 476 5919",
        ("01/03/2023", "Dr A Smith", "The Surgery", "Ada Lund", "02/01/1989", None, "F"),
    ),
    (
        "01/03/2023 Dr A Smith (The Elms Surgery)\nAda Lund DOB: 02/01/1989 (34 yrs) Female",
        ("01/03/2023", "Dr A Smith", "The Elms Surgery", "Ada Lund", "02/01/1989", "34", "Female"),
    ),
    (
        "The Elms Medical Centre\nDate: 01/03/2023   GP: Dr A Smith\nName: Ada Lund   DOB: 02/01/1989   Sex: F",
        ("01/03/2023", "Dr A Smith", "The Elms Medical Centre", "Ada Lund", "02/01/1989", None, "F"),
    ),
    (
        "The Elms Surgery 01/03/2023 Dr A Smith\nLUND, Ada  02/01/1989  Female",
        ("01/03/2023", "Dr A Smith", "The Elms Surgery", "LUND, Ada", "02/01/1989", None, "Female"),
    ),
    (
        "Consultation date: 01/03/2023\nConsulter: Dr A Smith\nGP practice: The Elms Surgery\nPatient name: Ada Lund\n"
        "Date of birth: 02/01/1989\nGender: F",
        ("01/03/2023", "Dr A Smith", "The Elms Surgery", "Ada Lund", "02/01/1989", None, "F"),
    ),
    (
        "GP Surgery, The Elms Surgery\nSMITH, John (Dr)  01-Mar-2023 10:15\nMs Ada LUND  DOB: 02-Jan-1989  34y F",
        ("01-Mar-2023", "SMITH, John (Dr)", "The Elms Surgery", "Ms Ada LUND", "02-Jan-1989", "34", "F"),
    ),
    (
        "Wed 01 Mar 2023, Dr Smith | The Elms Surgery\nAda Lund | F | DOB 02/01/1989",
        ("01 Mar 2023", "Dr Smith", "The Elms Surgery", "Ada Lund", "02/01/1989", None, "F"),
    ),
    (
        "01/03/23 Nurse J Ek - High Street Practice\nMrs Ada Lund 34y F d.o.b. 02.01.89",
        ("01/03/23", "Nurse J Ek", "High Street Practice", "Mrs Ada Lund", "02.01.89", "34", "F"),
    ),
]
FACTS = ("visit_date", "provider", "practice", "name", "dob", "age", "sex")


@pytest.mark.parametrize(("banner", "values"), CONSULTATIONS)
def test_consultation_of_british_general_practice(banner: str, values: tuple[str | None, ...]) -> None:
    history = "3/7 dry cough, Dr Ode seen 01/02/2022."
    note = f"{banner}\n\nProblem Cough (First)\nHistory {history}\nExamination clear\nPlan rest\n"
    found = LayoutReader(load_profile(Path("uk-gp"))).read(note).fields
    assert {fact: found[fact].value for fact in FACTS if fact in found} == {
        fact: value for fact, value in zip(FACTS, values, strict=True) if value is not None
    }
    assert found["chief_complaint"].value == "Cough (First)"
    assert found["hpi"].value == history


DISCHARGE = """
Name:  ___                   Unit No:   ___

Admission Date:  ___              Discharge Date:   ___

Date of Birth:  ___             Sex:   M

Service: SURGERY

Allergies:
Penicillins / shellfish derived

Attending: ___

Chief Complaint:
Right lower quadrant pain

Major Surgical or Invasive Procedure:
Laparoscopic appendectomy ___


History of Present Illness:
Mr. ___ is a ___ yo M with no PMH who presents with 1 day of
RLQ pain. Pain: began periumbilical.

Past Medical History:
PMH: HTN
PSH: none

Social History:
___
Family History:
Non-contributory

Physical Exam:
ADMISSION PHYSICAL EXAM:
VS: T 98.4 HR 88
DISCHARGE PHYSICAL EXAM:
VS: stable

Pertinent Results:
ADMISSION LABS
___ 02:15PM BLOOD WBC-14.2* RBC-4.51

Brief Hospital Course:
Mr. ___ was admitted.
TRANSITIONAL ISSUES:
[ ] follow up

Medications on Admission:
1. Lisinopril 10 mg PO DAILY

Discharge Medications:
1.  Acetaminophen 650 mg PO Q6H
RX *oxycodone 5 mg 1 tablet(s) by mouth every four (4) hours Disp #*10 Tablet Refills:*0

Discharge Disposition:
Home With Service

Facility:
___

Discharge Diagnosis:
Acute appendicitis

Discharge Condition:
Mental Status: Clear and coherent.

Discharge Instructions:
Dear Mr. ___,

Followup Instructions:
___
"""
CONSULT = """PATIENT: Ada Lund
DOB: 01/02/1980
MEDICAL RECORD NUMBER: 4711
DATE OF CONSULTATION: 03/04/2024
CONSULTING PHYSICIAN: Jo Ek, MD

REASON FOR CONSULTATION: Chest pain.

HISTORY OF PRESENT ILLNESS: A 44-year-old woman with pain since Monday. PAST MEDICAL HISTORY: Hypertension. \
PAST SURGICAL HISTORY: None. MEDICATIONS: Lisinopril 10 mg daily. ALLERGIES: NKDA. SOCIAL HISTORY: Nonsmoker.

PHYSICAL EXAMINATION: VITAL SIGNS: BP 130/80. LUNGS: Clear.

LABORATORY DATA: Troponin negative.

IMPRESSION:
1. Chest pain, atypical.

PLAN:
1. Stress test.
"""
LETTER = """RE: Ada Lund
DOB: 01/02/1980
DATE OF VISIT: 03/04/2024
CLINIC: Elm Clinic

Dear Dr. Poole:

CHIEF COMPLAINT: Headache.

HISTORY OF PRESENT ILLNESS: Mrs. Lund is a teacher.

CURRENT MEDICATIONS: Topiramate.

ASSESSMENT AND PLAN: Migraine.

Sincerely,
Jo Ek, MD
"""
VISIT = """CHIEF COMPLAINT
Low mood.

HISTORY OF PRESENT ILLNESS
Ms. Lund is a 34 y.o. female with low mood.

PAST SURGICAL HISTORY
None

CURRENT MEDICATIONS
Sertraline 50 mg

LABORATORY DATA
TSH 2

IMPRESSION
Depression.

PLAN
CBT.

FOLLOW-UP
2 weeks
"""
# (profile, note, facts, sections)
NOTES = [
    (
        "mimic-discharge",
        DISCHARGE,
        {
            **dict.fromkeys(("name", "dob", "visit_date", "provider"), "___"),
            "sex": "M",
            "practice": "SURGERY",
            "chief_complaint": "Right lower quadrant pain",
            "hpi": "Mr. ___ is a ___ yo M with no PMH who presents with 1 day of\nRLQ pain. Pain: began periumbilical.",
        },
        [
            *("Encounter", "Allergies", "Encounter", "Chief Complaint", "Procedure", "History of Present Illness"),
            *("Past Medical History", "Past Medical History", "Surgical History", "Social History", "Family History"),
            *("Physical Exam",) * 3,
            *("Lab / Test Results", "Hospital Course", "Hospital Course", "Medications on Admission"),
            *("Discharge Medications", "Discharge Disposition", "Discharge Disposition", "Discharge Diagnosis"),
            *("Discharge Condition", "Patient Recommendations", "Patient Recommendations"),
        ],
    ),
    (
        "dictation",
        CONSULT,
        {
            "name": "Ada Lund",
            "dob": "01/02/1980",
            "visit_date": "03/04/2024",
            "provider": "Jo Ek, MD",
            "chief_complaint": "Chest pain.",
            "hpi": "A 44-year-old woman with pain since Monday.",
            "age": "44",
            "sex": "woman",
        },
        [
            *("Signature", "Chief Complaint", "History of Present Illness", "Past Medical History", "Surgical History"),
            *("Medications", "Allergies", "Social History", "Physical Exam", "Vitals", "Lab / Test Results"),
            *("Assessment", "Plan"),
        ],
    ),
    (
        "dictation",
        LETTER,
        {
            "name": "Ada Lund",
            "dob": "01/02/1980",
            "visit_date": "03/04/2024",
            "practice": "Elm Clinic",
            "chief_complaint": "Headache.",
            "hpi": "Mrs. Lund is a teacher.",
        },
        ["Chief Complaint", "History of Present Illness", "Medications", "Assessment and Plan"],
    ),
    (
        "capitals",
        VISIT,
        {
            "name": "Ms. Lund",
            "age": "34",
            "sex": "female",
            "chief_complaint": "Low mood.",
            "hpi": "Ms. Lund is a 34 y.o. female with low mood.",
        },
        [
            *("Chief Complaint", "History of Present Illness", "Surgical History", "Medications"),
            *("Lab / Test Results", "Assessment", "Plan", "Patient Recommendations"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("name", "note", "facts", "sections"), NOTES, ids=[f"{note[0]} {at}" for at, note in enumerate(NOTES)]
)
def test_profile_reads_another_note_of_its_kind(
    name: str, note: str, facts: dict[str, str], sections: list[str]
) -> None:
    profile = load_profile(Path(name))
    found = LayoutReader(profile).read(note).fields
    assert {fact: field.value for fact, field in found.items() if fact != "medications"} == facts
    assert [section.name for section in SectionResolver(profile).sections(note) if section.name != PREAMBLE] == sections
