"""The profiles that ship, on what notes by other hands were found to write otherwise. All people are invented."""

from pathlib import Path

import pytest

from clinaudit.templates.header_styles import HeaderFinder, find_unlisted
from clinaudit.templates.profile import load_profile
from clinaudit.templates.sections import LayoutReader


def facts_of(profile: str, note: str) -> dict[str, str]:
    found = LayoutReader(load_profile(Path(profile))).read(note).fields
    assert all(note[slice(*field.value_chars)] == field.value for field in found.values())
    return {fact: field.value for fact, field in found.items()}


NEUROLOGY = """CC: Falling to the left.

HX: This 67y/o RHF fell four times. MRI brain 11/18/92 was normal.

MEDS: Sinemet, Lopressor.

PMH: 1) Hypertension.

SHX: Retired.

FHX: unremarkable.

EXAM: Alert.

COURSE: She improved.
"""
#: Headings that the profile does not list, with a colon and alone on a line, end what stands before them.
CONSULT = """REASON FOR REFERRAL:  Ulcer of the foot.

HISTORY OF PRESENT ILLNESS:  The patient is a pleasant 54-year-old gentleman with an ulcer. SLEEP HISTORY: fair.

CORONARY RISK FACTORS:  Hypertension.

CURRENT MEDICATIONS:
1.  Aspirin.
2.  Lopressor.

PROBLEM LIST
1.  Diabetes.

IMPRESSION:  Ulcer.
"""


@pytest.mark.parametrize(
    ("note", "facts"),
    [
        (
            NEUROLOGY,
            {
                "chief_complaint": "Falling to the left.",
                "hpi": "This 67y/o RHF fell four times. MRI brain 11/18/92 was normal.",
                "medications": "Sinemet, Lopressor.",
                "age": "67",
                "sex": "F",
            },
        ),
        (
            CONSULT,
            {
                "chief_complaint": "Ulcer of the foot.",
                "hpi": "The patient is a pleasant 54-year-old gentleman with an ulcer. SLEEP HISTORY: fair.",
                "medications": "1.  Aspirin.\n2.  Lopressor.",
                "age": "54",
                "sex": "gentleman",
            },
        ),
    ],
)
def test_dictations_with_short_and_unlisted_headings(note: str, facts: dict[str, str]) -> None:
    assert facts_of("dictation", note) == facts


def test_a_visit_note_ends_its_history_at_a_heading_that_the_profile_does_not_list() -> None:
    note = (
        "CHIEF COMPLAINT\n\nCough.\n\nHISTORY OF PRESENT ILLNESS\n\nAda Lund is a 46-year-old female who coughs.\n"
        "NKDA\n\nSCREENING TOOLS\n\nNone.\n\nPLAN\n\nRest.\n"
    )
    facts = facts_of("capitals", note)
    assert facts["hpi"] == "Ada Lund is a 46-year-old female who coughs.\nNKDA"
    assert (facts["name"], facts["age"], facts["sex"]) == ("Ada Lund", "46", "female")


#: Banner, date, clinician, practice, name, birth, age, sex; None of what it does not hold.
BANNERS = [
    (
        "Patient: LUND, Ada (Mrs)\nNHS Number: 943 476 5919   Date of Birth: 03-Sep-1971   Gender: Female\n"
        "Registered GP: Dr Anil Ek   Practice: Elm Medical Centre\n\n"
        "05-Feb-2025 11:40   Elm Medical Centre   EK, Anil (Dr)",
        ("05-Feb-2025", "EK, Anil (Dr)", "Elm Medical Centre", "LUND, Ada (Mrs)", "03-Sep-1971", None, "Female"),
    ),
    (
        "05 Feb 2025 11:40 Elm Medical Centre  Surgery: Ek, Anil (Dr)\nMrs Ada Lund   03 Sep 1971   Female",
        ("05 Feb 2025", "Ek, Anil (Dr)", "Elm Medical Centre", "Mrs Ada Lund", "03 Sep 1971", None, "Female"),
    ),
    (
        "Mr Per LUND\nBorn 12-Mar-1956 (70y)   Gender Male   NHS No. 943 476 5919\nUsual GP EK, Anil (Dr)\n\n"
        "14-Aug-2026   Elm Health Centre   EK, Anil (Dr)",
        ("14-Aug-2026", "EK, Anil (Dr)", "Elm Health Centre", "Mr Per LUND", "12-Mar-1956", "70", "Male"),
    ),
    (
        "Patient: Per Lund   NHS Number: 943 476 5919   DOB: 12/03/1956   "
        "Registered GP: Dr Anil Ek, Elm Health Centre\n"
        "Date: 14/08/2026",
        ("14/08/2026", "Dr Anil Ek", "Elm Health Centre", "Per Lund", "12/03/1956", None, None),
    ),
    (
        "Name: LUND, Per (Mr)\nD.O.B.: 12 Mar 1956   Age: 70   Sex: M\nRegistered GP: Dr A Ek\n"
        "Registered Practice: Elm Health Centre\nConsultation Date: 14 Aug 2026",
        ("14 Aug 2026", "Dr A Ek", "Elm Health Centre", "LUND, Per (Mr)", "12 Mar 1956", "70", "M"),
    ),
    (
        "Elm Health Centre\n14/08/2026 09:10 Dr A Ek (GP Partner)\nPer Lund M 70 yrs DOB 12/03/1956",
        ("14/08/2026", "Dr A Ek", "Elm Health Centre", "Per Lund", "12/03/1956", "70", "M"),
    ),
    (
        "14/08/2026 Surgery Consultation Dr Anil Ek\nMr P Lund, 70 years, male",
        ("14/08/2026", "Dr Anil Ek", None, "Mr P Lund", None, "70", "male"),
    ),
    (
        "Consultation 05/02/2025 11:40 by Dr A Ek at Elm Medical Centre\nLund Ada (53F), dob 3/9/71",
        ("05/02/2025", "Dr A Ek", "Elm Medical Centre", "Lund Ada", "3/9/71", "53", "F"),
    ),
    (
        "05.02.25  Nurse P Ode  Elm Medical Centre\nLUND, Ada  F  53y  DOB 03.09.71  NHS 9434765919",
        ("05.02.25", "Nurse P Ode", "Elm Medical Centre", "LUND, Ada", "03.09.71", "53", "F"),
    ),
    (
        "NHS No 943 476 5919  LUND Ada  03/09/1971  F\nGP: Dr A Ek    Surgery: Elm Medical Centre    Date: 05/02/2025",
        ("05/02/2025", "Dr A Ek", "Elm Medical Centre", "LUND Ada", "03/09/1971", None, "F"),
    ),
]
FACTS = ("visit_date", "provider", "practice", "name", "dob", "age", "sex")


@pytest.mark.parametrize(("banner", "values"), BANNERS)
def test_british_banners(banner: str, values: tuple[str | None, ...]) -> None:
    facts = facts_of(
        "uk-gp", f"{banner}\n\nPC: Headache. HPC: Since Monday, worse at night.\nEx smoker\nPMH nil\nDH; none\n"
    )
    assert {fact: facts[fact] for fact in FACTS if fact in facts} == {
        fact: value for fact, value in zip(FACTS, values, strict=True) if value is not None
    }
    assert (facts["chief_complaint"], facts["hpi"]) == ("Headache.", "Since Monday, worse at night.\nEx smoker")


def test_shorthand_that_begins_with_its_day() -> None:
    note = (
        "22/11/25 14:05 – phone consult\n\nReason for visit\nF/U rash\n\nHPC\n69F retired nurse, itch 3/52\n"
        "Medication review due\n\nMedications: nil regular\nEx: NAD\nA/P\nemollient\n"
    )
    assert facts_of("uk-gp", note) == {
        "visit_date": "22/11/25",
        "chief_complaint": "F/U rash",
        "hpi": "69F retired nurse, itch 3/52\nMedication review due",
        "medications": "nil regular",
        "age": "69",
        "sex": "F",
    }


DISCHARGE = """
Name:  ___            Unit No:   ___

Admission Date:  ___     Discharge Date:   ___

Date of Birth:  ___    Sex:   F

Service: MEDICINE

Allergies:
Percocet

Attending: ___.

Chief Complaint:
Abdominal pain

Major Surgical or Invasive Procedure:
___ paracentesis

History of Present Illness:
PCP: ___, MD
Ms. ___ is a ___ yo with pain. Labs: normal

Past Medical History:
#asthma

Discharge Medications:
1.  Senna 8.6 mg PO BID
RX *senna 8.6 mg 1 tablet Disp #*10

Discharge Diagnosis:
PRIMARY DIAGNOSIS:
=====
# pain
"""


def test_a_discharge_summary_with_labels_within_its_history() -> None:
    assert facts_of("mimic-discharge", DISCHARGE) == {
        **dict.fromkeys(("name", "dob", "visit_date"), "___"),
        "provider": "___.",
        "sex": "F",
        "practice": "MEDICINE",
        "chief_complaint": "Abdominal pain",
        "hpi": "PCP: ___, MD\nMs. ___ is a ___ yo with pain. Labs: normal",
        "medications": "1.  Senna 8.6 mg PO BID\nRX *senna 8.6 mg 1 tablet Disp #*10",
    }


@pytest.mark.parametrize(
    ("style", "text", "found"),
    [
        ("inline", "Born at term. BIRTH HISTORY: well. HISTORY: cough.", ["HISTORY:"]),
        (
            "lead_in",
            "Ex smoker\nEx NAD\nMedication review done\nMedication; none\nHistory of asthma",
            ["Ex", "Medication;"],
        ),
    ],
)
def test_a_word_of_another_heading_or_of_prose_is_no_header(style: str, text: str, found: list[str]) -> None:
    finder = HeaderFinder(["history", "ex", "medication"], [style])
    assert [text[slice(*span)] for _, span in finder.find(text)] == found


@pytest.mark.parametrize(
    ("styles", "found"),
    [
        (("capitals_colon",), ["CORONARY RISK FACTORS: none", "BP: 120/80"]),
        (("capitals",), ["PROBLEM LIST"]),
        (("colon", "lead_in", "inline"), []),
    ],
)
def test_headings_that_no_profile_lists(styles: tuple[str, ...], found: list[str]) -> None:
    text = "Plan: x\nCORONARY RISK FACTORS: none\nBP: 120/80\n\nPROBLEM LIST\nASPIRIN\n\nLOPRESSOR 50 MG\n\nA\n"
    lines = [text[start : text.index("\n", start)] for start in sorted(find_unlisted(text, styles))]
    assert lines == found
