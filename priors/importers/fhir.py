"""A FHIR R4 export into a corpus: patients, documents and conditions (docs/importing.md, "FHIR").

The files are read twice: first all that others point at (patients, people, places, visits, Binary), since a reference
may stand before what it points at; then documents and conditions.
"""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import date
from typing import Any

from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers import System
from clinaudit.priors.importers import fhir_resources as resources
from clinaudit.priors.importers.attachments import KINDS, decode_base64, kind_of, text_of
from clinaudit.priors.importers.corpus_writer import NotesRow, PatientRecord
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.fhir_files import Found, find_fhir, iter_resources
from clinaudit.priors.importers.fhir_resources import (
    Attachment,
    Binaries,
    CodeableConcept,
    Reference,
    ReferenceIndex,
    Resource,
    Visit,
    checked,
    key_of,
)
from clinaudit.priors.importers.ledger import RecordError

_OTHER = "other resources"
_SYSTEMS: dict[str, System] = {
    "http://hl7.org/fhir/sid/icd-10-cm": "icd10",
    "http://hl7.org/fhir/sid/icd-10": "icd10",
    "urn:oid:2.16.840.1.113883.6.90": "icd10",
    "urn:oid:2.16.840.1.113883.6.3": "icd10",
    "http://snomed.info/sct": "snomed",
    "urn:oid:2.16.840.1.113883.6.96": "snomed",
}
_RACE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race"
#: A condition that the patient does not have, or that is not known yet (ConditionVerificationStatus).
_NOT_THERE = frozenset({"refuted", "entered-in-error"})
_NOT_CERTAIN = frozenset({"unconfirmed", "provisional", "differential"})
_PARTIAL_DATE = re.compile(r"([0-9]{4})(?:-(?:0[1-9]|1[0-2]))?")


class FhirExport(Export):
    """The resources of one export, read twice."""

    patient_table, code_table = "Patient", "Condition"

    def __init__(self, request: ImportRequest) -> None:
        super().__init__(request)
        self._index = ReferenceIndex()
        #: Digests of (patient, text) and the type of resource that gave them.
        self._documents: dict[bytes, str] = {}
        #: By patient: conditions that were used, which may stand before the patient's notes.
        self._conditions: Counter[str] = Counter()
        self._pointed_at: dict[str, Callable[[Found], bool | None]] = {
            "Patient": self._add_patient,
            "Practitioner": self._add_practitioner,
            "PractitionerRole": self._add_role,
            "Organization": self._add_organization,
            "Encounter": self._add_encounter,
            "Binary": self._add_binary,
        }
        self._pointing: dict[str, Callable[[Found], bool | None]] = {
            "DocumentReference": self._add_document,
            "DiagnosticReport": self._add_report,
            "Condition": self._add_condition,
        }

    def _find(self) -> dict[str, DataFile]:
        return {file.name: file for file in find_fhir(self.request.source)}

    def _read(self) -> None:
        ledger = self.reader.ledger
        ledger.expect("Patient")
        again = []
        with closing(Binaries(self.writer.directory)) as self._binaries:
            for file in self.files.values():
                pointing = False
                for found in iter_resources(file, self.reader.tracker()):
                    kind = found.resource["resourceType"]
                    if kind in self._pointing:
                        pointing = True
                    else:
                        table = kind if kind in self._pointed_at else _OTHER
                        ledger.seen(table)
                        ledger.take(table, found.place, found, self._pointed_at.get(kind, _not_needed))
                if pointing:
                    again.append(file)
            for file in again:
                for found in iter_resources(file, lambda _byte: None):
                    kind = found.resource["resourceType"]
                    if kind in self._pointing:
                        ledger.seen(kind)
                        ledger.take(kind, found.place, found, self._pointing[kind])
        without_notes = self._conditions.keys() - self.writer.latest_visit.keys()
        if without_notes:
            ledger.not_needed_after_all("Condition", sum(self._conditions[patient] for patient in without_notes))

    # What others point at ---------------------------------------------------------------------------------------------

    def _indexed(self, kind: type[Resource], found: Found) -> tuple[Resource, str]:
        """Return a resource, and the key by which others point at it."""
        resource = checked(kind, _with_id(found))
        return resource, self._index.add(kind.__name__, resource.id, found.full_url)

    def _add_patient(self, found: Found) -> None:
        patient, key = self._indexed(resources.Patient, found)
        self.writer.add_patient(
            PatientRecord(
                patient_id=patient.id,
                sex=None if patient.gender == "unknown" else patient.gender,
                name=_name(patient.name),
                dob=_birth(patient.birthDate),
                race=_race(patient.extension),
                marital_status=None if patient.maritalStatus is None else patient.maritalStatus.words,
            )
        )
        self._index.patients[key] = patient.id

    def _add_practitioner(self, found: Found) -> bool:
        practitioner, key = self._indexed(resources.Practitioner, found)
        name = next((one for one in practitioner.name if one.words), None)
        if name is not None and name.words:
            self._index.names[key] = name.text or " ".join((*name.prefix, name.words))
        return name is not None

    def _add_role(self, found: Found) -> None:
        role, key = self._indexed(resources.PractitionerRole, found)
        if role.practitioner is not None and role.practitioner.display:
            self._index.names[key] = role.practitioner.display
        elif (practitioner := self._index.key(role.practitioner)) is not None:
            self._index.roles[key] = practitioner

    def _add_organization(self, found: Found) -> bool:
        organization, key = self._indexed(resources.Organization, found)
        if organization.name:
            self._index.names[key] = organization.name
        return organization.name is not None

    def _add_encounter(self, found: Found) -> None:
        encounter, key = self._indexed(resources.Encounter, found)
        place = encounter.serviceProvider or Reference()
        start = None if encounter.period is None else encounter.period.start
        name = None if place.display is None else sys.intern(place.display)
        self._index.visits[key] = Visit(
            start, name, None if name or not place.reference else sys.intern(place.reference)
        )

    def _add_binary(self, found: Found) -> bool:
        binary, key = self._indexed(resources.Binary, found)
        needed = kind_of(binary.contentType) is not None
        self._binaries.add(key, decode_base64(binary.data or "") if needed else b"", binary.contentType)
        return needed

    # What points at them ----------------------------------------------------------------------------------------------

    def _patient_of(self, subject: Reference | None) -> str:
        key = self._index.key(subject)
        if key is None:
            raise RecordError("its subject is missing")
        if key not in self._index.patients:
            raise RecordError("its patient is not in the export")
        return self._index.patients[key]

    def _add_document(self, found: Found) -> bool:
        document = checked(resources.DocumentReference, _with_id(found))
        if "entered-in-error" in (document.status, document.docStatus):
            return False
        patient = self._patient_of(document.subject)
        context = document.context or resources.Context()
        visit = self._index.visit(context.encounter[0] if context.encounter else None)
        start = context.period.start if context.period else None
        return self._add_note(
            "DocumentReference",
            NotesRow(
                patient_id=patient,
                note_id=f"DocumentReference/{document.id}",
                text=self._text([content.attachment for content in document.content]),
                visit_date=self._date(start, visit.start, document.date),
                provider=self._first_name(document.author),
                practice=self._index.name(document.custodian) or self._index.place(visit),
                note_type=_words(document.type),
            ),
        )

    def _add_report(self, found: Found) -> bool:
        report = checked(resources.DiagnosticReport, _with_id(found))
        if report.status == "entered-in-error" or not report.presentedForm:
            return False
        patient = self._patient_of(report.subject)
        visit = self._index.visit(report.encounter)
        start = report.effectivePeriod.start if report.effectivePeriod else None
        return self._add_note(
            "DiagnosticReport",
            NotesRow(
                patient_id=patient,
                note_id=f"DiagnosticReport/{report.id}",
                text=self._text(report.presentedForm),
                visit_date=self._date(report.effectiveDateTime, start, visit.start, report.issued),
                provider=self._first_name(report.performer),
                practice=self._index.place(visit),
                note_type=_words(report.code),
            ),
        )

    def _add_note(self, kind: str, note: NotesRow) -> bool:
        digest = hashlib.blake2b(f"{note.patient_id}\0{note.text}".encode("utf-8", "replace"), digest_size=16).digest()
        if self._documents.get(digest, kind) != kind:
            return False  # US Core: a server gives one report as both types; twice in the corpus it would count twice
        self.writer.add_note(note)
        self._documents[digest] = kind
        return True

    def _add_condition(self, found: Found) -> bool:
        condition = checked(resources.Condition, _with_id(found))
        patient = self._patient_of(condition.subject)
        status = condition.verificationStatus or CodeableConcept()
        if status.has(_NOT_THERE):
            return False
        if status.has(_NOT_CERTAIN):
            self.labels.add(patient, frozenset(), ())
            self._conditions[patient] += 1
            return True
        diagnoses: frozenset[str] = frozenset()
        systems: set[str] = set()
        for coding in condition.code.coding if condition.code else ():
            system = _SYSTEMS.get(coding.system or "")
            if system is not None and coding.code:
                diagnoses |= self.labels.book.meaning(system, coding.code)
                systems.add(system)
        self.labels.add(patient, diagnoses, systems)
        self._conditions[patient] += 1
        return True

    def _first_name(self, references: Sequence[Reference]) -> str | None:
        names = [self._index.name(reference) for reference in references]
        if references and not any(names):
            self.reader.ledger.left_blank["provider: its name is not in the export"] += 1
        return next(filter(None, names), None)

    def _date(self, *candidates: str | None) -> str | None:
        given = [text for text in candidates if text]
        full = next((text for text in given if len(text) >= len("2024-01-31")), None)
        if given and full is None:
            self.reader.ledger.left_blank["visit date: without its month or day"] += 1
        return full

    def _text(self, attachments: Sequence[Attachment]) -> str:
        """Return the text of a document that comes in one or several forms."""
        forms = [form for form in map(self._form, attachments) if form is not None]
        if not forms:
            raise RecordError("no attachment is plain text, HTML or RTF")
        content, content_type = min(forms, key=lambda form: list(KINDS).index(kind_of(form[1]) or ""))
        return text_of(content, content_type)

    def _form(self, attachment: Attachment) -> tuple[bytes, str] | None:
        """Return the bytes and type of one form, None for a type that is not read."""
        given = attachment.contentType
        if given is not None and kind_of(given) is None:
            return None
        if attachment.data is not None:
            if given is None:
                raise RecordError("an attachment has no contentType")
            return decode_base64(attachment.data), given
        if attachment.url is None:
            raise RecordError("an attachment has neither data nor url")
        binary = self._binaries.get(self._index.key(Reference(reference=attachment.url)) or key_of(attachment.url))
        if binary is None:
            raise RecordError("the url of an attachment is not in the export (nothing is fetched)")
        content, content_type = binary
        return (content, given or content_type) if kind_of(content_type) else None


def _not_needed(found: Found) -> bool:
    if found.resource["resourceType"] == "Bundle":
        raise RecordError("a Bundle within a Bundle is not read")
    return False


def _with_id(found: Found) -> Mapping[str, Any]:
    """Return the resource; an entry to be posted has no id, and is known by its full URL."""
    if "id" in found.resource or found.full_url is None:
        return found.resource
    return {**found.resource, "id": found.full_url.rpartition(":")[2].rpartition("/")[2]}


def _words(concept: CodeableConcept | None) -> str | None:
    return None if concept is None else concept.words


def _name(names: Sequence[resources.HumanName]) -> str | None:
    order = {"official": 0, "usual": 1, None: 2}
    current = [name for name in names if name.use in order and name.words]
    return min(current, key=lambda name: order[name.use]).words if current else None


def _birth(text: str | None) -> date | int | None:
    """Return the date of birth, or the year where the day or month is not given."""
    if text is None:
        return None
    match = _PARTIAL_DATE.fullmatch(text)
    try:
        return int(match[1]) if match else date.fromisoformat(text)
    except ValueError:
        raise RecordError("Patient.birthDate is not as FHIR R4 defines it") from None


def _race(extensions: Sequence[resources.Extension]) -> str | None:
    for extension in extensions:
        if extension.url == _RACE:
            return next((part.valueString for part in extension.extension if part.url == "text"), None)
    return None
