"""An invented person: the facts that its values are written from, each drawn by itself.

Owns the record and the draw. Knows nothing of what facts must have to do with each other: see `consistency.py`.
"""

import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

from clinaudit.audit.pii.benchmark.generator import invented_names
from clinaudit.audit.pii.benchmark.generator.catalog import Kind, vocabulary

Gender = Literal["female", "male", "other"]
#: Descriptions are written on some day of these years.
_FIRST_DAY: Final = date(2024, 1, 1)
_DAYS: Final = 700
YOUNGEST: Final = 18
OLDEST: Final = 84
#: In clinical descriptions, where ages over 89 have their own category.
OLDEST_PATIENT: Final = 96
DAYS_A_YEAR: Final = 365.2425
_OTHER_GENDER_SHARE: Final = 0.06


@dataclass(frozen=True, slots=True)
class Person:
    """Facts of one person; amounts in dollars, a month where nothing else is said."""

    gender: Gender
    #: The locale of the name.
    origin: str
    given_name: str
    surname: str
    #: The day on which the description is written.
    today: date
    age: int
    birth: date
    #: Rank of education: 0 high school to 4 doctorate.
    schooling: int
    occupation: str
    #: Whether the occupation is one of care, and so are the degrees.
    is_clinician: bool
    work_years: int
    hired: date
    #: Numbers of states, of the home and of the work.
    state: int
    work_state: int
    city: str
    work_city: str
    company: str
    school: str
    ngo: str
    healthcare_facility: str
    income: int
    expenses: int
    #: A year.
    bonus: int
    #: A year.
    tax: int
    social_security: int
    balance: int
    nationality: str
    ethnicity: str
    race: str


def draw_person(rng: random.Random, names: invented_names.Names, *, kind: Kind = "person") -> Person:
    """Draw every fact by itself, as the entities of the paper are sampled; what conflicts is repaired afterwards."""
    oldest = OLDEST_PATIENT if kind == "patient" else OLDEST
    jobs = "clinicians" if kind == "clinician" else "names"
    words = vocabulary()
    gender: Gender = "other" if rng.random() < _OTHER_GENDER_SHARE else rng.choice(("female", "male"))
    origin, given_name, surname = names.draw_name(rng, gender)
    today = _FIRST_DAY + timedelta(days=rng.randrange(_DAYS))
    states = len(words["place"]["states"])
    group = rng.choice([group for group in words["occupation"] if jobs in group])
    demographics = words["demographics"]
    return Person(
        gender=gender,
        origin=origin,
        given_name=given_name,
        surname=surname,
        today=today,
        age=rng.randint(YOUNGEST, oldest),
        birth=today - timedelta(days=rng.randrange(int(YOUNGEST * DAYS_A_YEAR) + 1, int(oldest * DAYS_A_YEAR))),
        schooling=rng.randrange(len(words["education"])),
        occupation=rng.choice(group[jobs]),
        is_clinician=kind == "clinician",
        work_years=rng.randint(0, 40),
        hired=today - timedelta(days=rng.randrange(30, 9_000)),
        state=rng.randrange(states),
        work_state=rng.randrange(states),
        city=invented_names.draw_town(rng),
        work_city=invented_names.draw_town(rng),
        company=invented_names.draw_organization(rng, "company"),
        school=invented_names.draw_organization(rng, "school"),
        ngo=invented_names.draw_organization(rng, "ngo"),
        healthcare_facility=invented_names.draw_organization(rng, "healthcare_facility"),
        income=10 * rng.randint(150, 2_200),
        expenses=10 * rng.randint(60, 1_600),
        bonus=50 * rng.randint(4, 900),
        tax=10 * rng.randint(40, 9_000),
        social_security=rng.randint(80, 2_400),
        balance=rng.randint(40, 90_000),
        nationality=rng.choice(demographics["nationality"]),
        ethnicity=rng.choice(demographics["ethnicity"]),
        race=rng.choice(demographics["race"]),
    )
