"""The text of each fact of a person, in the formats of PII-Bench's Table 11 and their everyday variants.

Owns what a fact hangs on of its person, and what a library draws. How each is written is a list of `vocabulary.toml`.
Knows nothing of where a text will stand.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final

from clinaudit.audit.pii.benchmark.generator.grammar import vocabulary
from clinaudit.audit.pii.benchmark.generator.person import Person, compose, library

#: From this age on, an age is an identifier of its own (45 CFR 164.514(b)(2)(i)(C)).
VERY_OLD: Final = 90
_LONGEST_HANDLE_CHARS: Final = 16
_DAYS_A_YEAR: Final = 365.2425
#: The rank of education from which on a school of these kinds gave no degree.
_BACHELOR: Final = 2
_LOWER_SCHOOLS: Final = ("Community College", "Academy", "High School")
Rng = random.Random


def write_fact(person: Person, key: str, rng: Rng) -> str:
    """Return the text of a fact; raises `KeyError` for one that nothing writes."""
    if key in _DRAWN_BY_LIBRARY:
        return str(_DRAWN_BY_LIBRARY[key](library("en_US", rng), rng))
    return _OF_PERSON[key](person, rng) if key in _OF_PERSON else compose(key, rng)


def write_name(person: Person, form: str, rng: Rng) -> str:
    """Return what names a person: `full_name`, `nickname` or `social_handle`."""
    if form == "social_handle":
        return compose(form, rng, given=_plain(person.given_name)).lower()[:_LONGEST_HANDLE_CHARS]
    return compose(form, rng) if form == "nickname" else f"{person.given_name} {person.surname}"


def _plain(name: str) -> str:
    """Return a name as it stands in an address: small letters a to z."""
    folded = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in folded if "a" <= letter <= "z") or "user"


def _date(day: date, rng: Rng) -> str:
    return day.strftime(compose("date", rng)).replace("@", str(day.day))


def _near_day(person: Person, rng: Rng, first: int, last: int) -> str:
    return _date(person.today + timedelta(days=rng.randint(first, last)), rng)


def _birth_date(person: Person, rng: Rng) -> str:
    year = person.today.year - person.age
    try:
        latest = person.today.replace(year=year)
    except ValueError:  # 29 February
        latest = person.today.replace(year=year, day=28)
    return _date(latest - timedelta(days=rng.randrange(365)), rng)


def _work_years(person: Person, rng: Rng) -> str:
    if person.work_years < 1:
        return compose("months", rng)
    return "1 year" if person.work_years == 1 else f"{person.work_years} years"


def _amount(dollars: int, rng: Rng) -> str:
    return compose("amount", rng, dollars=f"{dollars:,}", plain=str(dollars))


def _share(person: Person, rng: Rng, low: int, high: int) -> str:
    """Return an amount in tens of dollars, between two shares of the monthly income, in thousandths."""
    return _amount(10 * rng.randint(person.income * low // 10_000, person.income * high // 10_000), rng)


def _at_home(key: str, person: Person, rng: Rng) -> str:
    """Return a place or a number of the person's state."""
    state: Mapping[str, Any] = vocabulary()["states"][person.state]
    area, zip_code = rng.choice(state["area_codes"]), rng.choice(state["zips"])
    return compose(key, rng, state=person.state, short=state["short"], area=area, zip=zip_code)


def _email(person: Person, rng: Rng) -> str:
    given, surname = _plain(person.given_name), _plain(person.surname)
    return compose("email", rng, given=given, initial=given[0], surname=surname).lower()


def _school(person: Person, rng: Rng) -> str:
    school = compose("school", rng)
    while person.schooling >= _BACHELOR and school.endswith(_LOWER_SCHOOLS):
        school = compose("school", rng)
    return school


def _education(column: str, person: Person, rng: Rng) -> str:
    return str(rng.choice(vocabulary()["education"][person.schooling][column]))


def _sexual_orientation(person: Person, rng: Rng) -> str:
    is_lesbian = person.gender == "female" and rng.random() < 1 / 8
    return "lesbian" if is_lesbian else compose("sexual_orientation", rng)


def _height(person: Person, rng: Rng) -> str:
    centimetres = round(rng.gauss({"female": 163, "male": 176}.get(person.gender, 169), 7))
    feet, inches = divmod(round(centimetres / 2.54), 12)
    return compose("height", rng, centimetres=str(centimetres), feet=str(feet), inches=str(inches))


def _weight(person: Person, rng: Rng) -> str:
    kilograms = max(43, round(rng.gauss({"female": 70, "male": 84}.get(person.gender, 76), 13)))
    return compose("weight", rng, kilograms=str(kilograms), pounds=str(round(kilograms * 2.2046)))


def _drug(_person: Person, rng: Rng) -> str:
    """Return a drug, every other time without its dose."""
    drug = compose("drug", rng)
    return drug if rng.random() < 0.5 else re.split(r" (?=\d)", drug)[0]


#: Faker keeps the rules of issue and the check digits of these.
_DRAWN_BY_LIBRARY: Final[Mapping[str, Callable[[Any, Rng], object]]] = {
    "ssn": lambda faker, _rng: faker.ssn(),
    "credit_card": lambda faker, rng: faker.credit_card_number(rng.choice(("visa16", "mastercard", "discover"))),
    "ip_address": lambda faker, rng: faker.ipv6() if rng.random() < 0.2 else faker.ipv4(),
    "vehicle_id": lambda faker, rng: faker.vin() if rng.random() < 0.3 else compose("plate", rng),
}
_OF_PERSON: Final[Mapping[str, Callable[[Person, Rng], str]]] = {
    "occupation": lambda p, _rng: p.occupation,
    "age": lambda p, _rng: str(p.age),
    "nationality": lambda p, _rng: p.nationality,
    "ethnicity": lambda p, _rng: p.ethnicity,
    "race": lambda p, _rng: p.race,
    "phone": lambda p, rng: _at_home("phone", p, rng),
    "fax": lambda p, rng: _at_home("phone", p, rng),
    "zip_code": lambda p, rng: _at_home("zip_code", p, rng),
    "city": lambda p, rng: _at_home("city", p, rng),
    "work_city": lambda p, rng: _at_home("city", p, rng),
    "email": _email,
    "url": lambda _p, rng: compose("url", rng).lower(),
    "gender": lambda p, rng: compose(f"gender_{p.gender}", rng),
    "sexual_orientation": _sexual_orientation,
    "height": _height,
    "weight": _weight,
    "physical_features": lambda _p, rng: compose("physical_features", rng).lower(),
    "drug": _drug,
    "school": _school,
    "degree": lambda p, rng: _education("clinicians" if p.is_clinician else "degrees", p, rng),
    "education_level": lambda p, rng: _education("levels", p, rng),
    "birth_date": _birth_date,
    "hire_date": lambda p, rng: _near_day(p, rng, -max(7, int(p.work_years * _DAYS_A_YEAR)), -7),
    "appointment_date": lambda p, rng: _near_day(p, rng, 2, 90),
    "admission_date": lambda p, rng: _near_day(p, rng, -60, -1),
    "work_years": _work_years,
    "monthly_income": lambda p, rng: _amount(p.income, rng),
    "monthly_expenses": lambda p, rng: _share(p, rng, 350, 980),
    "annual_bonus": lambda p, rng: _share(p, rng, 50, 5_000),
    "tax_payment": lambda p, rng: _share(p, rng, 400, 4_800),
    "social_security_payment": lambda p, rng: _amount(rng.randint(p.income // 20, p.income // 6), rng),
    "account_balance": lambda _p, rng: _amount(rng.randint(40, 90_000), rng),
    "credit_limit": lambda p, rng: _share(p, rng, 500, 3_000),
    "loan_amount": lambda p, rng: _share(p, rng, 1_000, 40_000),
}
