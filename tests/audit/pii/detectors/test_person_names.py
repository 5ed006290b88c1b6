"""Names by what stands beside them; eponyms, drugs, findings and headings are none."""

import pytest
from support.pii.found_spans import recognized

from clinaudit.audit.pii.detectors.person_names import NameRecognizer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Patient: Birgit B. Cranecott\nDOB", [("patient_name", "Birgit B. Cranecott")]),
        ("patient: birgit b. cranecott\ndob: 1", [("patient_name", "birgit b. cranecott")]),
        ("Name: CRANECOTT, BIRGIT", [("patient_name", "CRANECOTT, BIRGIT")]),
        ("Patient Name: María de la Cruz", [("patient_name", "María de la Cruz")]),
        ("provider: orla estermont, md\n", [("clinician_name", "orla estermont")]),
        ("reviewed on 6/13/2022 by Estermont, Orla", [("clinician_name", "Estermont, Orla")]),
        ("Electronically signed by Jane Doe, RN", [("clinician_name", "Jane Doe")]),
        ("seen with Betty Ross, PA-C", [("clinician_name", "Betty Ross")]),
        ("Dr. O'Neil agreed", [("clinician_name", "O'Neil")]),
        ("dr. estermont agreed", [("clinician_name", "estermont")]),
        ("Her wife Mary called", [("relative_name", "Mary")]),
        ("his son (Tom) and daughter, Ann-Sophie, came", [("relative_name", "Tom"), ("relative_name", "Ann-Sophie")]),
        ("Emergency contact: John Lund", [("relative_name", "John Lund")]),
        ("Martha Collins is a 50-year-old female", [("patient_name", "Martha Collins")]),
        ("Ada Lund (DOB 1/2/1950)", [("patient_name", "Ada Lund")]),
        ("Ms. Lund is well", [("full_name", "Lund")]),
        ("My name is Ada Lund.", [("full_name", "Ada Lund")]),
        ("Patient initials: A.L.", [("patient_name", "A.L.")]),
        ("goes by Addie", [("nickname", "Addie")]),
        ("Dr. Foley inserted a Foley catheter", [("clinician_name", "Foley")]),
        ("Patient: John Parkinson", [("patient_name", "John Parkinson")]),
        # "A" and "I" are initials as well.
        ("Mr. John A. Lund was seen", [("full_name", "John A. Lund")]),
        ("patient: john a. lund\ndob", [("patient_name", "john a. lund")]),
        ("Name: Lund, Ada I.\nDOB", [("patient_name", "Lund, Ada I.")]),
        ("patient: Ada I Lund\n", [("patient_name", "Ada I Lund")]),
        ("signed by A. Estermont, MD", [("clinician_name", "A. Estermont")]),
        ("Mrs. I. Lund agrees", [("full_name", "I. Lund")]),
        ("A. Lund is a 40-year-old woman", [("patient_name", "A. Lund")]),
        ("his son Tom I saw before", [("relative_name", "Tom")]),
    ],
)
def test_a_name_is_told_by_what_stands_beside_it(text, expected):
    assert recognized(NameRecognizer(), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            *("Parkinson's disease", "A Foley catheter was placed.", "Crohn disease is stable.", "Bell's palsy"),
            *("Wright stain",),
        ),
        *(
            "Graves Disease is controlled.",
            "Foley Catheter was removed.",
            "seen by Doppler Ultrasound",
            "Mother: Diabetes",
        ),
        *("Father with Hypertension", "Chief Complaint is pain", "HISTORY OF PRESENT ILLNESS\n\nShe", "Patient: Alive"),
        *(
            "patient reports chest pain",
            "Metoprolol Tartrate 25 mg",
            "Physical Exam was normal",
            "Mother Alive and well",
        ),
        *("Past Medical History: Diabetes", "name: unknown", "provider: see above", "Review of Systems: negative"),
        *("A Holter was worn.", "A. Colonoscopy was done.", "I. Lungs has cleared.", "Hepatitis A. Titers was drawn"),
        *("Congestive Heart Failure has worsened.", "his son is well", "brother, deceased", "patient is here today"),
    ],
)
def test_words_of_a_note_are_no_names(text):
    assert recognized(NameRecognizer(), text) == []


def test_a_name_is_found_again_whole_and_by_its_parts():
    text = "Patient: Ada Lund\nShe came. Ms. Lund sat. Ada smiled; Lund's sister too. Lundgren did not."
    assert recognized(NameRecognizer(), text) == [
        ("patient_name", "Ada Lund"),
        ("patient_name", "Lund"),
        ("patient_name", "Lund"),
    ]


def test_an_eponym_is_not_found_again_as_a_part_of_a_name():
    text = "Patient: John Parkinson\nNo signs of Parkinson disease."
    assert recognized(NameRecognizer(), text) == [("patient_name", "John Parkinson")]
