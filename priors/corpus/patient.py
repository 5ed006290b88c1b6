"""A patient and a note, as the tables give them; and a list of patient ids that the user keeps in a file."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clinaudit.errors import BadInputError
from clinaudit.templates.text_file import read_text_file

if TYPE_CHECKING:
    from clinaudit.priors.corpus.note_texts import TextStore

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
    #: Where its text lies, under its position; of a note that was sent to another process the text itself.
    texts: "TextStore | str" = field(repr=False)
    #: Time of the visit, where the table gives one; most visits have a date alone.
    visit_time: time = time.min

    @property
    def text(self) -> str:
        """The text exactly as given, read anew each time: hold it no longer than it is needed."""
        return self.texts if isinstance(self.texts, str) else self.texts.text(self.position)

    def __reduce__(self) -> tuple[object, ...]:
        # Where it is sent, it takes its own text along, and nobody else's.
        return Note, tuple(self.text if one.name == "texts" else getattr(self, one.name) for one in fields(self))


def moment_of(note: Note) -> tuple[bool, date, time, int]:
    """Return by what notes are in order of time: undated ones first, then by visit, then in file order."""
    return note.visit_date is not None, note.visit_date or date.min, note.visit_time, note.position


@dataclass(frozen=True, slots=True)
class Patient:
    """What the tables say about one patient who has notes; None is unknown."""

    patient_id: str
    split: Split
    #: Completed years; where the table gives none, at the latest visit, from the date of birth.
    age: int | None = None
    #: `female`, `male`, or another word in lower case.
    sex: str | None = None
    name: str | None = None
    dob: date | None = None
    race: str | None = None
    marital_status: str | None = None
    occupation: str | None = None
    children: str | None = None
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


@dataclass(frozen=True, slots=True)
class PatientList:
    """The ids of a file, each once, in its order, with the line (from 1) that names each first."""

    file_name: str
    lines: dict[str, int]

    @property
    def ids(self) -> list[str]:
        """The ids in the order of the file."""
        return list(self.lines)

    def as_people(self, person_of: Mapping[str, str]) -> "PatientList":
        """Return the same list with the persons' ids in the place of those of their ids that were joined to them."""
        lines: dict[str, int] = {}
        for patient_id, line in self.lines.items():
            lines.setdefault(person_of.get(patient_id, patient_id), line)
        return PatientList(self.file_name, lines)

    def require_known(self, known: Container[str], *, validation: Container[str] = ()) -> None:
        """Raise `BadInputError` that names every line whose patient is not among the `known` ids.

        Of the ids of the `validation` split, it says that they are.
        """
        held, nobody = "is of the validation split, which is never probed", "no patient with notes has this id"
        problems = [
            f"{self.file_name} line {line}: {held if patient_id in validation else nobody}"
            for patient_id, line in self.lines.items()
            if patient_id not in known
        ]
        if problems:
            raise BadInputError(f"{self.file_name} names patients who cannot be probed; correct these lines", problems)


def read_patient_list(path: Path) -> PatientList:
    """Read the ids, one a line; blank lines do not count. Raises `BadInputError` where there are none."""
    text = read_text_file(path, role="the list of ids").lstrip("\ufeff")
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if patient_id := line.strip():
            lines.setdefault(patient_id, number)
    if not lines:
        raise BadInputError(f"the list of ids {path.name} is empty; give one patient id a line")
    return PatientList(path.name, lines)
