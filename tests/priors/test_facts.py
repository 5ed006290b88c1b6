"""Facts of a patient, and whose values stand in which note: from tables, the note, and the patient's others."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from support.patient_facts import NOTE, PROFILE, corpus_of, facts_of

from clinaudit.priors.corpus.patient import Note, Patient
from clinaudit.priors.facts import FactReader
from clinaudit.priors.identity import Identity, IdentityReader
from clinaudit.priors.tiers import Fact
from clinaudit.templates.dates import WrittenDates
from clinaudit.templates.profile import load_profile


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
        (NOTE.replace("1960", "1961").replace("64-year-old", "tired"), "1960", 64, None),
        (NOTE.replace("1960", "1961"), "1960", 64, "64"),
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


READER = IdentityReader(load_profile())


def patient(**known: object) -> Patient:
    unknown = dict.fromkeys(("age", "sex", "name", "dob", "race", "marital_status", "occupation", "children"), None)
    return Patient(patient_id="p", split="train", **{**unknown, **known})  # type: ignore[arg-type]


def note(text: str, seen: date | None = None, provider: str | None = None, practice: str | None = None) -> Note:
    return Note("p", "n", seen, provider, practice, None, 0, text)


def test_tables_and_notes_together() -> None:
    known = patient(name="Ann Lee", dob=date(1980, 5, 2), sex="female")
    first, second = READER.read(
        known,
        [
            note(
                "patient: Ann B. Lee\r\nsex: F\r\nprovider: Dr. Poe\r\ncc: cough",
                datetime(2020, 5, 1, 9, 30, tzinfo=UTC),
            ),
            note("dob: 05/02/1980\nvisit date: 05/02/2024 at noon\ncc: cough", None, "Rae Roe, NP", "Elm Clinic"),
        ],
    )
    assert first == Identity(
        names=frozenset({"Ann Lee", "Ann B. Lee"}),
        ages=frozenset({39}),
        sexes=frozenset({"female", "F"}),
        birth_dates=frozenset({date(1980, 5, 2)}),
        visit_dates=frozenset({date(2020, 5, 1)}),
        providers=frozenset({"Dr. Poe"}),
        practices=frozenset(),
    )
    # Name and sex are the patient's, of whichever note; date, provider and age are the visit's own.
    assert (second.names, second.sexes) == (first.names, first.sexes)
    assert (second.ages, second.visit_dates) == ({44}, {date(2024, 5, 2)})
    assert (second.providers, second.practices) == ({"Rae Roe, NP"}, {"Elm Clinic"})


@pytest.mark.parametrize(
    ("age", "seen", "expected"),
    [
        (50, [None], {50}),
        # Of an earlier visit the table's age is one of two, where the birthday is not known.
        (50, [date(2018, 1, 1), date(2024, 7, 1)], {43, 44}),
        (1, [date(2018, 1, 1), date(2024, 7, 1)], set()),
        (None, [date(2018, 1, 1)], set()),
    ],
)
def test_age_at_an_earlier_visit(age: int | None, seen: list[date | None], expected: set[int]) -> None:
    first = READER.read(patient(age=age), [note("cc: cough", day) for day in seen])[0]
    assert first.ages == expected


def test_a_birth_date_settles_the_age_at_every_visit() -> None:
    """The table's age, 50 at the latest visit, would make an earlier one ambiguous: 48 or 49, and 48 is wrong."""
    born = date(1974, 3, 1)
    seen = [date(2023, 3, 15), date(2024, 7, 1)]
    for known in (patient(age=50, dob=born), patient(dob=born), patient(age=51, dob=born)):
        notes = [note("age: 47\ncc: cough", day) for day in seen]
        assert [identity.ages for identity in READER.read(known, notes)] == [{49}, {50}]
    # By a note's word alone; and nothing settles it where no visit is dated.
    stated = [note("dob: 03/01/1974\ncc: cough", seen[0]), note("cc: cough", seen[1])]
    assert [identity.ages for identity in READER.read(patient(age=50), stated)] == [{49}, {50}]
    assert READER.read(patient(age=50, dob=born), [note("cc: cough", None)])[0].ages == {50}
    # Without a birth date, the two that it may have been.
    assert READER.read(patient(age=50), [note("cc: cough", day) for day in seen])[0].ages == {48, 49}


def test_a_note_states_its_own_age() -> None:
    (stated,) = READER.read(patient(), [note("age: 61 years\ncc: cough")])
    assert (stated.ages, stated.age_place) == ({61}, len("age: "))
    assert READER.read(patient(), [note("cc: aged 61")])[0].age_place is None
    assert READER.read(patient(), [note("age: 610\ncc: cough")])[0].ages == frozenset()


def test_a_stretch_of_text_is_no_name() -> None:
    prose = "seen for anxiety which has been worse since the spring and now keeps her awake at night"
    assert READER.read(patient(), [note(f"patient: {prose}\nprovider: {prose}")])[0] == Identity(
        *[frozenset()] * 7  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("formats", "text", "days"),
    [
        (["%m/%d/%Y"], "seen 3/4/2024.", {date(2024, 3, 4)}),
        # Two formats may read one place as two days.
        (["%m/%d/%Y", "%d/%m/%Y"], "03/04/2024", {date(2024, 3, 4), date(2024, 4, 3)}),
        (["%d/%m/%Y"], "13/04/2024 and 04/13/2024", {date(2024, 4, 13)}),
        (["%A, %d %b %Y"], "on monday, 4 MAR 2024", {date(2024, 3, 4)}),
        (["%d%b%Y"], "04Mar2024", {date(2024, 3, 4)}),
        (["%Y-%m-%d %H:%M"], "2024-03-04 09:30", {date(2024, 3, 4)}),
        (["%m/%d/%y"], "3/4/2024", set()),
        (["%m/%d/%Y"], "13/40/2024 13/4/2024 103/4/2024", set()),
    ],
)
def test_days_are_found_by_every_format(formats: list[str], text: str, days: set[date]) -> None:
    dates = WrittenDates(formats)
    assert dates.find(text) == days
    for day in days:
        assert any(text.lower().find(word) >= 0 for word in dates.first_words(day))
