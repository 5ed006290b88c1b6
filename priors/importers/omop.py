"""OMOP Common Data Model 5.4 (ohdsi.github.io/CommonDataModel/cdm54.html), its tables as CSV or Parquet.

Needs NOTE and PERSON; reads PROVIDER, CARE_SITE, VISIT_OCCURRENCE, CONDITION_OCCURRENCE and the vocabulary's CONCEPT
and CONCEPT_ANCESTOR where they are. Of a birth date without its day or month the year is taken. OMOP has no names.
"""

import os
from collections.abc import Collection
from contextlib import closing
from datetime import date
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers import System
from clinaudit.priors.importers.corpus_writer import CorpusWriter, NoteRecord, PatientRecord
from clinaudit.priors.importers.ledger import ImportLedger, RecordError
from clinaudit.priors.importers.tables import Layout, Reader, Row, find_tables, required
from clinaudit.priors.importers.values import Labels

PATIENT_TABLE = "person"
_TABLES = (
    "note",
    PATIENT_TABLE,
    "provider",
    "care_site",
    "visit_occurrence",
    "condition_occurrence",
    "concept",
    "concept_ancestor",
)
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


def find_omop(source: Path, source_values: System | None) -> dict[str, DataFile]:
    """Return the tables that are used; raises `BadInputError` where one is missing without which it cannot be read."""
    files = find_tables(source, _TABLES)
    for name in ("note", PATIENT_TABLE):
        if name not in files:
            raise BadInputError(f"SOURCE holds no table {name.upper()} of the OMOP CDM (CSV or Parquet); add it")
    if "condition_occurrence" in files and "concept" not in files and source_values is None:
        raise BadInputError(
            "CONDITION_OCCURRENCE holds concept ids, and there is no table CONCEPT to say what they are: add it, or "
            "say with --source-values which codes condition_source_value holds"
        )
    return files


class _Concepts:
    """What the concept ids of the vocabulary mean."""

    def __init__(self) -> None:
        #: The diagnoses that a concept means.
        self.meaning: dict[str, frozenset[str]] = {}
        self.systems: dict[System, set[int]] = {"icd10": set(), "snomed": set()}

    def system(self, concept: str) -> System | None:
        """Return the system that a concept belongs to."""
        if concept.isdigit():
            for system, concepts in self.systems.items():
                if int(concept) in concepts:
                    return system
        return None


class OmopExport:
    """Reads the tables of one export."""

    def __init__(
        self, files: dict[str, DataFile], writer: CorpusWriter, labels: Labels, source_values: System | None
    ) -> None:
        self._files = files
        self._writer = writer
        self._labels = labels
        self._source_values = source_values
        self._providers: dict[str, str] = {}
        self._care_sites: dict[str, str] = {}
        #: By visit of a note: care site, provider.
        self._visits: dict[str, tuple[str | None, str | None]] = {}
        self._concepts = _Concepts()

    def read(self, reader: Reader) -> None:
        """Read who and where, patients, notes and, of the patients with notes, conditions."""
        files = self._files
        for table, names in (("provider", self._providers), ("care_site", self._care_sites)):
            if table in files:
                columns = (f"{table}_id", f"{table}_name")
                reader.each(table, files[table], _Named(columns, names), required=columns[:1], optional=columns[1:])
        if "visit_occurrence" in files:
            self._read_visits(reader)
        reader.each(
            PATIENT_TABLE,
            files[PATIENT_TABLE],
            self._add_person,
            required=("person_id", "gender_concept_id", "year_of_birth"),
            optional=("month_of_birth", "day_of_birth", "race_concept_id"),
        )
        reader.each(
            "note",
            files["note"],
            self._add_note,
            required=("note_id", "person_id", "note_date", "note_text"),
            optional=("note_datetime", "note_title", "provider_id", "visit_occurrence_id"),
            exact=("note_text",),
        )
        if "condition_occurrence" in files:
            self._read_concepts(reader)
            reader.each(
                "condition_occurrence",
                files["condition_occurrence"],
                self._add_condition,
                required=("person_id", "condition_concept_id"),
                optional=("condition_source_value", "condition_source_concept_id"),
            )

    def _read_visits(self, reader: Reader) -> None:
        # Visits outnumber notes many times: only those of notes are kept, hence the notes are read twice.
        wanted: set[str] = set()

        def keep_id(row: Row) -> bool:
            if visit := row["visit_occurrence_id"]:
                wanted.add(visit)
            return True

        # This first time nothing is counted.
        with closing(ImportLedger(Path(os.devnull))) as ledger:
            scan = Reader(ledger, lambda _bytes: None)
            scan.each("note", self._files["note"], keep_id, required=(), optional=("visit_occurrence_id",))
        reader.each(
            "visit_occurrence",
            self._files["visit_occurrence"],
            lambda row: self._add_visit(row, wanted),
            required=("visit_occurrence_id",),
            optional=("care_site_id", "provider_id"),
        )

    def _add_visit(self, row: Row, wanted: Collection[str]) -> bool:
        visit = required(row, "visit_occurrence_id")
        if visit not in wanted:
            return False
        self._visits[visit] = (row["care_site_id"], row["provider_id"])
        return True

    def _add_person(self, row: Row) -> bool:
        self._writer.add_patient(
            PatientRecord(
                patient_id=required(row, "person_id"),
                sex=_SEXES.get(row["gender_concept_id"] or ""),
                race=_RACES.get(row["race_concept_id"] or ""),
                dob=_birth(row),
            )
        )
        return True

    def _add_note(self, row: Row) -> bool:
        care_site, visit_provider = self._visits.get(row["visit_occurrence_id"] or "", (None, None))
        self._writer.add_note(
            NoteRecord(
                patient_id=required(row, "person_id"),
                note_id=required(row, "note_id"),
                text=row["note_text"] or "",
                visit_date=row["note_datetime"] or row["note_date"],
                provider=self._providers.get(row["provider_id"] or visit_provider or ""),
                practice=self._care_sites.get(care_site or ""),
                note_type=row["note_title"],
            )
        )
        return True

    def _read_concepts(self, reader: Reader) -> None:
        files = self._files
        if "concept" not in files:
            return
        reader.each(
            "concept",
            files["concept"],
            self._add_concept,
            required=("concept_id", "vocabulary_id", "concept_code"),
            layout=_VOCABULARY_LAYOUT,
        )
        if "concept_ancestor" in files:
            reader.each(
                "concept_ancestor",
                files["concept_ancestor"],
                self._add_descendant,
                required=("ancestor_concept_id", "descendant_concept_id"),
                layout=_VOCABULARY_LAYOUT,
            )

    def _add_concept(self, row: Row) -> bool:
        system = _VOCABULARIES.get(row["vocabulary_id"] or "")
        if system is None:
            return False
        concept = required(row, "concept_id")
        if not concept.isdigit():
            raise RecordError("concept_id is not a whole number")
        self._concepts.systems[system].add(int(concept))
        try:
            meaning = self._labels.book.meaning(system, required(row, "concept_code"))
        except RecordError:  # chapters and blocks of ICD-10 stand in the vocabulary too: F30-F39
            return False
        if meaning:
            self._concepts.meaning[concept] = meaning
        return True

    def _add_descendant(self, row: Row) -> bool:
        ancestor, descendant = required(row, "ancestor_concept_id"), required(row, "descendant_concept_id")
        meanings = self._concepts.meaning
        # Ancestors of SNOMED concepts alone: ICD-10's own hierarchy is its codes'.
        if ancestor not in meanings or self._concepts.system(ancestor) != "snomed":
            return False
        meanings[descendant] = meanings.get(descendant, frozenset()) | meanings[ancestor]
        return True

    def _add_condition(self, row: Row) -> bool:
        person = required(row, "person_id")
        if person not in self._writer.patients:
            raise RecordError("its patient is not in the export")
        if person not in self._writer.latest_visit:
            return False
        diagnoses: frozenset[str] = frozenset()
        systems: set[str] = set()
        for column in ("condition_concept_id", "condition_source_concept_id"):
            concept = row[column] or "0"
            diagnoses |= self._concepts.meaning.get(concept, frozenset())
            systems.update(filter(None, (self._concepts.system(concept),)))
        if self._source_values is not None and (code := row["condition_source_value"]):
            diagnoses |= self._labels.book.meaning(self._source_values, code)
            systems.add(self._source_values)
        self._labels.add(person, diagnoses, systems)
        return True


class _Named:
    """Keeps names by id."""

    def __init__(self, columns: tuple[str, str], names: dict[str, str]) -> None:
        self._columns = columns
        self._names = names

    def __call__(self, row: Row) -> bool:
        name = row[self._columns[1]]
        if name:
            self._names[required(row, self._columns[0])] = name
        return name is not None


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
