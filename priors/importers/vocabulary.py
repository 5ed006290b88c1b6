"""OMOP's vocabulary as athena.ohdsi.org exports it: which concepts mean a diagnosis, and the system of each."""

from typing import ClassVar

from clinaudit.priors.corpus.records import Layout
from clinaudit.priors.importers import System
from clinaudit.priors.importers.ledger import RecordError
from clinaudit.priors.importers.tables import Columns, Row, required
from clinaudit.priors.importers.values import CodeBook

_SYSTEMS: dict[str, System] = {"SNOMED": "snomed", "ICD10CM": "icd10", "ICD10": "icd10"}
#: Tabs, and quotes that mean nothing.
_LAYOUT = Layout(quoted=False)


class Vocabulary:
    """The concepts of ICD-10 and SNOMED CT, of millions that there are."""

    columns: ClassVar = {
        "concept": Columns.of("concept_id vocabulary_id concept_code", layout=_LAYOUT),
        "concept_ancestor": Columns.of("ancestor_concept_id descendant_concept_id", layout=_LAYOUT),
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
