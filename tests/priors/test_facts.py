"""Facts of a patient, on notes small enough to check by eye (docs/methods.md, section 1)."""

from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, corpus_of, facts_of

from clinaudit.priors.facts import FactReader, read_sex
from clinaudit.priors.tiers import Fact


def test_facts_of_a_note(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE)
    assert facts.values[Fact.NAME] == "Ada Lund"
    assert facts.values[Fact.PRACTICE] == "Elm Clinic"
    assert facts.values[Fact.CHIEF_COMPLAINT] == "low mood"
    assert facts.medications == ("sertraline 50 mg daily", "metformin 500 mg, twice daily", "aspirin")
    assert (facts.age, facts.sex) == (64, None)


@pytest.mark.parametrize(
    ("word", "sex"),
    [("W", "female"), ("girl", "female"), ("F.", "female"), ("BOY", "male"), ("other", None), ("", None), ("1", None)],
)
def test_a_note_writes_sex_as_a_table_may(word: str, sex: str | None) -> None:
    assert read_sex(word) == sex


def test_table_wins_and_blank_is_unknown(tmp_path: Path) -> None:
    table = "patient_id,split,age,sex,name,occupation\np,nontrain,41,female,,nurse\n"
    facts = facts_of(tmp_path, NOTE, table)
    assert (facts.arm, facts.age, facts.sex) == ("nontrain", 41, "female")
    assert facts.values[Fact.OCCUPATION] == "nurse"
    assert facts.values[Fact.NAME] == "Ada Lund"


def test_date_of_birth_of_the_table_wins_over_an_age_in_the_note(tmp_path: Path) -> None:
    table = "patient_id,split,dob\np,train,1950-01-01\n"
    facts = facts_of(tmp_path, "visit date: 03/04/2020\nage: 40\ncc: x\nhpi: y\n", table)
    assert facts.age == 70


@pytest.mark.parametrize(
    ("listed", "entries"),
    [
        ("sertraline 50 mg, metformin 500 mg, lisinopril 10 mg", 3),
        ("metformin 500 mg, twice daily, aspirin", 2),
        ("sertraline, metformin; aspirin\ninsulin glargine 10 units, at bedtime", 4),
        ("none", 0),
    ],
)
def test_medication_entries(tmp_path: Path, listed: str, entries: int) -> None:
    assert len(facts_of(tmp_path, f"cc: x\nhpi: y\ncurrent medications: {listed}\n").medications) == entries


def test_latest_note_counts(tmp_path: Path) -> None:
    rows = [
        {"patient_id": "p", "note_id": "a", "text": "cc: late\nhpi: x\n", "visit_date": "2024-02-01"},
        {"patient_id": "p", "note_id": "b", "text": "cc: early\nhpi: x\n", "visit_date": "2023-02-01"},
        {"patient_id": "p", "note_id": "c", "text": "cc: undated\nhpi: x\n"},
    ]
    facts = FactReader(PROFILE).read(corpus_of(tmp_path, rows), "p")
    assert facts.values[Fact.CHIEF_COMPLAINT] == "late"
    assert facts.note_count == 3


def test_an_age_pooled_in_the_table_is_so_in_the_prompt(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, NOTE, "patient_id,split,age\np,train,>89\n")
    assert (facts.age, facts.values[Fact.AGE]) == (90, "90 or over")


@pytest.mark.parametrize(
    ("note", "birth", "age", "stated"),
    [
        # The note's own date of birth is of the year that the table gives: it stands, and gives the age.
        (NOTE, "02/03/1960", 64, "64"),
        (NOTE.replace("1960", "1961"), "1960", 64, None),
        ("visit date: 05/01/2024\nage: 63\ncc: x\nhpi: y\n", "1960", 63, "63"),
        ("visit date: 05/01/2024\ncc: x\nhpi: y\n", "1960", 64, None),
        ("cc: x\nhpi: y\n", "1960", None, None),
    ],
)
def test_a_year_of_birth_is_no_day_of_birth(
    tmp_path: Path, note: str, birth: str, age: int | None, stated: str | None
) -> None:
    facts = facts_of(tmp_path, note, "patient_id,split,dob\np,train,1960\n")
    assert facts.values[Fact.DOB] == birth
    assert facts.age == age
    assert facts.values.get(Fact.AGE) == stated
