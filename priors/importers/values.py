"""Values of an export's cells: days, ages, sexes, and diagnosis codes (docs/importing.md, "Diagnoses").

Codes become labels by prefix (ICD-10) or concept (SNOMED CT); here it is decided when no code means no diagnosis.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TypeVar

from clinaudit.priors.corpus.cells import MAX_AGE_YEARS, CellError, look, parse_age, parse_sex, read_clock
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.importers import System
from clinaudit.priors.importers.ledger import RecordError

_ICD10 = re.compile(r"[A-Z][0-9][0-9A-Z][0-9A-Z]{0,4}")
_SNOMED = re.compile(r"[1-9][0-9]{5,17}")
#: Categories of the WHO's ICD-10 that ICD-10-CM does not have, so that no note is searched for them (there, "B24" is
#: rather a room): B20 to B24 are HIV disease.
_WHO_ONLY = {"hiv": ("B21", "B22", "B23", "B24")}


class CodeBook:
    """Which codes mean which diagnoses of a panel."""

    def __init__(self, panel: Sequence[Diagnosis]) -> None:
        self.diagnoses = tuple(diagnosis.id for diagnosis in panel)
        self._prefixes = {one.id: tuple(map(_bare, (*one.icd10, *_WHO_ONLY.get(one.id, ())))) for one in panel}
        # A code below one of the diagnosis that means something else: F32.81 under F32.
        self._excluded = {
            one.id: tuple(_bare(term) for term in one.not_meant if _ICD10.fullmatch(_bare(term))) for one in panel
        }
        self._concepts = {one.id: frozenset(one.snomed) for one in panel}

    def meaning(self, system: System, code: str) -> frozenset[str]:
        """Return the diagnoses that a code means, with or without its dot; raises `RecordError` where it is no code."""
        if system == "snomed":
            concept = code.strip()
            if not _SNOMED.fullmatch(concept):
                raise RecordError("a code is no SNOMED CT id")
            return frozenset(name for name, concepts in self._concepts.items() if concept in concepts)
        bare = _bare(code)
        if not _ICD10.fullmatch(bare):
            raise RecordError("a code is no ICD-10 code")
        return frozenset(
            name
            for name, prefixes in self._prefixes.items()
            if bare.startswith(prefixes) and not bare.startswith(self._excluded[name] or ("-",))
        )


class Labels:
    """The labels of patients, from their coded conditions.

    A patient has a diagnosis where any condition means it. One without is unknown, unless every condition of the
    patient is coded in a system that the site calls complete: then the patient does not have it. A rejected record of
    codes leaves its patient unknown, and everybody where it does not say whose it is: it may be of the diagnosis.
    """

    def __init__(self, book: CodeBook, complete: Collection[System]) -> None:
        self.book = book
        self.complete = frozenset(complete)
        self._present: dict[str, frozenset[str]] = {}
        self._unreadable: set[str] = set()
        #: Looks of patients with a rejected record of codes: one may be rejected because its id is written otherwise.
        self._lost: set[str] = set()
        #: Rejected records of codes that say whose they are.
        self.placed = 0
        #: A record of codes was rejected that does not.
        self.anybody_lost = False

    def add(self, patient_id: str, diagnoses: frozenset[str], systems: Collection[str]) -> None:
        """Add one condition: what its codes mean, and the systems that it is coded in."""
        if diagnoses:
            self._present[patient_id] = self._present.get(patient_id, frozenset()) | diagnoses
        if self.complete.isdisjoint(systems):
            self._unreadable.add(patient_id)

    @contextmanager
    def placed_if_rejected(self, patient_id: str | None, *, records: int = 1, coded: bool = True) -> Iterator[None]:
        """Read records of codes within the block: where it raises `RecordError`, the patient's codes are not all known.

        `coded` is False where the records are known to hold no code; without a patient nobody knows whose they are.
        """
        try:
            yield
        except RecordError:
            self.lose(patient_id, records=records, coded=coded)
            raise

    def lose(self, patient_id: str | None, *, records: int = 1, coded: bool = True) -> None:
        """Take rejected records of a patient as perhaps those of any diagnosis."""
        if coded and patient_id is not None:
            self._lost.add(look(patient_id))
        self.placed += records if patient_id is not None or not coded else 0

    def lost(self, patients: Iterable[str]) -> int:
        """Return how many of the patients have a rejected record of codes."""
        return sum(look(patient_id) in self._lost for patient_id in patients)

    def rows(self, patients: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
        """Yield (patient, diagnosis, present) for each label that is known."""
        for patient_id in sorted(patients):
            present = self._present.get(patient_id, frozenset())
            is_known = not (self.anybody_lost or patient_id in self._unreadable or look(patient_id) in self._lost)
            for diagnosis in self.book.diagnoses:
                if diagnosis in present:
                    yield patient_id, diagnosis, True
                elif self.complete and is_known:
                    yield patient_id, diagnosis, False

    def unreadable(self, patients: Collection[str]) -> int:
        """Return how many of the patients have a condition in a system that is not complete."""
        return len(self._unreadable.intersection(patients))


def _bare(code: str) -> str:
    return code.strip().upper().replace(".", "")


Meaning = TypeVar("Meaning")
_ISO = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})(?:[T ](\S.*))?")
_YEAR = re.compile(r"[12][0-9]{3}")


def iso_day(text: str) -> date | None:
    """Return the day of an ISO 8601 date or date-time, None where the text is neither."""
    match = _ISO.fullmatch(text.strip())
    try:
        if match is not None:
            if match[2]:
                read_clock(match[2])
            return date.fromisoformat(match[1])
    except ValueError:
        pass  # a thirteenth month, a 30th of February
    return None


def require_day(text: str | None, what: str) -> date | None:
    """Return the day, None where nothing is given; raises `RecordError` where it is none."""
    if text is None:
        return None
    day = iso_day(text)
    if day is None:
        raise RecordError(f"{what} is not a date as ISO 8601 writes it")
    return day


def is_day_or_year(text: str) -> bool:
    """Whether a text is what a date of birth may be: an ISO 8601 date, or a year alone."""
    return _YEAR.fullmatch(text) is not None or iso_day(text) is not None


def require_birth(text: str | None, what: str) -> date | int | None:
    """Return a date of birth, or the year alone; raises `RecordError` where it is neither."""
    if text is not None and _YEAR.fullmatch(text):
        return int(text)
    return require_day(text, what)


def require_alive(birth: date | int, visit: date) -> None:
    """Raise `RecordError` where nobody of that birth date, or year, can have visited on that day."""
    year = birth if isinstance(birth, int) else birth.year
    is_later = year > visit.year if isinstance(birth, int) else birth > visit
    if is_later or visit.year - year > MAX_AGE_YEARS:
        raise RecordError("the visit is before the patient's birth, or over 130 years after it")


def require_age(text: str | None) -> str | None:
    """Return an age as it stands; raises `RecordError` where it is none that a corpus reads."""
    if text is not None:
        _read("age", parse_age, text)
    return text


def require_sex(text: str | None) -> str | None:
    """Return `female`, `male` or another word that a corpus reads; raises `RecordError` for one that it does not."""
    return None if text is None else _read("sex", parse_sex, text)


def _read(what: str, parse: Callable[[str], Meaning], text: str) -> Meaning:
    try:
        return parse(text)
    except CellError as error:
        raise RecordError(f"{what} {error}") from None
