"""OMOP Common Data Model 5.4 (ohdsi.github.io/CommonDataModel/cdm54.html), its tables as CSV or Parquet.

Needs NOTE and PERSON; reads PROVIDER, CARE_SITE, VISIT_OCCURRENCE, CONDITION_OCCURRENCE and the vocabulary's CONCEPT
and CONCEPT_ANCESTOR where they are. Of a birth date without its day or month the year is taken. OMOP has no names.
"""

import os
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import ClassVar

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.corpus.records import Layout
from clinaudit.priors.importers import System
from clinaudit.priors.importers.corpus_writer import NotesRow, PatientRecord
from clinaudit.priors.importers.export import ImportRequest, TableExport
from clinaudit.priors.importers.ledger import ImportLedger, RecordError
from clinaudit.priors.importers.tables import Columns, Reader, Row, find_tables, required

#: Standard concepts of the domains Gender and Race (athena.ohdsi.org); 0 and what is not here is unknown.
_SEXES = {"8507": "male", "8532": "female", "8521": "other"}
_RACES = {
    "8515": "Asian",
    "8516": "Black or African American",
    "8527": "White",
    "8557": "Native Hawaiian or Other Pacific Islander",
    "8657": "American Indian or Alaska Native",
}
_VOCABULARIES: dict[str, System] = {"SNOMED": "snomed", "ICD10CM": "icd10", "ICD10": "icd10"}
#: As athena.ohdsi.org exports the vocabulary: tabs, and quotes that mean nothing.
_VOCABULARY_LAYOUT = Layout(quoted=False)


class OmopExport(TableExport):
    """Who and where, patients, notes and, of the patients with notes, conditions."""

    patient_table, code_table = "person", "condition_occurrence"
    columns: ClassVar = {
        "provider": Columns.of("provider_id", "provider_name"),
        "care_site": Columns.of("care_site_id", "care_site_name"),
        "visit_occurrence": Columns.of("visit_occurrence_id", "care_site_id provider_id"),
        "person": Columns.of(
            "person_id gender_concept_id year_of_birth", "month_of_birth day_of_birth race_concept_id"
        ),
        "note": Columns.of(
            "note_id person_id note_date note_text",
            "note_datetime note_title provider_id visit_occurrence_id",
            exact="note_text",
        ),
        "concept": Columns.of("concept_id vocabulary_id concept_code", layout=_VOCABULARY_LAYOUT),
        "concept_ancestor": Columns.of("ancestor_concept_id descendant_concept_id", layout=_VOCABULARY_LAYOUT),
        "condition_occurrence": Columns.of(
            "person_id condition_concept_id", "condition_source_value condition_source_concept_id"
        ),
    }

    def __init__(self, request: ImportRequest) -> None:
        super().__init__(request)
        self._providers: dict[str, str] = {}
        self._care_sites: dict[str, str] = {}
        #: By visit of a note: care site, provider.
        self._visits: dict[str, tuple[str | None, str | None]] = {}
        #: Of the vocabulary's concepts: the diagnoses that one means, and those of each system.
        self._meaning: dict[str, frozenset[str]] = {}
        self._systems: dict[System, set[int]] = {"icd10": set(), "snomed": set()}

    def _find(self) -> dict[str, DataFile]:
        files = find_tables(self.request.source, self.columns)
        for name in ("note", "person"):
            if name not in files:
                raise BadInputError(f"SOURCE holds no table {name.upper()} of the OMOP CDM (CSV or Parquet); add it")
        if "condition_occurrence" in files and "concept" not in files and self.request.source_values is None:
            raise BadInputError(
                "CONDITION_OCCURRENCE holds concept ids, and there is no table CONCEPT to say what they are: add it, "
                "or say with --source-values which codes condition_source_value holds"
            )
        return files

    def _read(self) -> None:
        self.each("provider", _keeps_names("provider", self._providers))
        self.each("care_site", _keeps_names("care_site", self._care_sites))
        if "visit_occurrence" in self.files:
            wanted = self._visits_of_notes()
            self.each("visit_occurrence", lambda row: self._add_visit(row, wanted))
        self.each("person", self._add_person)
        self.each("note", self._add_note)
        if "condition_occurrence" in self.files:
            self.each("concept", self._add_concept)
            if "concept" in self.files:
                self.each("concept_ancestor", self._add_descendant)
            self.each("condition_occurrence", self._add_condition)

    def _visits_of_notes(self) -> set[str]:
        """Return the visits of notes: visits outnumber notes many times, hence the notes are read twice."""
        # This first time nothing is counted.
        with closing(ImportLedger(Path(os.devnull))) as ledger:
            scan = Reader(ledger, lambda _bytes: None)
            rows = scan.rows("note", self.files["note"], Columns.of("", "visit_occurrence_id"))
            return {visit for _, row in rows if (visit := row["visit_occurrence_id"])}

    def _add_visit(self, row: Row, wanted: set[str]) -> bool:
        visit = required(row, "visit_occurrence_id")
        if visit not in wanted:
            return False
        self._visits[visit] = (row["care_site_id"], row["provider_id"])
        return True

    def _add_person(self, row: Row) -> None:
        self.writer.add_patient(
            PatientRecord(
                patient_id=required(row, "person_id"),
                sex=_SEXES.get(row["gender_concept_id"] or ""),
                race=_RACES.get(row["race_concept_id"] or ""),
                dob=_birth(row),
            )
        )

    def _add_note(self, row: Row) -> None:
        care_site, visit_provider = self._visits.get(row["visit_occurrence_id"] or "", (None, None))
        self.writer.add_note(
            NotesRow(
                patient_id=required(row, "person_id"),
                note_id=required(row, "note_id"),
                text=row["note_text"] or "",
                visit_date=row["note_datetime"] or row["note_date"],
                provider=self._providers.get(row["provider_id"] or visit_provider or ""),
                practice=self._care_sites.get(care_site or ""),
                note_type=row["note_title"],
            )
        )

    def _add_concept(self, row: Row) -> bool:
        system = _VOCABULARIES.get(row["vocabulary_id"] or "")
        if system is None:
            return False
        concept = required(row, "concept_id")
        if not concept.isdigit():
            raise RecordError("concept_id is not a whole number")
        self._systems[system].add(int(concept))
        try:
            meaning = self.labels.book.meaning(system, required(row, "concept_code"))
        except RecordError:  # chapters and blocks of ICD-10 stand in the vocabulary too: F30-F39
            return False
        if meaning:
            self._meaning[concept] = meaning
        return True

    def _add_descendant(self, row: Row) -> bool:
        ancestor, descendant = required(row, "ancestor_concept_id"), required(row, "descendant_concept_id")
        # Ancestors of SNOMED concepts alone: ICD-10's own hierarchy is its codes'.
        if ancestor not in self._meaning or self._system(ancestor) != "snomed":
            return False
        self._meaning[descendant] = self._meaning.get(descendant, frozenset()) | self._meaning[ancestor]
        return True

    def _add_condition(self, row: Row) -> bool:
        person = required(row, "person_id")
        if not self.has_notes(person):
            return False
        diagnoses: frozenset[str] = frozenset()
        systems: set[str] = set()
        for column in ("condition_concept_id", "condition_source_concept_id"):
            concept = row[column] or "0"
            diagnoses |= self._meaning.get(concept, frozenset())
            systems.update(filter(None, (self._system(concept),)))
        if self.request.source_values is not None and (code := row["condition_source_value"]):
            diagnoses |= self.labels.book.meaning(self.request.source_values, code)
            systems.add(self.request.source_values)
        self.labels.add(person, diagnoses, systems)
        return True

    def _system(self, concept: str) -> System | None:
        """Return the system that a concept belongs to."""
        number = int(concept) if concept.isdigit() else None
        return next((system for system, concepts in self._systems.items() if number in concepts), None)


def _keeps_names(table: str, names: dict[str, str]) -> Callable[[Row], bool]:
    """Return what keeps the name of each row by its id."""

    def keep(row: Row) -> bool:
        if name := row[f"{table}_name"]:
            names[required(row, f"{table}_id")] = name
        return bool(name)

    return keep


def _birth(row: Row) -> date | int | None:
    """Return the date of birth, or the year where the day or month is not given."""
    try:
        year, month, day = (int(row[column] or 0) for column in ("year_of_birth", "month_of_birth", "day_of_birth"))
        if not year:
            return None
        born = date(year, month or 1, day or 1)
        return born if month and day else year
    except (ValueError, OverflowError):
        raise RecordError("year, month and day of birth are no date") from None
