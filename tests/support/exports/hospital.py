"""An invented hospital of three patients, the same for the exports of every format; one patient has no note."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clinaudit.priors.corpus.corpus import read_corpus

FIRST_TEXT = 'CHIEF COMPLAINT: "Low mood", since May\n\n  Plan:\tsertraline 50 mg; ½ tablet – first week 😀\n'
LATER_TEXT = "CHIEF COMPLAINT: follow-up\nSleeps better.\n\nNo new complaint, really.\n"
OTHER_TEXT = "HPI: seen for a refill of Biktarvy.\nCD4 count is stable.\n"


@dataclass(frozen=True)
class Person:
    identifier: str
    sex: str
    born: date
    race: str
    marital_status: str
    #: ICD-10-CM code.
    icd10: str
    #: The same in SNOMED CT.
    snomed: str


@dataclass(frozen=True)
class Visit:
    identifier: str
    patient: str
    day: date
    text: str


PEOPLE = (
    Person("10001", "female", date(1970, 2, 3), "White", "Married", "F32.1", "370143000"),
    Person("10002", "male", date(1985, 11, 30), "Asian", "Single", "B20", "86406008"),
    Person("10003", "female", date(1990, 1, 1), "White", "Single", "I10", "38341003"),
)
VISITS = (
    Visit("501", "10001", date(2021, 3, 4), FIRST_TEXT),
    Visit("502", "10001", date(2021, 6, 1), LATER_TEXT),
    Visit("503", "10002", date(2020, 1, 2), OTHER_TEXT),
)
#: By patient: age at the latest visit, sex, notes by day; what every format can say.
EXPECTED = {
    "10001": (51, "female", [(date(2021, 3, 4), FIRST_TEXT), (date(2021, 6, 1), LATER_TEXT)]),
    "10002": (34, "male", [(date(2020, 1, 2), OTHER_TEXT)]),
}
EXPECTED_LABELS = {("10001", "depression"): True, ("10002", "hiv"): True}


def content_of(corpus: Path) -> tuple[dict[str, object], dict[tuple[str, str], bool]]:
    """Return what `EXPECTED` and `EXPECTED_LABELS` hold, of a corpus that was written."""
    read = read_corpus(corpus)
    people = {
        key: (patient.age, patient.sex, [(note.visit_date, note.text) for note in read.notes_of(key)])
        for key, patient in read.patients.items()
    }
    return people, dict(read.diagnosis_labels or {})
