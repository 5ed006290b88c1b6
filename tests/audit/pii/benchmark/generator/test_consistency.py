"""Facts agree with each other: each constraint is checked again on the texts of 500 persons, and on 480 pairs."""

import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from functools import cache

import pytest

from clinaudit.audit.pii.benchmark.generator.catalog import facts, vocabulary
from clinaudit.audit.pii.benchmark.generator.consistency import (
    CONSTRAINTS,
    Conflict,
    Constraint,
    agrees,
    occupation_group,
    settle,
    settle_pair,
)
from clinaudit.audit.pii.benchmark.generator.person import Names, Person, draw_person
from clinaudit.audit.pii.benchmark.generator.values import Writer

NAMES = Names()
WRITER = Writer(NAMES)
PERSONS = 500
_DATES = ("%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%m/%d/%Y", "%b %d, %Y")


def raw_person(number: int) -> Person:
    return draw_person(random.Random(number), NAMES)


@cache
def written() -> tuple[tuple[Person, dict[str, str]], ...]:
    """Settled persons and the text of every fact of each."""
    found = []
    for number in range(PERSONS):
        rng = random.Random(number)
        settled = settle(draw_person(rng, NAMES, kind=rng.choice(("person", "patient", "clinician"))), rng)
        assert settled is not None
        person = settled[0]
        texts = {key: WRITER.write(person, key, rng) for key in facts()}
        found.append((person, {**texts, "today": person.today.isoformat(), "state": str(person.state)}))
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


def states_of(text: str) -> set[int]:
    rows = enumerate(vocabulary()["place"]["states"])
    return {number for number, row in rows if text.endswith((f", {row['name']}", f", {row['short']}"))}


def area_code_of(text: str) -> str:
    return re.sub(r"\D", "", text)[-10:-7]


@pytest.mark.parametrize(
    "holds",
    [
        lambda t: age_on(day_of(t["birth_date"]), day_of(t["today"])) == int(t["age"]),
        lambda t: int(t["age"]) >= 18 + years(t["work_years"]),
        lambda t: age_on(day_of(t["birth_date"]), day_of(t["hire_date"])) >= 18,
        lambda t: day_of(t["admission_date"]) < day_of(t["today"]) < day_of(t["appointment_date"]),
        lambda t: rank_of(t["degree"], "degrees") >= occupation_group(t["occupation"])["needs"],
        lambda t: rank_of(t["degree"], "degrees") == rank_of(t["education_level"], "levels"),
        lambda t: int(t["age"]) >= vocabulary()["education"][rank_of(t["degree"], "degrees")]["least_age"],
        lambda t: int(t["age"]) >= occupation_group(t["occupation"])["least_age"],
        lambda t: rank_of(t["degree"], "degrees") < 2 or "High School" not in t["school"],
        lambda t: dollars(t["monthly_expenses"]) <= dollars(t["monthly_income"]),
        lambda t: dollars(t["monthly_income"]) >= occupation_group(t["occupation"])["income"][0],
        lambda t: dollars(t["monthly_income"]) <= occupation_group(t["occupation"])["income"][1],
        lambda t: dollars(t["tax_payment"]) <= 0.4 * 12 * dollars(t["monthly_income"]),
        lambda t: dollars(t["annual_bonus"]) <= 6 * dollars(t["monthly_income"]),
        lambda t: dollars(t["social_security_payment"]) * 6 <= dollars(t["monthly_income"]),
        lambda t: states_of(t["city"]) <= {int(t["state"])} and states_of(t["work_city"]) <= {int(t["state"])},
        lambda t: t["zip_code"][:3] in vocabulary()["place"]["states"][int(t["state"])]["zips"],
        lambda t: area_code_of(t["phone"]) in vocabulary()["place"]["states"][int(t["state"])]["area_codes"],
    ],
)
def test_written_facts_agree(holds: Callable[[dict[str, str]], bool]) -> None:
    assert [number for number, (_, texts) in enumerate(written()) if not holds(texts)] == []


def test_the_ages_go_beyond_89_and_texts_name_states() -> None:
    assert any(person.age >= 90 for person, _ in written())
    assert sum(bool(states_of(texts["city"])) for _, texts in written()) > PERSONS / 4


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.name)
def test_each_constraint_is_broken_by_some_draws_and_holds_of_all_that_settled(constraint: Constraint) -> None:
    broken = [person for number in range(300) if not constraint.holds(person := raw_person(number))]
    assert broken
    for person in broken[:40]:
        settled = settle(person, random.Random(1))
        assert settled is not None
        assert constraint.holds(settled[0])
        assert settled[1][constraint.conflict] >= 1


def test_clinicians_work_in_care_and_have_learned_it() -> None:
    clinicians = [(person, texts) for person, texts in written() if person.is_clinician]
    assert len(clinicians) > 100
    for _, texts in clinicians:
        assert texts["occupation"] in occupation_group(texts["occupation"])["clinicians"]
        assert texts["degree"] in vocabulary()["education"][rank_of(texts["degree"], "degrees")]["clinicians"]


def test_a_settled_person_is_left_alone() -> None:
    for person, _ in written()[:100]:
        assert settle(person, random.Random(2)) == (person, {})


def inherits(parent: Person, child: Person, repairs: Counter[Conflict]) -> bool:
    handed_down = ("surname", "nationality", "ethnicity", "race")
    apart = age_on(parent.birth, parent.today) - age_on(child.birth, child.today)
    return (
        apart >= 18 <= child.age
        and all(getattr(parent, name) == getattr(child, name) for name in handed_down)
        and repairs["relation"] > 0
    )


def stands_above(above: Person, below: Person, _: Counter[Conflict]) -> bool:
    ranks = ("income", "work_years", "schooling")
    return (above.company, above.state) == (below.company, below.state) and all(
        getattr(above, name) >= getattr(below, name) for name in ranks
    )


def teaches(teacher: Person, student: Person, _: Counter[Conflict]) -> bool:
    return (teacher.school, teacher.occupation) == (student.school, "university professor") and (
        teacher.schooling > student.schooling and teacher.age > student.age
    )


def is_consistent(first: Person, second: Person, _: Counter[Conflict]) -> bool:
    holds = (constraint.holds(person) for constraint in CONSTRAINTS for person in (first, second))
    return first.today == second.today and all(holds)


SHARED = ("company", "school", "ngo", "city", "healthcare_facility")


@pytest.mark.parametrize(
    ("rule", "shares", "least", "holds"),
    [
        ("parent", None, 55, inherits),
        ("supervisor", "company", 50, stands_above),
        ("teacher", "school", 55, teaches),
        *(("shared", name, 50, is_consistent) for name in SHARED),
    ],
)
def test_two_agree_with_their_relation_and_have_what_they_share(
    rule: str, shares: str | None, least: int, holds: Callable[[Person, Person, Counter[Conflict]], bool]
) -> None:
    found = []
    for number in range(60):
        rng = random.Random(number)
        pair = settle_pair(draw_person(rng, NAMES), draw_person(rng, NAMES), rule=rule, shares=shares, rng=rng)
        if pair is not None:
            found.append(pair)
    assert len(found) >= least
    assert [pair for pair in found if not holds(*pair)] == []
    assert shares is None or all(getattr(first, shares) == getattr(second, shares) for first, second, _ in found)


def test_strangers_do_not_agree_with_a_relation_by_chance() -> None:
    first, second = raw_person(1), raw_person(2)
    assert agrees(first, second, rule="none", shares=None)
    assert not agrees(first, second, rule="none", shares="company")
    assert not agrees(first, second, rule="parent", shares=None)
