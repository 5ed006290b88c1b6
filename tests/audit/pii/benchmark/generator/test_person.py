"""Facts agree with each other: each constraint of the paper is checked on the texts of 500 persons, and of pairs."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from functools import cache

import pytest

from clinaudit.audit.pii.benchmark.generator.grammar import Encounter, grammar, vocabulary
from clinaudit.audit.pii.benchmark.generator.person import Person, agrees, compose, draw_pair, draw_person, write_fact

PERSONS = 500
ENCOUNTERS = [one for domain in ("general", "clinical") for one in grammar("scored").encounters[domain]]
_DATES = ("%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%m/%d/%Y", "%b %d, %Y")


@cache
def written() -> tuple[tuple[Person, dict[str, str]], ...]:
    """Persons and the text of every fact of each."""
    found = []
    for number in range(PERSONS):
        rng = random.Random(number)
        person = draw_person(rng, kind=rng.choice(("person", "patient", "clinician")))
        texts = {key: write_fact(person, key, rng) for key in grammar("scored").clauses}
        found.append((person, {**texts, "today": person.today.isoformat(), "state": person.state}))
    return tuple(found)


def day_of(text: str) -> date:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007
        except ValueError:
            continue
    raise AssertionError("a date in no known form")


def dollars(text: str) -> float:
    return float(re.sub(r"[^0-9.]", "", text))


def years(text: str) -> int:
    number, unit = text.split()
    return int(number) if unit.startswith("year") else 0


def age_on(birth: date, day: date) -> int:
    age = day.year - birth.year
    return age - 1 if (day.month, day.day) < (birth.month, birth.day) else age


def rank_of(text: str, column: str) -> int:
    rows = enumerate(vocabulary()["education"])
    (rank,) = (rank for rank, row in rows if text in row[column] + (column == "degrees") * row.get("clinicians", []))
    return rank


def job_of(occupation: str) -> tuple[int, dict[str, list[int]]]:
    """The rank of education that an occupation needs, and its group."""
    (found,) = ((rank, row) for rank, row in enumerate(vocabulary()["occupation"]) if occupation in row["names"])
    return found


def states_of(text: str) -> set[str]:
    rows = vocabulary()["states"].items()
    return {name for name, row in rows if text.endswith((f", {name}", f", {row['short']}"))}


def area_code_of(text: str) -> str:
    return re.sub(r"\D", "", text)[-10:-7]


@pytest.mark.parametrize(
    "holds",
    [
        lambda t: age_on(day_of(t["birth_date"]), day_of(t["today"])) == int(t["age"]),
        lambda t: int(t["age"]) >= 18 + years(t["work_years"]),
        lambda t: age_on(day_of(t["birth_date"]), day_of(t["hire_date"])) >= 18,
        lambda t: (day_of(t["today"]) - day_of(t["hire_date"])).days <= max(7, 365.25 * years(t["work_years"])),
        lambda t: day_of(t["admission_date"]) < day_of(t["today"]) < day_of(t["appointment_date"]),
        lambda t: rank_of(t["degree"], "degrees") >= job_of(t["occupation"])[0],
        lambda t: rank_of(t["degree"], "degrees") == rank_of(t["education_level"], "levels"),
        lambda t: int(t["age"]) >= vocabulary()["education"][rank_of(t["degree"], "degrees")]["least_age"],
        lambda t: int(t["age"]) >= job_of(t["occupation"])[1]["least_age"],
        lambda t: rank_of(t["degree"], "degrees") < 2 or "High School" not in t["school"],
        lambda t: dollars(t["monthly_expenses"]) <= dollars(t["monthly_income"]),
        lambda t: dollars(t["monthly_income"]) >= job_of(t["occupation"])[1]["income"][0],
        lambda t: dollars(t["monthly_income"]) <= job_of(t["occupation"])[1]["income"][1],
        lambda t: dollars(t["tax_payment"]) <= 0.4 * 12 * dollars(t["monthly_income"]),
        lambda t: dollars(t["annual_bonus"]) <= 6 * dollars(t["monthly_income"]),
        lambda t: dollars(t["social_security_payment"]) * 6 <= dollars(t["monthly_income"]),
        lambda t: states_of(t["city"]) | states_of(t["work_city"]) <= {t["state"]},
        lambda t: t["zip_code"][:3] in vocabulary()["states"][t["state"]]["zips"],
        lambda t: area_code_of(t["phone"]) in vocabulary()["states"][t["state"]]["area_codes"],
    ],
)
def test_written_facts_agree(holds: Callable[[dict[str, str]], bool]) -> None:
    assert [number for number, (_, texts) in enumerate(written()) if not holds(texts)] == []


def test_the_ages_go_beyond_89_and_texts_name_states() -> None:
    assert any(person.age >= 90 for person, _ in written())
    assert sum(bool(states_of(texts["city"])) for _, texts in written()) > PERSONS / 4


def test_clinicians_work_in_care_and_have_learned_it() -> None:
    clinicians = [(person, texts) for person, texts in written() if person.is_clinician]
    assert len(clinicians) > 100
    for _, texts in clinicians:
        assert texts["occupation"] in job_of(texts["occupation"])[1]["clinicians"]
        assert texts["degree"] in vocabulary()["education"][rank_of(texts["degree"], "degrees")]["clinicians"]


def inherits(parent: Person, child: Person) -> bool:
    handed_down = ("surname", "nationality", "ethnicity", "race")
    return parent.age >= child.age + 18 and all(getattr(parent, name) == getattr(child, name) for name in handed_down)


def stands_above(above: Person, below: Person) -> bool:
    return all(getattr(above, name) >= getattr(below, name) for name in ("income", "work_years", "schooling"))


def teaches(teacher: Person, student: Person) -> bool:
    return teacher.occupation == "university professor" and (
        teacher.schooling > student.schooling and teacher.age > student.age
    )


RULES = {"parent": inherits, "supervisor": stands_above, "teacher": teaches, None: lambda *_: True}


@pytest.mark.parametrize("encounter", ENCOUNTERS, ids=lambda one: one.id)
def test_two_agree_with_their_relation(encounter: Encounter) -> None:
    pairs = [draw_pair(random.Random(number), encounter) for number in range(30)]
    assert [pair for pair in pairs if not RULES[encounter.rule](*pair)] == []
    assert all(first.today == second.today for first, second in pairs)
    if encounter.shares == "school":
        assert all(first.schooling >= second.schooling for first, second in pairs)
    elif encounter.shares:
        assert all(first.state == second.state for first, second in pairs)


def test_strangers_do_not_agree_with_a_relation_by_chance() -> None:
    by_rule = {one.rule: one for one in ENCOUNTERS}
    young = replace(draw_person(random.Random(1)), age=30, schooling=1, work_years=5, income=3000)
    old = replace(young, age=48, schooling=2)
    assert agrees(old, young, by_rule["parent"])
    assert not agrees(replace(old, age=47), young, by_rule["parent"])
    assert agrees(old, young, by_rule["supervisor"])
    assert not agrees(replace(old, income=2990), young, by_rule["supervisor"])
    assert agrees(old, young, by_rule["teacher"])
    assert not agrees(replace(old, schooling=1), young, by_rule["teacher"])


def test_texts_are_composed_of_lists_numbers_and_what_is_given() -> None:
    rng = random.Random(3)
    assert re.fullmatch(r"[A-HJ-NPR-Z]{4}-\d{3}-\d{4}", compose("other_code", rng))
    assert re.fullmatch(r"[0-9a-f]{64}", compose("password_hash", rng))
    assert 300 <= int(compose("credit_score", rng)) <= 850
    assert compose("zip_code", rng, zip="432").startswith("432")
    with pytest.raises(KeyError):
        compose("zip_code", rng)
