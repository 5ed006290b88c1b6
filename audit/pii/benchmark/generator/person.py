"""An invented person, and two who know each other: facts drawn in an order in which they agree; names by origin.

Owns what the facts of one person, and of two, have to do with each other (PII-Bench, C.1: time, profession, geography,
money; C.2: shared attributes, ranks, ages). The paper draws each fact by itself and asks a language model to repair
what conflicts. Here a fact is drawn from what those before it allow, so that all agree by construction; what nothing
else hangs on is drawn as it is written (`values.py`).
"""

import random
import re
import unicodedata
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
