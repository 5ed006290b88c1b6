"""An invented person, and two who know each other: facts that agree, the text of each; names by origin.

Owns what the facts of one person, and of two, have to do with each other (PII-Bench, C.1: time, profession, geography,
money; C.2: shared attributes, ranks, ages). The paper draws each fact by itself and asks a language model to repair
what conflicts. Here a fact is drawn from what those before it allow, so that all agree by construction; what nothing
else hangs on is drawn as it is written, in the formats of PII-Bench's Table 11 and their everyday variants, by the
lists of `vocabulary.toml`.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from clinaudit.audit.pii.benchmark.generator.grammar import Encounter, Kind, vocabulary

if TYPE_CHECKING:
    from faker import Faker

Gender = Literal["female", "male", "other"]
_OTHER_GENDER_SHARE: Final = 0.06
#: Descriptions are written on some day of these years.
_FIRST_DAY: Final = date(2024, 1, 1)
_DAYS: Final = 700
_OLDEST: Final = 84
#: In clinical descriptions, where ages over 89 have their own category.
_OLDEST_PATIENT: Final = 96
LEAST_WORKING_AGE: Final = 18
_MOST_WORK_YEARS: Final = 40
#: Ranks of education: 0 high school, 1 associate, 2 bachelor, 3 master, 4 doctorate.
_RANKS: Final = 5
_TEACHING: Final = "university professor"
#: A parent is at least this much older than the child, in years (C.2).
PARENT_GAP_YEARS: Final = 18
_TEACHER_GAP_YEARS: Final = 4
#: Pairs drawn before no relation is found; a supervisor of a trainee takes the most, five on the average.
_DRAWS: Final = 400


@dataclass(frozen=True, slots=True)
class Person:
    """What the facts of one person hang on."""

    gender: Gender
    #: The locale of the name.
    origin: str
    given_name: str
    surname: str
    #: The day on which the description is written.
    today: date
    age: int
    #: Rank of education.
    schooling: int
    occupation: str
    #: Whether the occupation is one of care, and so are the degrees.
    is_clinician: bool
    work_years: int
    #: Dollars a month.
    income: int
    #: The state of the home and of the work.
    state: str
    nationality: str
    ethnicity: str
    race: str


def draw_person(
    rng: random.Random, *, kind: Kind = "person", today: date | None = None, occupation: str | None = None
) -> Person:
    """Draw a person whose facts agree: what they have learned before what they do, and that before what they earn.

    `today` and `occupation` are drawn where they are not given.
    """
    words = vocabulary()
    jobs = "clinicians" if kind == "clinician" else "names"
    gender: Gender = "other" if rng.random() < _OTHER_GENDER_SHARE else rng.choice(("female", "male"))
    origin, given_name, surname = _draw_name(rng, gender)
    ranked = enumerate(words["occupation"])
    needs, group = rng.choice([row for row in ranked if jobs in row[1] and occupation in (None, *row[1][jobs])])
    schooling = max(needs, rng.randrange(_RANKS))
    least = max(words["education"][schooling]["least_age"], group["least_age"])
    age = rng.randint(least, _OLDEST_PATIENT if kind == "patient" else _OLDEST)
    low, high = group["income"]
    return Person(
        gender=gender,
        origin=origin,
        given_name=given_name,
        surname=surname,
        today=today or _FIRST_DAY + timedelta(days=rng.randrange(_DAYS)),
        age=age,
        schooling=schooling,
        occupation=occupation or rng.choice(group[jobs]),
        is_clinician=kind == "clinician",
        work_years=rng.randint(0, min(age - LEAST_WORKING_AGE, _MOST_WORK_YEARS)),
        income=10 * rng.randint(low // 10, high // 10),
        state=rng.choice(list(words["states"])),
        nationality=compose("nationality", rng),
        ethnicity=compose("ethnicity", rng),
        race=compose("race", rng),
    )


def draw_pair(rng: random.Random, encounter: Encounter) -> tuple[Person, Person]:
    """Draw two persons who agree with their relation; the first is the parent, supervisor or teacher."""
    for _ in range(_DRAWS):
        occupation = _TEACHING if encounter.rule == "teacher" else None
        first = draw_person(rng, kind=encounter.kinds[0], occupation=occupation)
        second = draw_person(rng, kind=encounter.kinds[1], today=first.today)
        if encounter.rule == "parent":
            inherited = ("origin", "surname", "nationality", "ethnicity", "race")
            second = replace(second, **{name: getattr(first, name) for name in inherited})
        if encounter.shares and encounter.shares != "school":
            second = replace(second, state=first.state)
        if agrees(first, second, encounter):
            return first, second
    raise RuntimeError(f"no pair in {_DRAWS} draws")


def agrees(first: Person, second: Person, encounter: Encounter) -> bool:
    """Return whether the ages and ranks of two persons are those of their relation."""
    if encounter.rule == "parent":
        return first.age >= second.age + PARENT_GAP_YEARS
    if encounter.rule == "supervisor":
        return all(getattr(first, name) >= getattr(second, name) for name in ("schooling", "work_years", "income"))
    if encounter.rule == "teacher":
        return first.schooling > second.schooling and first.age >= second.age + _TEACHER_GAP_YEARS
    # A school that two share is the first one's, and must suit the second.
    return encounter.shares != "school" or first.schooling >= second.schooling


def _draw_name(rng: random.Random, gender: Gender) -> tuple[str, str, str]:
    """Return the locale, a given name and a surname, composed (NFC)."""
    origins = vocabulary()["origins"]
    (origin,) = rng.choices(list(origins), list(origins.values()))
    names = library(origin, rng)
    if origin == "zh_CN":
        pair = names.first_romanized_name(), names.last_romanized_name()
    elif gender == "female":
        pair = names.first_name_female(), names.last_name_female()
    elif gender == "male":
        pair = names.first_name_male(), names.last_name_male()
    else:
        pair = names.first_name_nonbinary(), names.last_name()
    given, surname = (unicodedata.normalize("NFC", name) for name in pair)
    return origin, given, surname


def library(locale: str, rng: random.Random) -> Any:
    """Return Faker's generator of a locale, drawing from `rng` until it is asked for again."""
    faker = _load_faker(locale)
    faker.random = rng  # type: ignore[attr-defined]  # a property of the proxy, which its stubs leave out
    return faker


@cache
def _load_faker(locale: str) -> "Faker":
    from faker import Faker

    return Faker(locale)


_SLOT: Final = re.compile(r"\{(?:(\d+)-(\d+)|([a-z_]+?)(\d*))\}")


def compose(name: str, rng: random.Random, **given: str) -> str:
    """Return a text of a list of the vocabulary, its slots filled: `{stem} Falls` may become `Marrwick Falls`.

    `given` are texts of slots that are no lists.
    """

    def part(slot: re.Match[str]) -> str:
        low, high, of_list, times = slot.groups()
        if low:
            return str(rng.randint(int(low), int(high)))
        if of_list in given:
            return given[of_list]
        return "".join(compose(of_list, rng, **given) for _ in range(int(times or 1)))

    return _SLOT.sub(part, rng.choice(vocabulary()["texts"][name]))


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
