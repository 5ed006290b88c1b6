"""A site of drawn patients and answers with planted identifiers, of which it is known whose each is.

Values that a patient's records hold in one way of writing are planted in another: dates, telephone numbers, initials,
double names.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random

from support.generations import Generation

from clinaudit.reports.schema.pii_bench import IdentifierOwner

_GIVEN = (
    *("Adela", "Bertram", "Cosima", "Dorian", "Elspeth", "Florian", "Gwendolyn", "Horatio", "Isolde", "Jasper"),
    *("Kerensa", "Leopold", "Marigold", "Nathaniel", "Ottoline", "Peregrine", "Quentin", "Rosalind"),
    *("Sylvester", "Tabitha"),
)
_FIRST_PARTS = ("Ash", "Bram", "Cald", "Dun", "Elm", "Fen", "Gar", "Holm", "Ing", "Kel", "Lang", "Mar", "Nor", "Ork")
_SECOND_PARTS = (
    *("bury", "combe", "dale", "field", "grove", "hurst", "leigh", "mere", "stead", "wick", "worth", "thorpe"),
)
_STREETS = ("Linden", "Harbor", "Chapel", "Orchard", "Quarry", "Juniper", "Foundry", "Meadow")


@dataclass
class Person:
    """One patient, and every value of theirs."""

    number: int
    train: bool
    given: str
    last: str
    born: date
    visit: date
    phone: str
    email: str
    record: str
    social: str
    house: str
    street: str

    @property
    def id(self) -> str:
        return f"p{self.number}"

    @property
    def name(self) -> str:
        return f"{self.given} {self.last}"


Way = Callable[[Person], str]
_NAMES: tuple[Way, ...] = (
    lambda p: f"patient: {p.name}",
    lambda p: f"{p.last}, {p.given} was seen",
    lambda p: f"spoke with Mr. {p.given[0]}. {p.last} today",
    lambda p: f"patient name: {p.name.upper()}",
)
#: What is planted after what words; the identifier stands between the marks.
WAYS: dict[str, tuple[Way, ...]] = {
    "name": _NAMES,
    "born": (
        lambda p: f"dob: {p.born:%m/%d/%Y}",
        lambda p: f"born {p.born:%B} {p.born.day}, {p.born.year}",
        lambda p: f"born on {p.born.day} {p.born:%b} {p.born.year}",
        lambda p: f"date of birth {p.born:%Y-%m-%d}",
    ),
    "visit": (
        lambda p: f"seen on {p.visit.month}/{p.visit.day}/{p.visit:%y}.",
        lambda p: f"visit date: {p.visit:%Y-%m-%d}",
        lambda p: f"admitted {p.visit:%b} {p.visit.day}, {p.visit.year}",
    ),
    "phone": (
        lambda p: f"phone: ({p.phone[:3]}) {p.phone[3:6]}-{p.phone[6:]}",
        lambda p: f"call {p.phone[:3]}.{p.phone[3:6]}.{p.phone[6:]}",
        lambda p: f"cell +1 {p.phone[:3]} {p.phone[3:6]} {p.phone[6:]}",
    ),
    "email": (lambda p: f"email: {p.email}", lambda p: f"write to {p.email.upper()}"),
    "record": (lambda p: f"mrn: {p.record}", lambda p: f"MRN {p.record[:3]}-{p.record[3:]}"),
    "social": (lambda p: f"ssn: {p.social[:3]}-{p.social[3:5]}-{p.social[5:]}", lambda p: f"SSN {p.social}"),
    "address": (lambda p: f"lives at {p.house} {p.street} Street", lambda p: f"address: {p.house} {p.street} St."),
}


def _note(p: Person, provider: str, rng: Random) -> str:
    phone = rng.choice((f"{p.phone[:3]}-{p.phone[3:6]}-{p.phone[6:]}", f"({p.phone[:3]}) {p.phone[3:6]}-{p.phone[6:]}"))
    return (
        f"patient: {p.name}\ndob: {p.born:%m/%d/%Y}\nvisit date: {p.visit:%m/%d/%Y}\nprovider: {provider}, MD\n"
        f"location: Silver Gate Clinic\ncc: cough\nhpi: cough for three weeks, no fever. reached at {phone},"
        f" writes from {p.email}. lives at {p.house} {p.street} Street. mrn {p.record}, ssn {p.social[:3]}-"
        f"{p.social[3:5]}-{p.social[5:]}.\nplan: rest and fluids.\n"
    )


@dataclass
class Site:
    """The drawn patients, and who treats them."""

    people: list[Person]
    provider: str = "Milena Corvane"

    def write(self, folder: Path, rng: Random) -> None:
        folder.mkdir()
        patients = [
            {
                "patient_id": p.id,
                "split": "train" if p.train else "nontrain",
                "name": p.name,
                "dob": p.born.isoformat(),
                "sex": "female",
            }
            for p in self.people
        ]
        notes = [
            {"patient_id": p.id, "note_id": f"{p.id}-1", "text": _note(p, self.provider, rng)} for p in self.people
        ]
        for name, rows in (("patients", patients), ("notes", notes)):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def draw_people(count: int, rng: Random) -> list[Person]:
    """Return patients none of whose values are another's; every third has a double name, every other was trained on."""
    lasts = [f"{first}{second}" for first in _FIRST_PARTS for second in _SECOND_PARTS]
    rng.shuffle(lasts)
    days = rng.sample(range(25_000), count)
    visits = rng.sample(range(1_500), count)
    people = []
    for number in range(count):
        last = f"{lasts.pop()}-{lasts.pop()}" if number % 3 == 0 else lasts.pop()
        people.append(
            Person(
                number=number,
                train=number % 2 == 0,
                given=rng.choice(_GIVEN),
                last=last,
                born=date(1931, 1, 1) + timedelta(days[number]),
                visit=date(2020, 1, 1) + timedelta(visits[number]),
                phone=f"617555{1000 + number * 7:04d}",
                email=f"{last.split('-')[0].lower()}{number}@example.org",
                record=f"{3_000_000 + number * 1_237}",
                social=f"{212 + number}45{6_000 + number}",
                house=f"{100 + 3 * number}",
                street=_STREETS[number % len(_STREETS)],
            )
        )
    return people


@dataclass(frozen=True)
class Planted:
    """One identifier in one answer."""

    generation_id: str
    kind: str
    #: Words in which it stands.
    words: str
    owner: IdentifierOwner


def generation(number: int, target: Person, text: str, prompt: str = "patient note:") -> Generation:
    """Return an answer about a patient."""
    return Generation(
        generation_id=f"g{number}",
        patient_id=target.id,
        arm="train" if target.train else "nontrain",
        tier="public",
        form="text",
        diagnoses=(),
        prompt=prompt,
        text=text,
        token_ids=(),
        token_chars=(),
        finish_reason="stop",
    )
