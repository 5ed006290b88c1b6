"""Diagnosis codes, and the labels that they become (docs/importing.md, "Diagnoses").

Codes mean diagnoses by prefix (ICD-10), by concept (SNOMED CT), or by OMOP's vocabulary as athena.ohdsi.org exports it;
here it is decided when no code means no diagnosis.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar

from clinaudit.priors.corpus.cells import look
from clinaudit.priors.corpus.records import Layout
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.importers import System
from clinaudit.priors.importers.corpus_writer import RecordError
from clinaudit.priors.importers.tables import Columns, Row, required

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
        #: None: a record was rejected that does not say whose it is.
        self.lost: set[str | None] = set()

    def add(self, patient_id: str, diagnoses: frozenset[str], systems: Collection[str]) -> None:
        """Add one condition: what its codes mean, and the systems that it is coded in."""
        if diagnoses:
            self._present[patient_id] = self._present.get(patient_id, frozenset()) | diagnoses
        if self.complete.isdisjoint(systems):
            self._unreadable.add(patient_id)

    def rows(self, patients: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
        """Yield (patient, diagnosis, present) for each label that is known."""
        for patient_id in sorted(patients):
            present = self._present.get(patient_id, frozenset())
            is_known = patient_id not in self._unreadable and self.lost.isdisjoint((None, look(patient_id)))
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


_SYSTEMS: dict[str, System] = {"SNOMED": "snomed", "ICD10CM": "icd10", "ICD10": "icd10"}
#: Tabs, and quotes that mean nothing.
_LAYOUT = Layout(quoted=False)


class Vocabulary:
    """The concepts of ICD-10 and SNOMED CT, of millions that there are."""

    columns: ClassVar = {
        "concept": Columns.of("concept_id vocabulary_id concept_code", _LAYOUT),
        "concept_ancestor": Columns.of("ancestor_concept_id descendant_concept_id", _LAYOUT),
    }

    def __init__(self, book: CodeBook) -> None:
        self._book = book
        self._meaning: dict[str, frozenset[str]] = {}
        self._concepts: dict[System, set[int]] = {"icd10": set(), "snomed": set()}

    def add_concept(self, row: Row) -> bool:
        """Take a row of CONCEPT; returns whether its code is of a system that is read."""
        system = _SYSTEMS.get(row["vocabulary_id"] or "")
        if system is None:
            return False
        concept = required(row, "concept_id")
        if not concept.isdigit():
            raise RecordError("concept_id is not a whole number")
        self._concepts[system].add(int(concept))
        try:
            meaning = self._book.meaning(system, required(row, "concept_code"))
        except RecordError:  # chapters and blocks of ICD-10 stand in the vocabulary too: F30-F39
            return False
        if meaning:
            self._meaning[concept] = meaning
        return True

    def add_descendant(self, row: Row) -> bool:
        """Take a row of CONCEPT_ANCESTOR: a concept below another means what that means."""
        ancestor, descendant = required(row, "ancestor_concept_id"), required(row, "descendant_concept_id")
        # Ancestors of SNOMED concepts alone: ICD-10's own hierarchy is its codes'.
        if ancestor not in self._meaning or self.system(ancestor) != "snomed":
            return False
        self._meaning[descendant] = self.meaning(descendant) | self._meaning[ancestor]
        return True

    def meaning(self, concept: str) -> frozenset[str]:
        """Return the diagnoses that a concept means."""
        return self._meaning.get(concept, frozenset())

    def system(self, concept: str) -> System | None:
        """Return the system that a concept belongs to."""
        number = int(concept) if concept.isdigit() else None
        return next((system for system, concepts in self._concepts.items() if number in concepts), None)
