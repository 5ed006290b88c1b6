"""A patient and a note, as the tables give them. Knows nothing of file formats."""

from dataclasses import dataclass, field
from datetime import date, time
from typing import Literal

from clinaudit.priors.corpus.note_texts import NoteTexts

Split = Literal["train", "nontrain"]
#: What a table may say. Patients of the validation split chose a checkpoint, and taught the model nothing: they are
#: described, and stand in no arm.
TableSplit = Split | Literal["validation"]


@dataclass(frozen=True, slots=True)
class Note:
    """One note; notes of two readings are never equal."""

    patient_id: str
    note_id: str
    #: The date as written; None where the corpus gives none.
    visit_date: date | None
    provider: str | None
    practice: str | None
    note_type: str | None
    #: Place in the notes table, from 0.
    position: int
    #: Where its text lies, under its position.
    texts: NoteTexts = field(repr=False)
    #: Time of the visit, where the table gives one; most visits have a date alone.
    visit_time: time = time.min

    @property
    def text(self) -> str:
        """The text exactly as given, read anew each time: hold it no longer than it is needed."""
        return self.texts.text(self.position)


def moment_of(note: Note) -> tuple[bool, date, time, int]:
    """Return by what notes are in order of time: undated ones first, then by visit, then in file order."""
    return note.visit_date is not None, note.visit_date or date.min, note.visit_time, note.position


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
    #: The table says no more than that the patient is 90 or older; `age` is 90 then.
    age_is_pooled: bool = False
    #: Where the table gives the year of birth alone; `dob` is None then.
    birth_year: int | None = None
    #: Of the validation split: `Corpus.validation` holds the patient, `Corpus.patients` does not.
    is_validation: bool = False
    #: What the rows of the other ids of this person say besides.
    other_ids: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    other_births: tuple[date, ...] = ()
