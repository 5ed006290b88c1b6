"""The profiles that ship, each on notes of its kind (docs/note-templates.md). All people are invented."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from support.sample_notes import BANNERS, NOTES

from clinaudit.templates.note import NoteReader
from clinaudit.templates.profile import DEFAULT_PROFILE, SHIPPED, load_profile

FACTS = ("visit_date", "provider", "practice", "name", "dob", "age", "sex")
READ = [note for note in NOTES if "facts" in note]
#: Consultations of British general practice: what stands below a banner, its complaint and its history.
BODIES = {
    "headed": (
        "Problem Cough (First)\nHistory 3/7 dry cough, Dr Ode seen 01/02/2022.\nExamination clear\nPlan rest\n",
        "Cough (First)",
        "3/7 dry cough, Dr Ode seen 01/02/2022.",
    ),
    "shorthand": (
        "PC: Headache. HPC: Since Monday, worse at night.\nEx smoker\nPMH nil\nDH; none\n",
        "Headache.",
        "Since Monday, worse at night.\nEx smoker",
    ),
}


def test_these_ship_and_lie_in_the_package() -> None:
    assert SHIPPED == ("capitals", "dictation", "mimic-discharge", "soap", "uk-gp")
    assert all((files("clinaudit.templates") / "profiles" / f"{name}.toml").is_file() for name in SHIPPED)
    assert DEFAULT_PROFILE.stem == "soap"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profile_is_named_as_its_file(name: str) -> None:
    profile = load_profile(Path(name))
    assert profile.name == name
    assert [layout.name for layout in profile.layouts] == [name]


@pytest.mark.parametrize("note", READ, ids=[f"{note['profile']} {at}" for at, note in enumerate(READ)])
def test_shipped_profile_reads_notes_of_its_kind(note: dict[str, Any]) -> None:
    profile, text = load_profile(Path(note["profile"])), note["text"]
    fields = NoteReader(profile).read(text).fields
    assert {fact: field.value for fact, field in fields.items()} == note["facts"]
    assert all(text[slice(*field.value_chars)] == field.value for field in fields.values())
    if "sections" in note:
        assert [section.name for section in NoteReader(profile).read(text).sections] == note["sections"]


@pytest.mark.parametrize(("kind", "banner"), [(kind, banner) for kind, some in BANNERS.items() for banner in some])
def test_banners_of_british_general_practice(kind: str, banner: dict[str, Any]) -> None:
    body, complaint, history = BODIES[kind]
    fields = NoteReader(load_profile(Path("uk-gp"))).read(f"{banner['text']}\n\n{body}").fields
    assert [fields[fact].value if fact in fields else "" for fact in FACTS] == banner["values"]
    assert (fields["chief_complaint"].value, fields["hpi"].value) == (complaint, history)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            "3/4/24 14:05 Nurse Jo Ek at Elm Health Centre",
            {"visit_date": "3/4/24", "provider": "Nurse Jo Ek", "practice": "Elm Health Centre"},
        ),
        (
            "12 Mar 2024 - DR LUND, North Road Surgery",
            {"visit_date": "12 Mar 2024", "provider": "DR LUND", "practice": "North Road Surgery"},
        ),
        ("Seen 3/4/24, Dr Ek, Elm", {}),
        ("Ada Lund 34F", {"name": "Ada Lund", "age": "34", "sex": "F"}),
        ("LUND, Ada (34 yo F)", {"name": "LUND, Ada", "age": "34", "sex": "F"}),
        ("Ada Lund DOB: 2.1.1989", {"name": "Ada Lund", "dob": "2.1.1989"}),
        ("34F, known asthma", {"age": "34", "sex": "F"}),
        ("seen with mother", {}),
    ],
)
def test_first_line_of_british_general_practice(line: str, facts: dict[str, str]) -> None:
    found = NoteReader(load_profile(Path("uk-gp"))).read(f"{line}\nC/O x\nHPC 50M partner").fields
    assert {fact: field.value for fact, field in found.items() if fact in FACTS} == facts


def test_digest_changes_with_entries_alone(tmp_path: Path) -> None:
    text = DEFAULT_PROFILE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    (tmp_path / "bare.toml").write_text("\r\n".join(lines), encoding="utf-8")
    assert load_profile(tmp_path / "bare.toml").digest == load_profile().digest
    (tmp_path / "other.toml").write_text(text.replace('"%m/%d/%y"', '"%d.%m.%y"'), encoding="utf-8")
    assert load_profile(tmp_path / "other.toml").digest != load_profile().digest
