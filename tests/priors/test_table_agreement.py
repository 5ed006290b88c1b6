"""A row of the patients table beside the notes: what stands there, what differs, what the notes do not tell."""

import random
from datetime import date
from pathlib import Path

import pytest
from support.patient_facts import corpus_of, facts_of

from clinaudit.audit.preview.fit import find_table_misfits
from clinaudit.priors.corpus.patient import Patient
from clinaudit.priors.facts import read_facts
from clinaudit.priors.table_agreement import Standing, agrees, compare_with_notes, words_of
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import load_profile

STANDS, DIFFERS, UNTOLD = Standing
PLACED = frozenset({Fact.NAME, Fact.DOB})


def row(
    *, name: str | None = None, sex: str | None = None, dob: date | None = None, year: int | None = None
) -> Patient:
    return Patient("p", "train", None, sex, name, dob, None, None, None, None, birth_year=year)


def compare(
    patient: Patient, *texts: str, placed: frozenset[Fact] = PLACED, born: date | None = None, sex: str | None = None
) -> dict[Fact, Standing]:
    formats = ("%m/%d/%Y", "%d %B %Y")
    return compare_with_notes(patient, stated_birth=born, stated_sex=sex, placed=placed, texts=texts, formats=formats)


@pytest.mark.parametrize(
    ("name", "note", "standing"),
    [
        ("Ada Lund", "Patient: LUND, ADA\n", STANDS),
        # Middle names, initials, titles and former names are often left out.
        ("Ada Maria Lund", "Ada Lund, 46", STANDS),
        ("Ada B. Lund-Roth", "Mrs Ada Lund", STANDS),
        ("Zoë Nuñez", "zoe NUNEZ was seen", STANDS),
        ("Nuñez", "NUÑEZ", STANDS),
        ("李 明", "姓名: 李 明", STANDS),
        # One part alone may be anybody's.
        ("Ada Lund", "Ada Green is well", DIFFERS),
        # Parts of words are none.
        ("Ann Lee", "annual fleece", DIFFERS),
        ("Ada Lund", "", DIFFERS),
    ],
)
def test_a_name_stands_where_two_of_its_parts_do(name: str, note: str, standing: Standing) -> None:
    assert compare(row(name=name), note) == {Fact.NAME: standing}


def test_a_name_in_any_note_stands() -> None:
    assert compare(row(name="Ada Lund"), "latest, without", "older: Ada Lund")[Fact.NAME] is STANDS


def test_a_name_without_letters_is_not_compared() -> None:
    assert compare(row(name="***"), "Ada Lund") == {}


def test_what_no_template_places_and_no_note_holds_is_not_told() -> None:
    found = compare(row(name="Ada Lund", dob=date(1960, 2, 3)), "cough", placed=frozenset())
    assert found == {Fact.NAME: UNTOLD, Fact.DOB: UNTOLD}
    assert not agrees(found)


@pytest.mark.parametrize(
    ("note", "born", "standing"),
    [
        ("DOB: 02/03/1960", date(1960, 2, 3), STANDS),
        ("DOB: 03/02/1960", date(1960, 3, 2), DIFFERS),
        ("born 2/3/1960", None, STANDS),
        ("born 3 February 1960", None, STANDS),
        ("born 12/3/1960 or 2/3/19601", None, DIFFERS),
        ("1960-02-03", None, STANDS),
    ],
)
def test_a_date_of_birth_stands_as_stated_or_as_written(note: str, born: date | None, standing: Standing) -> None:
    assert compare(row(dob=date(1960, 2, 3)), note, born=born) == {Fact.DOB: standing}


def test_a_year_of_birth_stands_by_the_year() -> None:
    assert compare(row(year=1960), "", born=date(1960, 5, 5)) == {Fact.DOB: STANDS}
    assert compare(row(year=1960), "", born=date(1961, 5, 5)) == {Fact.DOB: DIFFERS}
    assert compare(row(year=1960), "born 1960") == {Fact.DOB: STANDS}


@pytest.mark.parametrize(
    ("note", "stated", "standing"),
    [
        ("Her husband says he worries. She is well.", None, STANDS),
        ("He is here with his wife; she drives.", None, DIFFERS),
        ("He is here.", "female", STANDS),
        ("She is here.", "male", DIFFERS),
        ("Cough.", None, UNTOLD),
    ],
)
def test_sex_is_what_the_note_states_or_most_words_tell(note: str, stated: str | None, standing: Standing) -> None:
    assert compare(row(sex="female"), note, sex=stated) == {Fact.SEX: standing}


def test_another_word_for_sex_is_not_compared() -> None:
    assert compare(row(sex="unknown"), "She is well.") == {}


@pytest.mark.parametrize(
    ("standing", "own"),
    [
        ({}, True),
        ({Fact.NAME: STANDS, Fact.SEX: UNTOLD}, True),
        ({Fact.NAME: UNTOLD, Fact.SEX: STANDS}, True),
        ({Fact.NAME: STANDS, Fact.SEX: DIFFERS}, False),
        # Nothing shows whose row it is.
        ({Fact.NAME: UNTOLD, Fact.SEX: UNTOLD}, False),
    ],
)
def test_a_row_agrees_where_something_stands_and_nothing_differs(standing: dict[Fact, Standing], own: bool) -> None:
    assert agrees(standing) is own


HEADS = "patient_id,split,name,dob,sex\n"


def test_facts_hold_whether_their_row_is_the_patients(tmp_path: Path) -> None:
    note = "patient: Ada Lund\ndob: 02/03/1960\ncc: cough\nhpi: she coughs\n"
    own = facts_of(tmp_path / "own", note, HEADS + "p,train,Ada Lund,1960-02-03,female\n")
    other = facts_of(tmp_path / "other", note, HEADS + "p,train,Ian Roth,1981-01-01,male\n")
    assert (own.is_own_row, other.is_own_row) == (True, False)
    assert set(other.table.values()) == {DIFFERS}


def test_a_table_whose_rows_no_note_tells_is_not_said_to_be_joined_wrongly(tmp_path: Path) -> None:
    notes = [{"patient_id": f"p{n}", "note_id": f"n{n}", "text": "cc: cough\nhpi: tired\n"} for n in range(3)]
    corpus = corpus_of(tmp_path, notes, "patient_id,sex\np0,female\np1,male\np2,female\n")
    (found,) = find_table_misfits(read_facts(corpus, load_profile(), corpus.patients).values())
    assert (found.subject, found.found, found.of) == ("patients", 0, 3)
    assert "joined" not in found.text


@pytest.mark.parametrize("letters", ["abA \n_1-", "abA \n_1-é"])
def test_a_name_stands_where_two_of_its_words_do_as_words_of_the_text(letters: str) -> None:
    rng = random.Random(letters)
    for _ in range(3_000):
        text = "".join(rng.choice(letters) for _ in range(rng.randrange(14)))
        name = " ".join("".join(rng.choice("ab") for _ in range(rng.randrange(2, 4))) for _ in range(2))
        told = compare_with_notes(
            row(name=name), stated_birth=None, stated_sex=None, placed=(), texts=[text], formats=()
        )
        parts = set(name.split())
        stands = len(parts.intersection(words_of(text))) >= min(2, len(parts))
        assert told == {Fact.NAME: Standing.STANDS if stands else Standing.UNTOLD}
