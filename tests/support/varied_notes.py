"""Invented notes in three layouts whose wording varies as people write: names, clinicians, places, optional sections.

Knows the facts that each note holds. No layout is that of a shipped profile.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from clinaudit.priors.tiers import Fact

_GIVEN = ("Brandon", "Ada", "Mia", "Zoë", "Ian", "Mary-Ann", "Tom", "Priya", "Olu", "Grace", "Hannah", "José")
_SURNAMES = (
    *("Green", "Lund", "Ode", "Nuñez", "Ahmadi", "O'Brien", "Smith-Jones", "Kaur", "Berg", "Tanaka", "Weiss"),
    *("MacLeod", "Silva", "Novak", "Hughes"),
)
_CLINICIANS = ("Maria Ode, NP", "Jo Ek, MD", "Sam T. Poole, MD", "Lena Fox, PA-C")
_DOCTORS = ("Dr R Patel", "Dr Smith", "Dr Anne Hill", "Nurse Kelly")
_SURGERIES = ("High St Surgery", "The Elms Medical Centre", "Park Lane Practice")
_COMPLAINTS = ("low mood", "cough for 3 weeks", "knee pain", "poor sleep and worry", "headache", "follow up of asthma")
_PROSE = (
    "Says that it began after a fall.\nNo fever. History of the same last year.",
    "Worse at night, better with rest: no red flags.\nWorks from home.",
    "Patient reports three episodes.\nDenies chest pain.\nPlan was to wait, which did not help.",
    "Came on slowly. Takes paracetamol with little effect.",
)


@dataclass(frozen=True)
class VariedNote:
    """One invented patient's note; `facts` are as the note writes them."""

    patient_id: str
    text: str
    facts: dict[Fact, str]


@dataclass(frozen=True)
class _Patient:
    given: str
    surname: str
    born: date
    seen: date
    sex: str
    complaint: str
    hpi: str

    @property
    def age(self) -> int:
        return self.seen.year - self.born.year - ((self.seen.month, self.seen.day) < (self.born.month, self.born.day))


def banner_notes(count: int) -> list[VariedNote]:
    """Return notes whose banner has several facts a line."""
    return _notes("banner", count, _banner)


def labelled_notes(count: int) -> list[VariedNote]:
    """Return notes with one labelled fact a line."""
    return _notes("labelled", count, _labelled)


def shorthand_notes(count: int) -> list[VariedNote]:
    """Return notes in British shorthand."""
    return _notes("shorthand", count, _shorthand)


def _notes(
    layout: str, count: int, write: Callable[[_Patient, random.Random], tuple[str, dict[Fact, str]]]
) -> list[VariedNote]:
    rng = random.Random(layout)
    notes: list[VariedNote] = []
    for number in range(count):
        patient = _Patient(
            given=rng.choice(_GIVEN),
            surname=rng.choice(_SURNAMES),
            born=date(1935, 1, 1) + timedelta(days=rng.randrange(25000)),
            seen=date(2024, 1, 1) + timedelta(days=rng.randrange(360)),
            sex=rng.choice("FM"),
            complaint=rng.choice(_COMPLAINTS),
            hpi=rng.choice(_PROSE),
        )
        text, facts = write(patient, rng)
        shared = {Fact.CHIEF_COMPLAINT: patient.complaint, Fact.HPI: patient.hpi}
        notes.append(VariedNote(f"{layout}-{number:03}", text, {**facts, **shared}))
    return notes


def _banner(who: _Patient, rng: random.Random) -> tuple[str, dict[Fact, str]]:
    name = f"{who.surname}, {who.given}{rng.choice(('', '', ' A.', ' Jo'))}"
    dob, seen, clinician = who.born.strftime("%m/%d/%Y"), who.seen.strftime("%m/%d/%Y"), rng.choice(_CLINICIANS)
    place = rng.choice(("Riverbend West", "Riverbend Main Street", "Telehealth"))
    extra = rng.choice(("", "Allergies: NKDA\n", "Allergies: penicillin\nSocial History: lives alone\n"))
    text = (
        f"RIVERBEND FAMILY MEDICINE - Office Visit\nPt: {name}   DOB: {dob} ({who.age} yo {who.sex})   "
        f"MRN: {rng.randrange(10**6, 10**7)}\nDOS: {seen} {rng.randrange(8, 18)}:15    Seen by: {clinician}    "
        f"Site: {place}\n\nCC: {who.complaint}\n\nHPI: {who.hpi}\n\nMedications: none\n{extra}"
        f"Physical Exam: well\nA/P: rest\n"
    )
    facts = {Fact.NAME: name, Fact.DOB: dob, Fact.AGE: f"{who.age}", Fact.SEX: who.sex, Fact.VISIT_DATE: seen}
    return text, {**facts, Fact.PROVIDER: clinician, Fact.PRACTICE: place}


def _labelled(who: _Patient, rng: random.Random) -> tuple[str, dict[Fact, str]]:
    name, clinician = f"{who.given} {who.surname}", rng.choice(_DOCTORS)
    born, seen = f"{who.born:%d} {who.born:%B} {who.born:%Y}", f"{who.seen:%d} {who.seen:%B} {who.seen:%Y}"
    place, sex = rng.choice(("Northgate Community Team", "Southside Team")), {"F": "Female", "M": "Male"}[who.sex]
    sections = "".join(
        f"**{title}**\r\n{words}\r\n\r\n"
        for title, words in (("Medication", "sertraline 50 mg"), ("Mental State", "calm"), ("Risk", "low"))
        if rng.random() < 0.7
    )
    hpi = who.hpi.replace("\n", "\r\n")
    text = (
        f"Client: {name}\r\nBorn: {born}\r\nGender: {sex}\r\nSeen on: {seen}\r\nPractitioner: {clinician}\r\n"
        f"Team: {place}\r\n\r\n**Presenting Problem**\r\n{who.complaint}\r\n\r\n**History**\r\n{hpi}\r\n\r\n{sections}"
        "**Plan**\r\nreview in a month\r\n"
    )
    facts = {Fact.NAME: name, Fact.DOB: born, Fact.SEX: sex, Fact.VISIT_DATE: seen, Fact.PROVIDER: clinician}
    return text, {**facts, Fact.PRACTICE: place}


def _shorthand(who: _Patient, rng: random.Random) -> tuple[str, dict[Fact, str]]:
    dob, seen, clinician = who.born.strftime("%d/%m/%Y"), who.seen.strftime("%d/%m/%Y"), rng.choice(_DOCTORS)
    place, name = rng.choice(_SURGERIES), f"{who.given} {who.surname}"
    extra = rng.choice(("", "PMH nil\n", "PMH asthma\nDH salbutamol\n"))
    text = (
        f"{seen} {clinician}, {place}\n{name} {who.age}{who.sex} DOB {dob}\n\nC/O {who.complaint}\nHPC {who.hpi}\n"
        f"{extra}O/E well, obs normal\nImp: viral\nPlan: rest, r/v {rng.randrange(1, 5)}/52\n"
    )
    facts = {Fact.NAME: name, Fact.DOB: dob, Fact.AGE: f"{who.age}", Fact.SEX: who.sex, Fact.VISIT_DATE: seen}
    return text, {**facts, Fact.PROVIDER: clinician, Fact.PRACTICE: place}
