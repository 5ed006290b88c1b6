"""A list of patient ids that the user keeps in a file, one id a line.

Owns the file's format. An id is never repeated in a message: it may be a number of a medical record.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.templates.text_file import read_text_file


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
