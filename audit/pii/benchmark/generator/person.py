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
from collections.abc import Mapping
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
    """Draw a person whose facts agree; `today` and `occupation` are drawn where they are not given."""
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
    """Return a text of a list, its slots filled by lists or as `given`: `{stem} Falls` may become `Marrwick Falls`."""

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


def write_fact(person: Person, key: str, rng: random.Random) -> str:
    """Return the text of a fact; raises `KeyError` for one that nothing writes."""
    words = vocabulary()

    def after(days: int, since: date = person.today) -> str:
        day = since + timedelta(days)
        return day.strftime(compose("date", rng)).replace("@", str(day.day))

    def amount(dollars: int) -> str:
        return compose("amount", rng, dollars=f"{dollars:,}", plain=str(dollars))

    match key:
        # Faker keeps the rules of issue and the check digits of these.
        case "ssn":
            return str(library("en_US", rng).ssn())
        case "credit_card":
            kind = rng.choice(("visa16", "mastercard", "discover"))
            return str(library("en_US", rng).credit_card_number(kind))
        case "ip_address":
            faker = library("en_US", rng)
            return str(faker.ipv6() if rng.random() < 0.2 else faker.ipv4())
        case "vehicle_id":
            return str(library("en_US", rng).vin()) if rng.random() < 0.3 else compose("plate", rng)
        case "occupation" | "age" | "nationality" | "ethnicity" | "race":
            return str(getattr(person, key))
        case "phone" | "fax" | "zip_code" | "city" | "work_city":
            state: Mapping[str, Any] = words["states"][person.state]
            area, zip_code = rng.choice(state["area_codes"]), rng.choice(state["zips"])
            written = {"fax": "phone", "work_city": "city"}.get(key, key)
            return compose(written, rng, state=person.state, short=state["short"], area=area, zip=zip_code)
        case "email":
            given, surname = _plain(person.given_name), _plain(person.surname)
            return compose("email", rng, given=given, initial=given[0], surname=surname).lower()
        case "url" | "physical_features":
            return compose(key, rng).lower()
        case "gender":
            return compose(f"gender_{person.gender}", rng)
        case "sexual_orientation":
            is_lesbian = person.gender == "female" and rng.random() < 1 / 8
            return "lesbian" if is_lesbian else compose(key, rng)
        case "height":
            centimetres = round(rng.gauss({"female": 163, "male": 176}.get(person.gender, 169), 7))
            feet, inches = divmod(round(centimetres / 2.54), 12)
            return compose(key, rng, centimetres=str(centimetres), feet=str(feet), inches=str(inches))
        case "weight":
            kilograms = max(43, round(rng.gauss({"female": 70, "male": 84}.get(person.gender, 76), 13)))
            return compose(key, rng, kilograms=str(kilograms), pounds=str(round(kilograms * 2.2046)))
        case "drug":
            drug = compose(key, rng)
            # Every other time without its dose.
            return drug if rng.random() < 0.5 else re.split(r" (?=\d)", drug)[0]
        case "school":
            school = compose(key, rng)
            while person.schooling >= _BACHELOR and school.endswith(_LOWER_SCHOOLS):
                school = compose(key, rng)
            return school
        case "degree" | "education_level":
            column = "levels" if key != "degree" else "clinicians" if person.is_clinician else "degrees"
            return str(rng.choice(words["education"][person.schooling][column]))
        case "birth_date":
            year = person.today.year - person.age
            # 29 February is a day of few years.
            day = 28 if (person.today.month, person.today.day) == (2, 29) and year % 4 else person.today.day
            return after(-rng.randrange(365), person.today.replace(year=year, day=day))
        case "hire_date":
            return after(rng.randint(-max(7, int(person.work_years * _DAYS_A_YEAR)), -7))
        case "appointment_date":
            return after(rng.randint(2, 90))
        case "admission_date":
            return after(rng.randint(-60, -1))
        case "work_years":
            if person.work_years < 1:
                return compose("months", rng)
            return "1 year" if person.work_years == 1 else f"{person.work_years} years"
        case "monthly_income":
            return amount(person.income)
        case "social_security_payment":
            return amount(rng.randint(person.income // 20, person.income // 6))
        case "account_balance":
            return amount(rng.randint(40, 90_000))
        case _ if key in _SHARES_OF_INCOME:
            low, high = (person.income * share // 10_000 for share in _SHARES_OF_INCOME[key])
            return amount(10 * rng.randint(low, high))
    return compose(key, rng)


#: Amounts in tens of dollars, between two shares of the monthly income, in thousandths.
_SHARES_OF_INCOME: Final[Mapping[str, tuple[int, int]]] = {
    "monthly_expenses": (350, 980),
    "annual_bonus": (50, 5_000),
    "tax_payment": (400, 4_800),
    "credit_limit": (500, 3_000),
    "loan_amount": (1_000, 40_000),
}


def write_name(person: Person, form: str, rng: random.Random) -> str:
    """Return what names a person: `full_name`, `nickname` or `social_handle`."""
    if form == "social_handle":
        return compose(form, rng, given=_plain(person.given_name)).lower()[:_LONGEST_HANDLE_CHARS]
    return compose(form, rng) if form == "nickname" else f"{person.given_name} {person.surname}"


def _plain(name: str) -> str:
    """Return a name as it stands in an address: small letters a to z."""
    folded = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in folded if "a" <= letter <= "z") or "user"
