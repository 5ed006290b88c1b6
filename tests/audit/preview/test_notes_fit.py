"""Facts that a template finds in a wrong place for a layout: what stands there does not fit a prompt."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.patient_facts import PROFILE, corpus_of

from clinaudit.audit.preview.notes_fit import mark_doubtful_facts
from clinaudit.priors.facts import PatientFacts, read_facts
from clinaudit.priors.tiers import Fact

NAMES = [f"Ada {letters}" for letters in ("Lund", "Ode", "Roth", "Lind", "Ek", "Nuñez", "Green", "Kaur", "Poe", "Berg")]
BIRTHS = [f"02/{day}/1960" for day in range(13, 23)]


def marked(
    directory: Path, names: Sequence[str], births: Sequence[str], patients: str | None = None
) -> list[PatientFacts]:
    notes: list[dict[str, object]] = [
        {
            "patient_id": f"p{number}",
            "note_id": f"n{number}",
            "text": f"patient: {name}\ndob: {born}\nvisit date: 05/01/2024\ncc: cough\nhpi: well\n",
        }
        for number, (name, born) in enumerate(zip(names, births, strict=True))
    ]
    corpus = corpus_of(directory, notes, patients)
    return list(mark_doubtful_facts(read_facts(corpus, PROFILE, corpus.patients), PROFILE).values())


@pytest.mark.parametrize(
    ("names", "births", "doubtful"),
    [
        (NAMES, BIRTHS, set()),
        # One name for everybody, for most, and for half.
        (["Elm Clinic"] * 10, BIRTHS, {Fact.NAME}),
        (["Elm Clinic"] * 6 + NAMES[6:], BIRTHS, {Fact.NAME}),
        (["Elm Clinic"] * 5 + NAMES[5:], BIRTHS, set()),
        # One birth date in ten that no format reads, and two; the age follows from it.
        (NAMES, ["spring", *BIRTHS[1:]], set()),
        (NAMES, ["spring", "summer", *BIRTHS[2:]], {Fact.DOB, Fact.AGE}),
        # Births after the visit: either date may be the wrong one.
        (NAMES, [born.replace("1960", "2025") for born in BIRTHS], {Fact.DOB, Fact.VISIT_DATE, Fact.AGE}),
    ],
)
def test_what_most_notes_have_in_a_wrong_place_is_doubtful(
    tmp_path: Path, names: Sequence[str], births: Sequence[str], doubtful: set[Fact]
) -> None:
    facts = marked(tmp_path, names, births)
    assert [known.doubtful for known in facts] == [doubtful] * 10
    assert {known.are_own([Fact.NAME, Fact.AGE]) for known in facts} == {doubtful.isdisjoint({Fact.NAME, Fact.AGE})}


def test_an_age_that_the_table_gives_does_not_follow_from_doubtful_dates(tmp_path: Path) -> None:
    births = ["spring", "summer", *BIRTHS[2:]]
    table = "patient_id,age\n" + "".join(f"p{number},64\n" for number in range(10))
    facts = marked(tmp_path, NAMES, births, table)
    assert [known.doubtful for known in facts] == [{Fact.DOB}] * 10
    assert {known.are_own([Fact.AGE]) for known in facts} == {True}


def test_a_name_that_the_table_gives_is_not_doubtful(tmp_path: Path) -> None:
    table = "patient_id,name\n" + "".join(f"p{number},Elm Clinic\n" for number in range(10))
    facts = marked(tmp_path, ["Elm Clinic"] * 10, BIRTHS, table)
    assert {known.are_own([Fact.NAME]) for known in facts} == {True}
