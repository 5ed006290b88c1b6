"""A patient and a note, as the tables give them. Knows nothing of where they were read."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

Split = Literal["train", "nontrain"]


@dataclass(frozen=True, slots=True)
class Note:
    """One note, its text exactly as given."""

    patient_id: str
    note_id: str
    text: str
    #: The date as written; None where the corpus gives none.
    visit_date: date | None
    provider: str | None
    practice: str | None
    note_type: str | None
    #: Place in the notes table, from 0.
    position: int


@dataclass(frozen=True, slots=True)
class Patient:
    """What the tables say about one patient who has notes; None is unknown."""

    patient_id: str
    split: Split
    #: Completed years; where the table gives none, at the latest visit, from the date of birth.
    age: int | None
    #: `female`, `male`, or another word in lower case.
    sex: str | None
    name: str | None
    dob: date | None
    race: str | None
    marital_status: str | None
    occupation: str | None
    children: str | None
