"""The profiles that ship, each on a note of its kind (docs/note-templates.md). All people are invented."""

from importlib.resources import files
from pathlib import Path

import pytest
from support.sample_notes import DICTATION, MIMIC, UK_GP

from clinaudit.templates.names import PREAMBLE
from clinaudit.templates.profile import DEFAULT_PROFILE, SHIPPED, load_profile
from clinaudit.templates.sections import LayoutReader, SectionResolver

# (profile, note, fact values, section names in order)
NOTES = [
    (
        "dictation",
        DICTATION,
        {
            "name": "Ada Lund",
            "dob": "01/02/1980",
            "visit_date": "03/04/2024",
            "provider": "Jo Ek, MD",
            "chief_complaint": "Cough.",
            "age": "44",
            "hpi": "This is a 44-year-old who coughs. No other Plan: none.",
            "medications": "Salbutamol, as needed.",
        },
        [
            *(PREAMBLE, "Signature", "Chief Complaint", "History of Present Illness", "Past Medical History"),
            *("Medications", "Allergies", "Physical Exam", "Assessment", "Plan"),
        ],
    ),
    (
        "mimic-discharge",
        MIMIC,
        {
            "name": "___",
            "dob": "___",
            "visit_date": "___",
            "provider": "___.",
            "sex": "F",
            "practice": "MEDICINE",
            "chief_complaint": "Worsening abdominal distension",
            "hpi": "___ HCV cirrhosis c/b ascites presents with distension. \nShe denies fever.",
            "medications": "1. Furosemide 40 mg PO DAILY \n2. Tiotropium Bromide 1 CAP IH DAILY",
        },
        [
            *(PREAMBLE, "Encounter", "Allergies", "Encounter", "Chief Complaint", "Procedure"),
            *("History of Present Illness", "Past Medical History", "Social History", "Family History"),
            *("Physical Exam", "Lab / Test Results", "Hospital Course", "Medications on Admission"),
            *("Discharge Medications", "Discharge Disposition", "Discharge Diagnosis", "Discharge Condition"),
            *("Patient Recommendations", "Patient Recommendations"),
        ],
    ),
    (
        "uk-gp",
        UK_GP,
        {
            "visit_date": "01/03/2023",
            "provider": "Dr A Smith",
            "practice": "The Surgery",
            "name": "Ada Lund",
            "age": "34",
            "sex": "F",
            "dob": "02/01/89",
            "chief_complaint": "low mood 3/52",
            "hpi": "gradual onset, poor sleep.\nNo TOSH.",
            "medications": "salbutamol prn",
        },
        [
            *(PREAMBLE, "Chief Complaint", "History of Present Illness", "Past Medical History", "Medications"),
            *("Family History", "Social History", "Physical Exam", "Assessment", "Plan"),
        ],
    ),
]


def test_these_ship_and_lie_in_the_package() -> None:
    assert SHIPPED == ("capitals", "dictation", "mimic-discharge", "soap", "uk-gp")
    assert all((files("clinaudit.templates") / "profiles" / f"{name}.toml").is_file() for name in SHIPPED)
    assert DEFAULT_PROFILE.stem == "soap"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profile_is_named_as_its_file(name: str) -> None:
    profile = load_profile(Path(name))
    assert profile.name == name
    assert [layout.name for layout in profile.layouts] == [name]


@pytest.mark.parametrize(("name", "note", "facts", "sections"), NOTES, ids=[note[0] for note in NOTES])
def test_shipped_profile_reads_a_note_of_its_kind(
    name: str, note: str, facts: dict[str, str], sections: list[str]
) -> None:
    profile = load_profile(Path(name))
    read = LayoutReader(profile).read(note)
    assert {fact: field.value for fact, field in read.fields.items()} == facts
    assert all(note[slice(*field.value_chars)] == field.value for field in read.fields.values())
    assert [section.name for section in SectionResolver(profile).sections(note)] == sections


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("3/4/24 14:05 Nurse Jo Ek at Elm Health Centre", ("3/4/24", "Nurse Jo Ek", "Elm Health Centre")),
        ("12 Mar 2024 - DR LUND, North Road Surgery", ("12 Mar 2024", "DR LUND", "North Road Surgery")),
        ("Seen 3/4/24, Dr Ek, Elm", ()),
    ],
)
def test_consultation_line_of_british_general_practice(line: str, facts: tuple[str, ...]) -> None:
    found = LayoutReader(load_profile(Path("uk-gp"))).read(f"{line}\nC/O x").fields
    values = tuple(found[fact].value for fact in ("visit_date", "provider", "practice") if fact in found)
    assert values == facts


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("Ada Lund 34F", {"name": "Ada Lund", "age": "34", "sex": "F"}),
        ("LUND, Ada (34 yo F)", {"name": "LUND, Ada", "age": "34", "sex": "F"}),
        ("Ada Lund DOB: 2.1.1989", {"name": "Ada Lund", "dob": "2.1.1989"}),
        ("34F, known asthma", {"age": "34", "sex": "F"}),
        ("seen with mother", {}),
    ],
)
def test_patient_line_of_british_general_practice(line: str, facts: dict[str, str]) -> None:
    found = LayoutReader(load_profile(Path("uk-gp"))).read(f"{line}\nC/O x\nHPC 50M partner").fields
    ours = ("name", "age", "sex", "dob")
    assert {fact: field.value for fact, field in found.items() if fact in ours} == facts


def test_digest_changes_with_entries_alone(tmp_path: Path) -> None:
    text = DEFAULT_PROFILE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    (tmp_path / "bare.toml").write_text("\r\n".join(lines), encoding="utf-8")
    assert load_profile(tmp_path / "bare.toml").digest == load_profile().digest
    (tmp_path / "other.toml").write_text(text.replace('"%m/%d/%y"', '"%d.%m.%y"'), encoding="utf-8")
    assert load_profile(tmp_path / "other.toml").digest != load_profile().digest
