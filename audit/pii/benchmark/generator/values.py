"""The text of each fact of a person, in the formats of PII-Bench's Table 11 and their everyday variants.

Owns formats and check digits. Knows nothing of where a text will stand.
"""

import hashlib
import random
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final

from clinaudit.audit.pii.benchmark.generator.catalog import vocabulary
from clinaudit.audit.pii.benchmark.generator.person import Names, Person, draw_organization, draw_stem

_FAKER: Final = "en_US"
#: From this age on, an age is an identifier of its own (45 CFR 164.514(b)(2)(i)(C)).
VERY_OLD: Final = 90
_MAIL_ENDS: Final = ("mail.com", "post.net", "box.org", "inbox.com", "letters.net", "web.io")


class Writer:
    """Writes the facts of persons; one a run, since locales are slow to load."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def write(self, person: Person, key: str, rng: random.Random) -> str:
        """Return the text of a fact; raises `KeyError` for one that is not written here."""
        if key in _DRAWN_BY_LIBRARY:
            return _DRAWN_BY_LIBRARY[key](self._names.faker(_FAKER, rng), rng)
        if key in _OF_PERSON:
            return _OF_PERSON[key](person, rng)
        if key in _AS_IT_IS:
            return str(getattr(person, key))
        if key in _AMOUNTS:
            return write_amount(getattr(person, _AMOUNTS[key]), rng)
        if key in _ORGANIZATIONS:
            return draw_organization(rng, key)
        if key in _LISTED:
            return str(rng.choice(vocabulary()["demographics"][key]))
        return _BY_ITSELF[key](rng)

    def name_of(self, person: Person, form: str, rng: random.Random) -> str:
        """Return what names a person: `full_name`, `nickname` or `social_handle`."""
        words = vocabulary()["words"]
        if form == "nickname":
            nickname = rng.choice(words["nicknames"])
            return f"{rng.choice(words['nickname_adjectives'])} {nickname}" if rng.random() < 0.5 else str(nickname)
        if form == "social_handle":
            word = rng.choice(words["nouns"])
            stem = rng.choice((_plain(person.given_name), rng.choice(words["adjectives"]).lower()))
            return f"@{stem}{rng.choice(('', '_'))}{word}{rng.choice(('', str(rng.randint(2, 99))))}"[:16]
        return f"{person.given_name} {person.surname}"


def write_date(day: date, rng: random.Random) -> str:
    """Return a day in one of the usual ways to write it; the ISO way of Table 11 most often."""
    long = day.strftime("%B")
    return rng.choice(
        (
            day.isoformat(),
            day.isoformat(),
            f"{long} {day.day}, {day.year}",
            f"{day.day} {long} {day.year}",
            day.strftime("%m/%d/%Y"),
            f"{day:%b} {day.day}, {day.year}",
        )
    )


def write_amount(dollars: int, rng: random.Random) -> str:
    """Return an amount of money."""
    return rng.choice((f"${dollars:,}", f"${dollars:,}", f"${dollars}", f"USD {dollars:,}", f"${dollars:,}.00"))


def write_years(years: int, rng: random.Random) -> str:
    """Return a number of years as a duration; below one year, of months."""
    if years < 1:
        return f"{rng.randint(2, 11)} months"
    return "1 year" if years == 1 else f"{years} years"


def _plain(name: str) -> str:
    """A name as it stands in an address: small letters a to z."""
    folded = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in folded if "a" <= letter <= "z") or "user"


def _digits(rng: random.Random, number: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(number))


def _capitals(rng: random.Random, number: int) -> str:
    return "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(number))


def _phone(person: Person, rng: random.Random) -> str:
    area = rng.choice(vocabulary()["place"]["states"][person.state]["area_codes"])
    exchange, line = f"{rng.randint(220, 989)}", _digits(rng, 4)
    return rng.choice(
        (
            f"+1-{area}{exchange}{line}",
            f"({area}) {exchange}-{line}",
            f"{area}-{exchange}-{line}",
            f"{area}.{exchange}.{line}",
            f"+1 {area} {exchange} {line}",
        )
    )


def _email(person: Person, rng: random.Random) -> str:
    given, surname = _plain(person.given_name), _plain(person.surname)
    user = rng.choice(
        (f"{given}.{surname}", f"{given[0]}{surname}", f"{surname}{rng.randint(1, 99)}", f"{given}_{surname}")
    )
    return f"{user}@{draw_stem(rng).lower()}{rng.choice(_MAIL_ENDS)}"


def _city(town: str, state: int, rng: random.Random) -> str:
    row = vocabulary()["place"]["states"][state]
    return rng.choice((town, town, f"{town}, {row['name']}", f"{town}, {row['short']}"))


def _zip_code(person: Person, rng: random.Random) -> str:
    five = rng.choice(vocabulary()["place"]["states"][person.state]["zips"]) + _digits(rng, 2)
    return f"{five}-{_digits(rng, 4)}" if rng.random() < 0.2 else five


def _street_address(rng: random.Random) -> str:
    street = vocabulary()["street"]
    unit = rng.choice(street["units"]).format(n=rng.randint(1, 60))
    line = f"{rng.randint(1, 9_900)} {rng.choice(street['names'])} {rng.choice(street['kinds'])}"
    return f"{line}, {unit}" if unit else line


def _url(rng: random.Random) -> str:
    host = draw_stem(rng).lower() + rng.choice(("blog.com", "diary.net", "pages.org"))
    return f"https://www.{host}/{rng.choice(vocabulary()['words']['nouns'])}{_digits(rng, 3)}"


def _sexual_orientation(person: Person, rng: random.Random) -> str:
    words = vocabulary()["demographics"]
    choices = words["sexual_orientation"] + (words["sexual_orientation_female"] if person.gender == "female" else [])
    return str(rng.choice(choices))


def _height(person: Person, rng: random.Random) -> str:
    centimetres = round(rng.gauss({"female": 163, "male": 176}.get(person.gender, 169), 7))
    inches = round(centimetres / 2.54)
    return rng.choice((f"{centimetres} cm", f"{centimetres}cm", f"{inches // 12}'{inches % 12}\""))


def _weight(person: Person, rng: random.Random) -> str:
    kilograms = max(43, round(rng.gauss({"female": 70, "male": 84}.get(person.gender, 76), 13)))
    return rng.choice((f"{kilograms} kg", f"{kilograms}kg", f"{round(kilograms * 2.2046)} lbs"))


def _degree(person: Person, rng: random.Random) -> str:
    row = vocabulary()["education"][person.schooling]
    return str(rng.choice(row["clinicians"] if person.is_clinician else row["degrees"]))


def _physical_features(rng: random.Random) -> str:
    table = vocabulary()["physical_features"]
    parts = {name: rng.choice(table[name]) for name in ("shade", "hair", "eye", "side", "part", "digit")}
    animal = rng.choice(vocabulary()["words"]["animals"]).lower()
    return str(rng.choice(table["patterns"])).format(**parts, animal=animal)


def _condition(rng: random.Random) -> str:
    health = vocabulary()["health"]
    return f"{rng.choice(health['grades'])}{rng.choice(health['conditions'])}"


def _drug(rng: random.Random) -> str:
    drug, dose = rng.choice(list(vocabulary()["health"]["drugs"].items()))
    return f"{drug} {dose}" if rng.random() < 0.5 else str(drug)


def _time(rng: random.Random) -> str:
    hour, minute = rng.randint(6, 20), rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50))
    spoken = f"{(hour - 1) % 12 + 1}:{minute:02d} {'AM' if hour < 12 else 'PM'}"
    return rng.choice((f"{hour:02d}:{minute:02d}:00", f"{hour:02d}:{minute:02d}", spoken, spoken))


def _span(rng: random.Random, units: Mapping[str, tuple[int, int]]) -> str:
    unit = rng.choice(list(units))
    low, high = units[unit]
    number = rng.randint(low, high)
    return rng.choice(
        (f"{number} {unit}", f"{number} {unit}", f"{number}{unit[0]}" if unit[0] in "dh" else f"{number} {unit}")
    )


def _near_day(person: Person, rng: random.Random, first: int, last: int) -> str:
    return write_date(person.today + timedelta(days=rng.randint(first, last)), rng)


def _percentage(rng: random.Random, high: int) -> str:
    return f"{rng.randint(1, high)}.{_digits(rng, 2)}%"


#: Facts that are written as the person has them.
_AS_IT_IS: Final = frozenset(
    {"company", "school", "ngo", "healthcare_facility", "occupation", "age", "nationality", "ethnicity", "race"}
)
#: Amounts of money, by the fact of the person.
_AMOUNTS: Final[Mapping[str, str]] = {
    "monthly_income": "income",
    "monthly_expenses": "expenses",
    "annual_bonus": "bonus",
    "tax_payment": "tax",
    "social_security_payment": "social_security",
    "account_balance": "balance",
}
#: Drawn for nobody in particular: put together as organizations are, or of a list.
_ORGANIZATIONS: Final = frozenset({"landmark", "ward", "government_agency", "clinic"})
_LISTED: Final = frozenset({"blood_type", "religion", "politics"})
#: Faker keeps the rules of issue and the check digits of these.
_DRAWN_BY_LIBRARY: Final[Mapping[str, Callable[[Any, random.Random], str]]] = {
    "ssn": lambda faker, _rng: str(faker.ssn()),
    "credit_card": lambda faker, rng: str(faker.credit_card_number(rng.choice(("visa16", "mastercard", "discover")))),
    "ip_address": lambda faker, rng: str(faker.ipv6() if rng.random() < 0.2 else faker.ipv4()),
    "vehicle_id": lambda faker, rng: (
        str(faker.vin()) if rng.random() < 0.3 else f"{_capitals(rng, 3)}-{_digits(rng, 4)}"
    ),
}
_OF_PERSON: Final[Mapping[str, Callable[[Person, random.Random], str]]] = {
    "phone": _phone,
    "fax": _phone,
    "email": _email,
    "zip_code": _zip_code,
    "city": lambda p, rng: _city(p.city, p.state, rng),
    "work_city": lambda p, rng: _city(p.work_city, p.work_state, rng),
    "gender": lambda p, rng: str(rng.choice(vocabulary()["demographics"][f"genders_{p.gender}"])),
    "sexual_orientation": _sexual_orientation,
    "height": _height,
    "weight": _weight,
    "degree": _degree,
    "education_level": lambda p, rng: str(rng.choice(vocabulary()["education"][p.schooling]["levels"])),
    "birth_date": lambda p, rng: write_date(p.birth, rng),
    "hire_date": lambda p, rng: write_date(p.hired, rng),
    "appointment_date": lambda p, rng: _near_day(p, rng, 2, 90),
    "admission_date": lambda p, rng: _near_day(p, rng, -60, -1),
    "work_years": lambda p, rng: write_years(p.work_years, rng),
    "credit_limit": lambda p, rng: write_amount(500 * rng.randint(2, max(3, p.income // 150)), rng),
    "loan_amount": lambda p, rng: write_amount(500 * rng.randint(3, max(4, p.income // 12)), rng),
}
_BY_ITSELF: Final[Mapping[str, Callable[[random.Random], str]]] = {
    "driver_licence": lambda rng: _capitals(rng, 1) + _digits(rng, 8),
    "bank_account": lambda rng: _digits(rng, rng.randint(10, 12)),
    "password_hash": lambda rng: hashlib.sha256(rng.randbytes(16)).hexdigest(),
    "passport": lambda rng: _capitals(rng, 1) + _digits(rng, 8),
    "tax_id": lambda rng: rng.choice((_digits(rng, 9), f"{_digits(rng, 2)}-{_digits(rng, 7)}")),
    "employee_id": lambda rng: _capitals(rng, 2) + _digits(rng, 6),
    "student_id": lambda rng: _digits(rng, 8),
    "mrn": lambda rng: rng.choice((_digits(rng, 7), f"MR-{_digits(rng, 6)}", _digits(rng, 8))),
    "health_plan_number": lambda rng: _capitals(rng, 3) + _digits(rng, 9),
    "account_number": lambda rng: rng.choice((_digits(rng, 9), f"HA{_digits(rng, 8)}")),
    "device_id": lambda rng: f"{_capitals(rng, 2)}{_digits(rng, 4)}-{_digits(rng, 5)}",
    "url": _url,
    "licence_number": lambda rng: f"{rng.choice(('RN', 'MD', 'PA', 'LIC'))}-{_digits(rng, 6)}",
    "biometric_id": lambda rng: f"FP-{_digits(rng, 4)}-{_capitals(rng, 4)}",
    "photograph": lambda rng: f"IMG_{_digits(rng, 6)}.jpg",
    "other_code": lambda rng: f"{_capitals(rng, 4)}-{_digits(rng, 3)}-{_digits(rng, 4)}",
    "street_address": _street_address,
    "county": lambda rng: f"{draw_stem(rng)} County",
    "physical_features": _physical_features,
    "medical_condition": _condition,
    "diagnosis": _condition,
    "drug": _drug,
    "disability": lambda rng: str(rng.choice(vocabulary()["health"]["disabilities"])),
    "time": _time,
    "stay_length": lambda rng: _span(rng, {"days": (2, 30), "weeks": (2, 12)}),
    "waiting_time": lambda rng: _span(rng, {"days": (3, 90), "weeks": (2, 26), "hours": (2, 30), "months": (2, 18)}),
    "debt_ratio": lambda rng: _percentage(rng, 62),
    "investment_return": lambda rng: _percentage(rng, 24),
    "roi": lambda rng: _percentage(rng, 80),
    "credit_score": lambda rng: str(rng.randint(300, 850)),
}
