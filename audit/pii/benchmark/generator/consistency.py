"""What the facts of one person, and of two, must have to do with each other, and how a conflict is repaired.

Owns the constraints (PII-Bench, C.1 and C.2: time, profession, geography, money; shared attributes, ranks, ages). A
repair changes a value and never which facts are given: the number and the categories of the entities stay. The paper
asks a language model for this; here each constraint is a test and a repair, so that it holds by construction.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final, Literal

from clinaudit.audit.pii.benchmark.generator.catalog import vocabulary
from clinaudit.audit.pii.benchmark.generator.person import DAYS_A_YEAR, OLDEST, YOUNGEST, Person, draw_organization

#: A parent is at least this much older than the child, in years (C.2).
PARENT_GAP_YEARS: Final = 18
_TEACHER_GAP_YEARS: Final = 4
#: A person of this age may still have a parent who speaks.
_OLDEST_CHILD: Final = 58
_LEAST_WORKING_AGE: Final = 18
#: What two facts conflict in (PII-Bench, C.1), or two persons (C.2).
Conflict = Literal["time", "profession", "geography", "money", "relation"]
#: Rounds of repairs before a draw is given up.
_ROUNDS: Final = 40
_BACHELOR: Final = 2
_TEACHING: Final = "university professor"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that must hold of a person, and what makes it hold."""

    name: str
    conflict: Conflict
    holds: Callable[[Person], bool]
    mend: Callable[[Person, random.Random], Person]


def years_between(first: date, second: date) -> int:
    """Return the whole years from one day to another."""
    return second.year - first.year - ((second.month, second.day) < (first.month, first.day))


def occupation_group(occupation: str) -> Mapping[str, Any]:
    """Return what an occupation needs: `needs` (rank of education), `least_age`, `income` (dollars a month)."""
    for group in vocabulary()["occupation"]:
        if occupation in group["names"]:
            return dict(group)
    raise KeyError(occupation)


def gives_no_degree(school: str) -> bool:
    """Return whether a school is of a kind that gives no bachelor's degree."""
    return any(school.endswith(ending) for ending in vocabulary()["school"]["lower"])


def _least_age(person: Person) -> int:
    """The least age that the person's education and occupation allow."""
    education = int(vocabulary()["education"][person.schooling]["least_age"])
    return max(education, int(occupation_group(person.occupation)["least_age"]))


def _born_at_age(person: Person, rng: random.Random) -> Person:
    latest = _years_before(person.today, person.age)
    return replace(person, birth=latest - timedelta(days=rng.randrange(365)))


def _years_before(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year - years)
    except ValueError:  # 29 February
        return day.replace(year=day.year - years, day=28)


def _hired_while_working(person: Person, rng: random.Random) -> Person:
    days = int(person.work_years * DAYS_A_YEAR)
    return replace(person, hired=person.today - timedelta(days=rng.randint(min(7, days), max(days, 7))))


def _was_hired_while_working(person: Person) -> bool:
    days = max(7, int(person.work_years * DAYS_A_YEAR))
    return 0 <= (person.today - person.hired).days <= days


def _schooled(person: Person, rng: random.Random) -> Person:
    school = draw_organization(rng, "school")
    while gives_no_degree(school):
        school = draw_organization(rng, "school")
    return replace(person, school=school)


def _paid(person: Person, rng: random.Random) -> Person:
    low, high = occupation_group(person.occupation)["income"]
    return replace(person, income=10 * rng.randint(low // 10, high // 10))


def _is_paid_plausibly(person: Person) -> bool:
    low, high = occupation_group(person.occupation)["income"]
    return bool(low <= person.income <= high)


#: In the order of repair: who one is before what one does, and that before what one earns.
CONSTRAINTS: Final = (
    Constraint(
        "occupation needs its education",
        "profession",
        lambda p: p.schooling >= occupation_group(p.occupation)["needs"],
        lambda p, _rng: replace(p, schooling=occupation_group(p.occupation)["needs"]),
    ),
    Constraint(
        "school gives the education",
        "profession",
        lambda p: p.schooling < _BACHELOR or not gives_no_degree(p.school),
        _schooled,
    ),
    Constraint(
        "education and occupation need their age",
        "time",
        lambda p: p.age >= _least_age(p),
        lambda p, rng: replace(p, age=rng.randint(_least_age(p), max(_least_age(p), 67))),
    ),
    Constraint(
        "work begins at 18",
        "time",
        lambda p: p.age >= _LEAST_WORKING_AGE + p.work_years,
        lambda p, rng: replace(p, work_years=rng.randint(0, p.age - _LEAST_WORKING_AGE)),
    ),
    Constraint("birth date agrees with age", "time", lambda p: years_between(p.birth, p.today) == p.age, _born_at_age),
    Constraint("hired during the working years", "time", _was_hired_while_working, _hired_while_working),
    Constraint(
        "home and work in one state",
        "geography",
        lambda p: p.state == p.work_state,
        lambda p, _rng: replace(p, work_state=p.state),
    ),
    Constraint("income fits the occupation", "money", _is_paid_plausibly, _paid),
    Constraint(
        "expenses within income",
        "money",
        lambda p: p.expenses <= p.income,
        lambda p, rng: replace(p, expenses=10 * rng.randint(p.income * 35 // 1000, p.income * 98 // 1000)),
    ),
    Constraint(
        "bonus within half a year's income",
        "money",
        lambda p: p.bonus <= 6 * p.income,
        lambda p, rng: replace(p, bonus=50 * rng.randint(2, max(2, 6 * p.income // 50))),
    ),
    Constraint(
        "tax within two fifths of the year's income",
        "money",
        lambda p: 5 * p.tax <= 24 * p.income,
        lambda p, rng: replace(p, tax=10 * rng.randint(p.income * 4 // 100, p.income * 24 // 50)),
    ),
    Constraint(
        "social security within a sixth of income",
        "money",
        lambda p: 6 * p.social_security <= p.income,
        lambda p, rng: replace(p, social_security=rng.randint(max(1, p.income // 20), p.income // 6)),
    ),
)


def settle(person: Person, rng: random.Random) -> tuple[Person, Counter[Conflict]] | None:
    """Repair a person until every constraint holds; return it and the repairs, None where they do not end."""
    repairs: Counter[Conflict] = Counter()
    for _ in range(_ROUNDS):
        broken = next((constraint for constraint in CONSTRAINTS if not constraint.holds(person)), None)
        if broken is None:
            return person, repairs
        person = broken.mend(person, rng)
        repairs[broken.conflict] += 1
    return None


def settle_pair(
    first: Person, second: Person, *, rule: str, shares: str | None, rng: random.Random
) -> tuple[Person, Person, Counter[Conflict]] | None:
    """Repair two persons until each is consistent and they agree with their relation; None where that does not end."""
    repairs: Counter[Conflict] = Counter()
    second = replace(second, today=first.today)
    for _ in range(_ROUNDS):
        settled_first, settled_second = settle(first, rng), settle(second, rng)
        if settled_first is None or settled_second is None:
            return None
        (first, of_first), (second, of_second) = settled_first, settled_second
        repairs += of_first + of_second
        if agrees(first, second, rule=rule, shares=shares):
            return first, second, repairs
        first, second = _mend_pair(first, second, rule=rule, shares=shares, rng=rng)
        repairs["relation"] += 1
    return None


def agrees(first: Person, second: Person, *, rule: str, shares: str | None) -> bool:
    """Return whether two persons agree with their relation; the first is the parent, supervisor or teacher."""
    if shares and getattr(first, shares) != getattr(second, shares):
        return False
    if shares and shares != "school" and first.state != second.state:
        return False
    if rule == "parent":
        inherited = ("surname", "origin", "nationality", "ethnicity", "race")
        return first.age >= second.age + PARENT_GAP_YEARS and all(
            getattr(first, name) == getattr(second, name) for name in inherited
        )
    if rule == "supervisor":
        return all(getattr(first, name) >= getattr(second, name) for name in ("schooling", "work_years", "income"))
    if rule == "teacher":
        taught = first.schooling > second.schooling and first.age >= second.age + _TEACHER_GAP_YEARS
        return taught and first.occupation == _TEACHING
    return True


def _mend_pair(
    first: Person, second: Person, *, rule: str, shares: str | None, rng: random.Random
) -> tuple[Person, Person]:
    if shares:
        # A school must suit the one who has learned more.
        giver = second if shares == "school" and rule == "shared" and second.schooling > first.schooling else first
        first = replace(first, **{shares: getattr(giver, shares)})
        second = replace(second, **{shares: getattr(giver, shares)})
        if shares != "school":
            second = replace(second, state=first.state, work_state=first.state)
    if rule == "parent":
        age = min(second.age, _OLDEST_CHILD)
        second = replace(
            second,
            age=age,
            origin=first.origin,
            surname=first.surname,
            nationality=first.nationality,
            ethnicity=first.ethnicity,
            race=first.race,
        )
        if first.age < age + PARENT_GAP_YEARS:
            oldest = min(OLDEST, age + 38)
            first = replace(first, age=rng.randint(age + PARENT_GAP_YEARS, max(oldest, age + PARENT_GAP_YEARS)))
    elif rule == "supervisor":
        years = max(first.work_years, second.work_years)
        above = first.schooling >= second.schooling and first.income >= second.income
        first = replace(
            first,
            occupation=first.occupation if above else second.occupation,
            schooling=max(first.schooling, second.schooling),
            work_years=years,
            age=max(first.age, years + 22),
            income=max(first.income, second.income),
        )
    elif rule == "teacher":
        job = rng.choice(vocabulary()["occupation"][0]["names"])
        younger = replace(second, age=rng.randint(YOUNGEST, 34), schooling=rng.randint(0, 2), occupation=job)
        first = replace(first, occupation=_TEACHING, schooling=4, age=max(first.age, younger.age + 12))
        second = younger
    return first, second
