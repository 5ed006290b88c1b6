"""The three tables of a corpus and their columns (docs/corpus-format.md); no library is needed to know them."""

from collections.abc import Mapping
from dataclasses import dataclass

from clinaudit.priors.corpus.cells import Kind


@dataclass(frozen=True, slots=True)
class Schema:
    """One table: its name and its columns, by how they are read."""

    name: str
    columns: Mapping[str, Kind]
    #: Columns that must be there, and no cell of them blank.
    required: tuple[str, ...]
    #: Columns whose values together are unique.
    key: tuple[str, ...]
    #: A table without a row says something.
    may_be_empty: bool = False


NOTES = Schema(
    "notes",
    {
        "patient_id": Kind.ID,
        "note_id": Kind.ID,
        "text": Kind.TEXT,
        "visit_date": Kind.DATE,
        **dict.fromkeys(("provider", "practice", "note_type", "split"), Kind.WORD),
    },
    required=("patient_id", "note_id", "text"),
    key=("note_id",),
)
PATIENTS = Schema(
    "patients",
    {
        "patient_id": Kind.ID,
        "split": Kind.WORD,
        "age": Kind.NUMBER,
        "sex": Kind.WORD,
        "name": Kind.WORD,
        "dob": Kind.DATE,
        **dict.fromkeys(("race", "marital_status", "occupation"), Kind.WORD),
        "children": Kind.NUMBER,
    },
    required=("patient_id",),
    key=("patient_id",),
)
DIAGNOSES = Schema(
    "diagnoses",
    {"patient_id": Kind.ID, "diagnosis": Kind.CODE, "present": Kind.FLAG},
    required=("patient_id", "diagnosis", "present"),
    key=("patient_id", "diagnosis"),
    may_be_empty=True,
)
SCHEMAS = (NOTES, PATIENTS, DIAGNOSES)
