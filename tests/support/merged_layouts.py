"""Invented notes in layouts that one corpus may hold together.

A banner that is a table, `Title :`, `=== Title ===`, labels that lead to their values by dots, a letter, two columns.
Knows the facts that each note holds; no layout is that of a shipped profile.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from clinaudit.priors.tiers import Fact

_GIVEN = ("Ada", "Brandon", "Mia", "Zoe", "Ian", "Mary-Ann", "Tom", "Priya", "Olu", "Grace", "Wanda", "Otto")
_SURNAMES = ("Green", "Lund", "Ode", "Nuñez", "O'Brien", "Smith-Jones", "Kaur", "Berg", "Weiss", "van der Ley")
_COMPLAINTS = ("low mood", "cough for 3 weeks", "knee pain", "poor sleep and worry", "headache")
_PROSE = ("Began after a fall.\nNo fever.", "Worse at night, better with rest: no red flags.", "Came on slowly.")


@dataclass(frozen=True)
class MergedNote:
    """One patient's note, the site that wrote it, and its facts as it writes them."""

    patient_id: str
    layout: str
    text: str
    facts: dict[Fact, str]


def table_note(rng: random.Random, *, dates: str = "%m/%d/%Y", has_top: bool = False) -> tuple[str, dict[Fact, str]]:
    """Return a note whose banner is a table, its cells labelled by the cell before or at the top of the column."""
    who = _facts(rng, dates)
    rows = [
        [("Patient", who[Fact.NAME]), ("DOB", who[Fact.DOB]), ("Age", who[Fact.AGE])],
        [("Sex", who[Fact.SEX]), ("Visit date", who[Fact.VISIT_DATE])],
        [("Provider", who[Fact.PROVIDER]), ("Clinic", who[Fact.PRACTICE])],
    ]
    lines: list[str] = []
    for row in rows:
        if has_top:
            lines += [_row([name for name, _ in row]), _row(["---"] * len(row)), _row([value for _, value in row])]
        else:
            lines.append(_row([cell for pair in row for cell in pair]))
    return "\n".join([*lines, "", _sections(who, "{}\n".format, str.upper)]), who


def spaced_note(rng: random.Random) -> tuple[str, dict[Fact, str]]:
    """Return a note that writes a blank before its colons, as French does."""
    who = _facts(rng, "%d/%m/%Y")
    labels = {
        Fact.NAME: "Name",
        Fact.DOB: "Date of birth",
        Fact.AGE: "Age",
        Fact.SEX: "Sex",
        Fact.VISIT_DATE: "Date",
        Fact.PROVIDER: "Seen by",
        Fact.PRACTICE: "Surgery",
    }
    banner = "".join(f"{label} : {who[fact]}\n" for fact, label in labels.items())
    return f"{banner}\n{_sections(who, '{} : '.format, str.title)}", who


def enclosed_note(rng: random.Random, marks: str = "=== {} ===") -> tuple[str, dict[Fact, str]]:
    """Return a note with marks around its headers, the first of which stands above the banner."""
    who = _facts(rng, "%Y-%m-%d")
    banner = (
        f"{marks.format('VISIT')}\nPatient name: {who[Fact.NAME]} ({who[Fact.AGE]} {who[Fact.SEX]})\n"
        f"Born: {who[Fact.DOB]}\nDate of service: {who[Fact.VISIT_DATE]}\nPhysician: {who[Fact.PROVIDER]}\n"
        f"Location: {who[Fact.PRACTICE]}\n\n"
    )
    return banner + _sections(who, lambda title: f"{marks.format(title)}\n", str.upper), who


def leader_note(rng: random.Random, *, has_colon: bool = True) -> tuple[str, dict[Fact, str]]:
    """Return a note whose labels lead to their values by dots, with a colon after these or without."""
    who = _facts(rng, "%d-%b-%Y")
    labels = {
        "Name": who[Fact.NAME],
        "Hospital number": f"{rng.randrange(10**5, 10**6)}-{rng.randrange(10)}",
        "Date of birth": who[Fact.DOB],
        "Sex": who[Fact.SEX],
        "Date seen": who[Fact.VISIT_DATE],
        "Physician": who[Fact.PROVIDER],
        "Unit": who[Fact.PRACTICE],
    }
    banner = "".join(f"{label:.<22}{':' if has_colon else ''} {value}\n" for label, value in labels.items())
    del who[Fact.AGE]
    return banner + "\n" + _sections(who, "{}\n".format, str.upper), who


def letter_note(rng: random.Random) -> tuple[str, dict[Fact, str]]:
    """Return a letter about a patient: who, and when born, in a sentence after `Re:`."""
    who = _facts(rng, "%d %B %Y")
    who[Fact.NAME] = f"{rng.choice(('Mr', 'Mrs', 'Ms'))} {who[Fact.NAME]}"
    who[Fact.PRACTICE] = rng.choice(("Elm Road Surgery", "Northfield Surgery"))
    who[Fact.PROVIDER] = rng.choice(("Dr M Ode", "Dr Jo Ek", "Dr S Poole"))
    banner = (
        f"{who[Fact.PRACTICE]}\n{rng.randrange(1, 90)} Elm Road\n\n{who[Fact.VISIT_DATE]}\n\n"
        f"Re: {who[Fact.NAME]}, DOB {who[Fact.DOB]}, NHS No {rng.randrange(10**9, 10**10)}\n"
        f"Seen by {who[Fact.PROVIDER]}\n\n"
    )
    del who[Fact.AGE], who[Fact.SEX]
    return banner + _sections(who, "{}: ".format, str.title), who


def column_note(rng: random.Random) -> tuple[str, dict[Fact, str]]:
    """Return a note with the clinic in the left column of its banner and the patient in the right one."""
    who = _facts(rng, "%m/%d/%Y")
    surname, _, given = reversed(who[Fact.NAME].partition(" "))
    who[Fact.NAME] = f"{surname}, {given}"
    left = rng.choice(("Lakeshore Family Medicine", "Lakeshore Internal Medicine", "Lakeshore Specialty Care"))
    banner = (
        f"{left:<34}{who[Fact.NAME]}   MRN: {rng.randrange(10**6, 10**7)}\n"
        f"{'Progress Note':<34}DOB: {who[Fact.DOB]}   {who[Fact.AGE]} {who[Fact.SEX]}\n"
        f"Encounter Date: {who[Fact.VISIT_DATE]}   Author: {who[Fact.PROVIDER]}\n\n"
    )
    del who[Fact.PRACTICE]
    return banner + _sections(who, "{}:\n".format, str.title), who


def merged_notes(**layouts: tuple[Callable[[random.Random], tuple[str, dict[Fact, str]]], int]) -> list[MergedNote]:
    """Return so many notes of each layout, in an order that tells nothing."""
    notes = [
        MergedNote(f"{name}-{number:03}", name, *write(rng))
        for name, (write, count) in layouts.items()
        for rng in [random.Random(name)]
        for number in range(count)
    ]
    random.Random(1).shuffle(notes)
    return notes


def _facts(rng: random.Random, dates: str) -> dict[Fact, str]:
    born = date(1935, 1, 1) + timedelta(days=rng.randrange(25000))
    seen = date(2024, 1, 1) + timedelta(days=rng.randrange(360))
    return {
        Fact.NAME: f"{rng.choice(_GIVEN)} {rng.choice(_SURNAMES)}",
        Fact.DOB: born.strftime(dates),
        Fact.AGE: f"{seen.year - born.year} y.o.",
        Fact.SEX: rng.choice("FM"),
        Fact.VISIT_DATE: seen.strftime(dates),
        Fact.PROVIDER: rng.choice(("Jo Ek, MD", "Maria Ode, NP", "Sam T. Poole, MD")),
        Fact.PRACTICE: rng.choice(("Riverbend West", "Elm Clinic")),
        Fact.CHIEF_COMPLAINT: rng.choice(_COMPLAINTS),
        Fact.HPI: rng.choice(_PROSE),
    }


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sections(who: dict[Fact, str], write: Callable[[str], str], case: Callable[[str], str]) -> str:
    sections = {
        "Chief Complaint": who[Fact.CHIEF_COMPLAINT],
        "History of Present Illness": who[Fact.HPI],
        "Physical Exam": "well",
        "Plan": "rest",
    }
    return "\n\n".join(f"{write(case(title))}{body}" for title, body in sections.items()) + "\n"
