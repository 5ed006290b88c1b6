"""Invented patients whose notes are laid out in three ways, and one profile that reads all three."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clinaudit.priors.tiers import Fact

#: A banner with several facts a line, one labelled fact a line under Markdown headings, British shorthand.
PROFILE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Person:
    """One invented patient; `facts` are as the note of the layout writes them."""

    patient_id: str
    layout: str
    note: str
    facts: dict[Fact, str]


_NAMES = ("Brandon Green", "Ada Lund", "Mia Ode", "Zoë Nuñez", "Ian Ahmadi")
_COMPLAINTS = ("low mood", "cough for 3 weeks", "knee pain")
_LAYOUTS = ("banner", "one a line", "shorthand")


def make_people(each: int) -> list[Person]:
    """Return `each` patients of each layout; names, dates and complaints differ from one to the next."""
    return [_person(index, layout) for index in range(each) for layout in _LAYOUTS]


def _person(index: int, layout: str) -> Person:
    name = f"{_NAMES[index % 5].split()[0]} {_NAMES[(index // 5) % 5].split()[1]}"
    # Equal names and birth dates would make one person of three.
    day = 1 + (index + 9 * _LAYOUTS.index(layout)) % 28
    born, seen = date(1950 + index, 1 + index % 12, day), date(2024, 1 + index % 12, 28 - index % 28)
    complaint, hpi = _COMPLAINTS[index % 3], f"Since {2 + index} days.\nNo fever, provider: unknown."
    write = {"banner": _banner, "one a line": _one_a_line, "shorthand": _shorthand}[layout]
    note, banner = write(name, born, seen, complaint, hpi)
    facts = {**banner, Fact.NAME: name, Fact.CHIEF_COMPLAINT: complaint, Fact.HPI: hpi}
    return Person(f"{layout[0]}{index:03}", layout, note, facts)


def _banner(name: str, born: date, seen: date, complaint: str, hpi: str) -> tuple[str, dict[Fact, str]]:
    dob, visit = born.strftime("%m/%d/%Y"), seen.strftime("%m/%d/%Y")
    note = (
        f"ELM VALLEY HEALTH              Ambulatory note\n\nPatient: {name} DOB: {dob}   Sex: F   MRN: 00417\n"
        f"Visit date: {visit} | Provider: Jo Ek, MD | Location: Elm Clinic, 2nd floor\n\n"
        f"Chief Complaint: {complaint}\nHPI: {hpi}\n\nPlan:\n- rest\n"
    )
    facts = {Fact.DOB: dob, Fact.SEX: "F", Fact.VISIT_DATE: visit, Fact.PROVIDER: "Jo Ek, MD"}
    return note, {**facts, Fact.PRACTICE: "Elm Clinic, 2nd floor"}


def _one_a_line(name: str, born: date, seen: date, complaint: str, hpi: str) -> tuple[str, dict[Fact, str]]:
    dob, visit = born.strftime("%B %d, %Y"), seen.strftime("%Y-%m-%d")
    note = (
        f"Name:          {name}\r\nDate of Birth: {dob}\r\nSex:           female\r\nSeen on:       {visit}\r\n"
        f"Clinician:     Dr. Eva Roth\r\nNorth Gate Practice\r\n\r\n## Reason for visit\r\n{complaint}\r\n\r\n"
        f"**History:** {hpi}\r\n\r\n## Plan\r\nrest\r\n"
    )
    facts = {Fact.DOB: dob, Fact.SEX: "female", Fact.VISIT_DATE: visit, Fact.PROVIDER: "Dr. Eva Roth"}
    return note, {**facts, Fact.PRACTICE: "North Gate Practice"}


def _shorthand(name: str, born: date, seen: date, complaint: str, hpi: str) -> tuple[str, dict[Fact, str]]:
    dob, visit = born.strftime("%d/%m/%Y"), seen.strftime("%d/%m/%Y")
    note = (
        f"{visit} Dr Smith, The Surgery\n{name} 34F DOB {dob} NHS 943 476 5919\n\nC/O {complaint}\nHPC {hpi}\n"
        "PMH nil of note\nPlan rest, r/v 1/52\n"
    )
    facts = {Fact.DOB: dob, Fact.AGE: "34", Fact.SEX: "F", Fact.VISIT_DATE: visit, Fact.PROVIDER: "Dr Smith"}
    return note, {**facts, Fact.PRACTICE: "The Surgery"}
