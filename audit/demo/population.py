"""The demo's patients: who they are, what they have, when they were seen, of the words in `invented.toml`.

Diagnoses are drawn in blocks of patients of one sex and nearly equal age and number of notes, so that each of the
six is common enough, and unrelated enough to the matching covariates, for 40 matched patients a cell at every seed
(docs/methods.md, section 4); which patient of a block is positive is left to chance.
"""

import random
import statistics
import tomllib
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from clinaudit.reports.schema.record import ARMS

_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("invented.toml").read_text(encoding="utf-8"))
#: A table of the file, its keys as attributes: a chronic condition that is none of the six, a reason for a visit, or
#: the wordings of a sensitive diagnosis. The file says what each key is.
Table = SimpleNamespace
#: Of a note, for `str.format`.
LAYOUT: Final[str] = _TABLES["layout"]
CONDITIONS, COMPLAINTS, DIAGNOSES = (
    [Table(**table) for table in _TABLES[kind]] for kind in ("conditions", "complaints", "diagnoses")
)
DIAGNOSIS_IDS: Final[tuple[str, ...]] = tuple(diagnosis.id for diagnosis in DIAGNOSES)
#: Names of people and places, and social facts, by what they are.
WORDS: Final[Mapping[str, list[str]]] = _TABLES["words"]
PROVIDERS: Final[list[tuple[str, str]]] = [(given, last) for given, last in map(str.split, WORDS["providers"])]
#: Race and ethnicity, with weights.
RACES: Final[Mapping[str, float]] = _TABLES["races"]
#: By body system, then by style of provider.
REVIEW_OF_SYSTEMS: Final[Mapping[str, list[str]]] = _TABLES["review_of_systems"]
#: By style of provider, then by body system.
EXAMS: Final[list[dict[str, str]]] = _TABLES["exams"]
_FEMALE_SHARE = 0.8
_PREVALENCE = 0.45
#: Patients of nearly equal covariates among whom a diagnosis is drawn with _PREVALENCE.
_BLOCK = 10
#: Numbers of notes and their shares.
_NOTE_COUNTS: tuple[tuple[int, float], ...] = ((2, 0.55), (3, 0.3), (4, 0.1), (5, 0.05))
#: Patients among whom numbers of notes are dealt by their shares.
_NOTE_DECK = 20
#: Draws of the positives of one diagnosis, of which the best balanced is kept, as in a rerandomized trial.
_DRAWS = 20
#: Ages at the latest visit: upper end (inclusive) of a band and its share, after Table 7.
_AGE_BANDS: tuple[tuple[int, float], ...] = ((34, 0.15), (49, 0.26), (64, 0.28), (79, 0.22), (88, 0.09))
_YOUNGEST = 19
_LAST_DAY = date(2025, 6, 30)
_DAYS_A_YEAR = 365.2425
#: Share of (negative patient, diagnosis) with a denial; and of all with a relative's diagnosis.
_DENIED_SHARE = 0.15
_FAMILY_SHARE = 0.06


class Patient(SimpleNamespace):
    """One invented patient, with what `_draw_patient` draws.

    `visits` are ascending, and `age` is in years at the last of them; `conditions` are chronic ones and `sensitive` the
    planted diagnoses, both in the wording that the notes keep; `denied` are ids of diagnoses that the notes deny,
    `in_family` of those that a relative has.
    """

    def has(self, diagnosis_id: str) -> bool:
        """Whether the patient was given this diagnosis."""
        return any(planted.diagnosis.id == diagnosis_id for planted in self.sensitive)


class _Seat(NamedTuple):
    """The matching covariates of one patient to be, and the diagnoses drawn for them."""

    sex: str
    age: int
    notes: int
    positive: frozenset[str]


def draw_population(*, seed: int, patients_per_arm: int) -> tuple[Patient, ...]:
    """Draw both arms, sorted by patient id; ids are shuffled over the arms so that none reveals its arm."""
    rng = random.Random(f"clinaudit demo population {seed}")
    seats = [(arm, seat) for arm in ARMS for seat in _draw_seats(rng, patients_per_arm)]
    rng.shuffle(seats)
    names = _draw_names(rng, [seat.sex for _, seat in seats])
    width = max(4, len(str(len(seats))))
    patients = []
    for number, ((arm, seat), name) in enumerate(zip(seats, names, strict=True)):
        own = random.Random(f"clinaudit demo patient {seed} {number}")
        patients.append(_draw_patient(own, f"p{number + 1:0{width}d}", arm, seat, name))
    return tuple(patients)


def _draw_seats(rng: random.Random, patients: int) -> list[_Seat]:
    women = round(_FEMALE_SHARE * patients)
    seats = []
    for sex, count in (("female", women), ("male", patients - women)):
        ages = [_age_at((position + rng.random()) / count) for position in range(count)]
        # Numbers of notes are dealt to patients in order of age, so that every age gets its share of each.
        deck = [number for number, share in _NOTE_COUNTS for _ in range(round(share * _NOTE_DECK))]
        notes: list[int] = []
        while len(notes) < count:
            rng.shuffle(deck)
            notes += deck
        order = sorted(zip(notes[:count], ages, strict=True))
        applicable = [d for d in DIAGNOSIS_IDS if sex == "female" or d != "abortion"]
        positives = {}
        for diagnosis in applicable:
            draws = [_draw_in_blocks(rng, len(order)) for _ in range(_DRAWS)]
            # The one whose covariates lie closest to everybody's.
            positives[diagnosis] = min(draws, key=lambda drawn: _imbalance(drawn, order))
        seats += [
            _Seat(sex, age, number, frozenset(d for d in applicable if index in positives[d]))
            for index, (number, age) in enumerate(order)
        ]
    return seats


def _age_at(quantile: float) -> int:
    low, below = _YOUNGEST, 0.0
    for high, share in _AGE_BANDS:
        if quantile < below + share:
            return low + int((quantile - below) / share * (high - low + 1))
        low, below = high + 1, below + share
    return _AGE_BANDS[-1][0]


def _draw_in_blocks(rng: random.Random, patients: int) -> set[int]:
    """Draw about _PREVALENCE of each block; counts are rounded from one phase, so that totals differ by one at most."""
    positives, phase = set[int](), rng.random()
    for start in range(0, patients, _BLOCK):
        block = range(start, min(start + _BLOCK, patients))
        count = int(_PREVALENCE * block.stop + phase) - int(_PREVALENCE * start + phase)
        positives.update(rng.sample(block, count))
    return positives


def _imbalance(positives: set[int], covariates: list[tuple[int, int]]) -> float:
    """Return the larger distance, in standard deviations, of the positives' mean from the mean of all."""
    distances = [0.0]
    for values in zip(*covariates, strict=True):
        chosen = [values[index] for index in positives]
        if chosen and (spread := statistics.pstdev(values)):
            distances.append(abs(statistics.fmean(chosen) - statistics.fmean(values)) / spread)
    return max(distances)


def _draw_names(rng: random.Random, sexes: list[str]) -> list[str]:
    surnames = [first + last for first in WORDS["surname_beginnings"] for last in WORDS["surname_endings"]]
    rng.shuffle(surnames)
    names: list[str] = []
    for number, sex in enumerate(sexes):
        given, initial = rng.choice(WORDS[f"{sex}_names"]), rng.choice("ABCDEFGHJKLMNPRSTVW")
        # Past the 1,500 surnames a full name might come twice; the number of the round keeps it apart.
        again = number // len(surnames)
        names.append(
            f"{given} {initial}. {surnames[number % len(surnames)]}" + (f" {'I' * (again + 1)}" if again else "")
        )
    return names


def _draw_patient(rng: random.Random, patient_id: str, arm: str, seat: _Seat, name: str) -> Patient:
    # Of this age at the last visit, an adult at the first.
    last = _LAST_DAY - timedelta(days=rng.randrange(300))
    dob = last - timedelta(days=int((seat.age + 0.02 + 0.96 * rng.random()) * _DAYS_A_YEAR))
    span = min(rng.uniform(1.2, 4.8), (last - dob).days / _DAYS_A_YEAR - 18) * _DAYS_A_YEAR
    step = span / (seat.notes - 1)
    back = [int(step * (one + rng.uniform(0.0, 0.6) * (one < seat.notes - 1))) for one in range(1, seat.notes)]
    visits = tuple(sorted([last, *(last - timedelta(days=days) for days in back)]))
    practice = rng.randrange(len(WORDS["practices"]))
    conditions = []
    for condition in rng.sample(CONDITIONS, rng.choice((2, 2, 2, 3))):
        since = rng.randint(min(dob.year + 16, visits[0].year), visits[0].year)
        # Numbers that are drawn once a patient.
        numbers = {key: rng.randint(*vars(condition).get(key, (0, 0))) for key in ("a", "b")}
        status = condition.status.format(**numbers)
        medication = _draw_medication(rng, condition.medications)
        conditions.append(Table(condition=condition, since=since, medication=medication, status=status))
    sensitive = tuple(
        _draw_sensitive(rng, diagnosis, dob=dob, last_year=visits[0].year - 1)
        for diagnosis in DIAGNOSES
        if diagnosis.id in seat.positive
    )
    others = [d for d in DIAGNOSIS_IDS if d not in seat.positive and (d != "abortion" or seat.sex == "female")]
    (relative,) = rng.sample(WORDS["relatives"], 1)
    return Patient(
        patient_id=patient_id,
        arm=arm,
        sex=seat.sex,
        name=name,
        dob=dob,
        age=seat.age,
        race=rng.choices(list(RACES), list(RACES.values()))[0],
        marital_status=rng.choice(WORDS["marital_statuses"]),
        occupation=rng.choice(WORDS["occupations"]),
        children=rng.choice((0, 0, 1, 2, 2, 3, 4)),
        provider=PROVIDERS[2 * practice + rng.randrange(2)],
        practice=WORDS["practices"][practice],
        visits=visits,
        conditions=tuple(conditions),
        sensitive=sensitive,
        denied=tuple(d for d in others if rng.random() < _DENIED_SHARE),
        in_family=tuple(d for d in DIAGNOSIS_IDS if rng.random() < _FAMILY_SHARE),
        family=f"{relative}: positive for {rng.choice(WORDS['family_conditions'])};",
        surgery=rng.choice(WORDS["surgeries"]).format(year=_year_of_adult(rng, dob, visits[0].year)),
        allergy=rng.choice(WORDS["allergies"]),
        habits=rng.choice(WORDS["habits"]).format(year=_year_of_adult(rng, dob, visits[0].year)),
        household=rng.choice(WORDS["households"]),
        pastime=rng.choice(WORDS["pastimes"]),
    )


def _draw_sensitive(rng: random.Random, diagnosis: Table, *, dob: date, last_year: int) -> Table:
    last = min(last_year, dob.year + 42) if diagnosis.id == "abortion" else last_year
    year = max(dob.year + 16, rng.randint(min(dob.year + 17, last), last))
    return Table(
        diagnosis=diagnosis,
        year=year,
        history=rng.choice(diagnosis.histories).format(year=year, age=year - dob.year),
        problem=rng.choice(diagnosis.problems).format(year=year) if rng.random() < 0.6 else None,
        medication=_draw_medication(rng, diagnosis.medications) if rng.random() < diagnosis.treated else None,
    )


def _draw_medication(rng: random.Random, choices: list[str]) -> str:
    """Return one of `"name {d} unit sig|dose,dose"` with a dose filled in."""
    wording, doses = rng.choice(choices).split("|")
    return wording.format(d=rng.choice(doses.split(",")))


def _year_of_adult(rng: random.Random, dob: date, last: int) -> int:
    return rng.randint(min(dob.year + 18, last), last)
