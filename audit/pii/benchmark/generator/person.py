"""An invented person: the facts that its values are written from, each drawn by itself; names by origin, from Faker.

Towns and organizations are put together of parts. What facts must have to do with each other: `consistency.py`.
"""

import random
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from clinaudit.audit.pii.benchmark.generator.catalog import Kind, vocabulary

if TYPE_CHECKING:
    from faker import Faker

#: Locales of names and their shares, so that recall can be reported by origin. All are written in Latin letters.
ORIGINS: Final[Mapping[str, float]] = {
    "en_US": 0.46,
    "es_MX": 0.08,
    "en_IN": 0.06,
    "vi_VN": 0.06,
    "zh_CN": 0.06,
    "pl_PL": 0.06,
    "tr_TR": 0.06,
    "pt_BR": 0.05,
    "yo_NG": 0.06,
    "zu_ZA": 0.05,
}
_ROMANIZED: Final = frozenset({"zh_CN"})


class Names:
    """Draws names of persons; loads a locale when it is first needed."""

    def __init__(self) -> None:
        self._fakers: dict[str, Faker] = {}

    def faker(self, locale: str, rng: random.Random) -> "Faker":
        """Return the library's generator of a locale, drawing from `rng`."""
        if locale not in self._fakers:
            from faker import Faker

            self._fakers[locale] = Faker(locale)
        faker = self._fakers[locale]
        faker.random = rng  # type: ignore[attr-defined]  # a property of the proxy, which its stubs leave out
        return faker

    def draw_name(self, rng: random.Random, gender: str) -> tuple[str, str, str]:
        """Return the locale, a given name and a surname, composed (NFC)."""
        (origin,) = rng.choices(list(ORIGINS), list(ORIGINS.values()))
        faker = self.faker(origin, rng)
        if origin in _ROMANIZED:
            pair = faker.first_romanized_name(), faker.last_romanized_name()
        elif gender == "female":
            pair = faker.first_name_female(), faker.last_name_female()
        elif gender == "male":
            pair = faker.first_name_male(), faker.last_name_male()
        else:
            pair = faker.first_name_nonbinary(), faker.last_name()
        given, surname = (unicodedata.normalize("NFC", name) for name in pair)
        return origin, given, surname


def draw_stem(rng: random.Random) -> str:
    """Return the stem of an invented place."""
    place = vocabulary()["place"]
    middle = rng.choice(place["middles"]) if rng.random() < 0.5 else ""
    return str(rng.choice(place["beginnings"]) + middle + rng.choice(place["endings"]))


def draw_town(rng: random.Random) -> str:
    """Return the name of an invented town."""
    return str(rng.choice(vocabulary()["place"]["patterns"])).format(stem=draw_stem(rng))


def draw_organization(rng: random.Random, kind: str) -> str:
    """Return the name of an invented organization, landmark or ward, put together of the parts of its table."""
    words = vocabulary()
    table = words[kind]
    pattern: str = rng.choice(table["patterns"])
    parts = {
        "stem": draw_stem(rng),
        "stem2": draw_stem(rng),
        "adjective": rng.choice(words["words"]["adjectives"]),
        "animal": rng.choice(words["words"]["animals"]),
        "n": str(rng.randint(1, 48)),
        "letter": rng.choice("ABCDEFGH"),
    }
    for plural, singular in _PARTS.items():
        if plural in table:
            parts[singular] = rng.choice(table[plural])
    return pattern.format(**parts)


#: Lists of a table, and the slot that takes one of them.
_PARTS: Final = {
    "sectors": "sector",
    "tails": "tail",
    "matters": "matter",
    "natures": "nature",
    "verbs": "verb",
    "causes": "cause",
    "saints": "saint",
    "specialties": "specialty",
    "compass": "compass",
}


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


def draw_person(rng: random.Random, names: Names, *, kind: Kind = "person") -> Person:
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
        city=draw_town(rng),
        work_city=draw_town(rng),
        company=draw_organization(rng, "company"),
        school=draw_organization(rng, "school"),
        ngo=draw_organization(rng, "ngo"),
        healthcare_facility=draw_organization(rng, "healthcare_facility"),
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
