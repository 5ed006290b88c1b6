"""How profile, notes and table fit each other: findings that only notes can show, with counts."""

import pytest
from support.note_layouts import PROFILE, Person, make_people
from support.patient_facts import PROFILE as SOAP
from support.patient_facts import corpus_of

from clinaudit.audit.preview.fit import Kind, find_misplaced, mark_doubtful_facts, tabulate_places
from clinaudit.priors.facts import read_facts
from clinaudit.priors.tiers import Fact
from clinaudit.templates.profile import load_profile

PEOPLE = make_people(24)


def fit_of(directory, profile, people=PEOPLE):
    (directory / "t.toml").write_text(profile, encoding="utf-8")
    notes = [{"patient_id": who.patient_id, "note_id": who.patient_id, "text": who.note} for who in people]
    corpus, read = corpus_of(directory / "corpus", notes), load_profile(directory / "t.toml")
    places = tabulate_places(read_facts(corpus, read, corpus.patients), read)
    return list(find_misplaced(places, read, patients=len(people)))


def test_a_value_that_stands_for_none_is_none_only_where_the_profile_says_so(tmp_path):
    people = [Person(f"p{n}", "banner", "ELM VALLEY HEALTH\nPatient: --   DOB: --\nHPI: x\n", {}) for n in range(3)]
    unread = [item for item in fit_of(tmp_path, PROFILE, people) if item.subject == "name"]
    assert [(item.kind, item.found, item.of) for item in unread] == [(Kind.VALUE_UNREAD, 0, 3)]
    said = PROFILE.replace('date_formats = "month_first"', 'date_formats = "month_first"\nblanks = ["--"]')
    missing = [item for item in fit_of(tmp_path, said, people) if item.subject == "name"]
    assert [(item.kind, item.found, item.of) for item in missing] == [(Kind.FACT_MISSING, 0, 3)]


def findings_of_dates(directory, days):
    notes = [
        Person(
            f"p{n}", "shorthand", f"{day:02}/03/2024 Dr Ek, Elm\nAda Lund 34F DOB {day:02}/03/89\nC/O x\nHPC y\n", {}
        )
        for n, day in enumerate(days)
    ]
    kinds = (Kind.DATE_ORDER_UNTOLD, Kind.DATE_ORDER_OTHER)
    return [item for item in fit_of(directory, PROFILE, notes) if item.kind in kinds]


def test_dates_that_fit_both_orders_are_a_finding(tmp_path):
    found = findings_of_dates(tmp_path, range(1, 13))
    assert [(item.kind, item.subject, item.of) for item in found] == [
        (Kind.DATE_ORDER_UNTOLD, "dob", 12),
        (Kind.DATE_ORDER_UNTOLD, "visit_date", 12),
    ]
    assert "as day first and as month first" in found[0].text
    # Chance alone gives so few.
    assert findings_of_dates(tmp_path, range(1, 10)) == []


def test_one_date_that_only_one_order_reads_tells_the_order(tmp_path):
    assert findings_of_dates(tmp_path, [*range(1, 13), 31]) == []


NAMES = [f"Ada {letters}" for letters in ("Lund", "Ode", "Roth", "Lind", "Ek", "Nuñez", "Green", "Kaur", "Poe", "Berg")]
BIRTHS = [f"02/{day}/1960" for day in range(13, 23)]


def marked(directory, names, births, patients=None):
    notes: list[dict[str, object]] = [
        {
            "patient_id": f"p{number}",
            "note_id": f"n{number}",
            "text": f"patient: {name}\ndob: {born}\nvisit date: 05/01/2024\ncc: cough\nhpi: well\n",
        }
        for number, (name, born) in enumerate(zip(names, births, strict=True))
    ]
    corpus = corpus_of(directory, notes, patients)
    return list(mark_doubtful_facts(read_facts(corpus, SOAP, corpus.patients), SOAP).values())


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
def test_what_most_notes_have_in_a_wrong_place_is_doubtful(tmp_path, names, births, doubtful):
    facts = marked(tmp_path, names, births)
    assert [known.doubtful for known in facts] == [doubtful] * 10
    assert {known.are_own([Fact.NAME, Fact.AGE]) for known in facts} == {doubtful.isdisjoint({Fact.NAME, Fact.AGE})}
