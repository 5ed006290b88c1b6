"""A FHIR R4 export into a corpus: patients, documents and conditions (docs/importing.md, "FHIR").

The files are read twice: first all that others point at (patients, people, places, visits, Binary), since a reference
may stand before what it points at; then documents and conditions. Of several versions of a resource the newest is read.
"""

import base64
import hashlib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import unquote

from clinaudit.priors.corpus.cells import NO_DAYS, NOTHING_WRITTEN, parse_date
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.importers import System
from clinaudit.priors.importers import attachments as attached
from clinaudit.priors.importers import fhir_resources as resources
from clinaudit.priors.importers.attachments import Kind, kind_of, unpacked
from clinaudit.priors.importers.corpus_writer import PatientRecord, RecordError, read_as
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.fhir_resources import Element, Found, Standing, elements, text_at, texts
from clinaudit.templates.shown_text import show

_OTHER = "other resources"
_POINTED_AT = ("Patient", "Practitioner", "PractitionerRole", "Organization", "Encounter", "Binary")
_POINTING = ("DocumentReference", "DiagnosticReport", "Condition")
_SYSTEMS: dict[str, System] = {
    "http://hl7.org/fhir/sid/icd-10-cm": "icd10",
    "http://hl7.org/fhir/sid/icd-10": "icd10",
    "urn:oid:2.16.840.1.113883.6.90": "icd10",
    "urn:oid:2.16.840.1.113883.6.3": "icd10",
    "http://snomed.info/sct": "snomed",
    "urn:oid:2.16.840.1.113883.6.96": "snomed",
}
_RACE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-race"
_SEXES = ("male", "female", "other", "unknown")
#: A condition that the patient does not have, or that is not known yet (ConditionVerificationStatus).
_NOT_THERE = frozenset({"refuted", "entered-in-error"})
_NOT_CERTAIN = frozenset({"unconfirmed", "provisional", "differential"})
_PARTIAL_DATE = re.compile(r"([0-9]{4})(?:-(?:0[1-9]|1[0-2]))?")
#: The share of words from which two texts are nearly one.
_SAME_TEXT_SHARE = 0.8
#: What changes the meaning of a text beside its words: operators, arrows, boxes; a point or a comma within a number.
_SIGNS = r"(?:[-<>≤≥=±+%?/^~*\u2190-\u23ff\u25a0-\u27bf]|(?<=[0-9])[.,:](?=[0-9]))"
_NO_SIGN = re.compile(rf"(?!{_SIGNS})[^\w\s]")
_WORD_WITH_SIGNS = re.compile(r"\w+(?:\s*[^\w\s])*|[^\w\s]+")
#: What two formats write otherwise and mean alike, once a text is in small letters, and how it is compared.
_ALIKE: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(written, re.MULTILINE), meant)
    for written, meant in (
        (r"([⁰¹²³⁴-⁹]+)", r"^\1"),
        ("[-\u2010-\u2015\u2212]+(?!>)", "-"),
        ("-+>", "→"),
        (r"\+/-", "±"),
        (">=", "≥"),
        ("<=", "≤"),
        (r"\[x\]|☑", "☒"),
        (r"\[ ?\]", "☐"),
        (r"(?<=[0-9])[^\S\n]*[x×][^\S\n]*(?=[0-9])", " x "),
        # Bold letters of Markdown, and rules of a page.
        (r"(?<![*_])(\*\*|__)(?=[^\s*_])([^*_\n]*[^\s*_])\1(?![*_])", r"\2"),
        (r"^[^\S\n]*[=*-]+[^\S\n]*$", ""),
    )
]
_LIST_SIGN = re.compile(r"^[^\S\n]*[-*o●■▪◦○◆❖❑➢▸►]\s", re.MULTILINE)
_LIST_NUMBER = re.compile(r"^\s*(?:[0-9]{1,2}|[a-z]|[ivx]{1,4})[.)]\s")
#: Lines with a plus say that something is there: those with a dash then say that it is not, and are no list.
_PLUS = re.compile(r"^[^\S\n]*\+", re.MULTILINE)
_SUPERSCRIPT_OF_UNIT = re.compile(r"(?<=[a-zμ])\^(?=[0-9])")
_OLDER = "versions of a resource of which a newer one was read"
#: What stands in an export beside the resources that are read, by its type.
_BESIDE = {
    resources.NEXT_PAGE: "Bundles with a link to a next page: it must be a file of the export, too",
    "Composition": "Compositions: the text of their sections is not read",
    "OperationOutcome": "answers of the server (OperationOutcome): they may say what the export lacks",
}
_VERSIONS: dict[Standing, str] = {"alike": "resources given twice alike", "older": _OLDER, "newer": _OLDER}
#: What may differ in two addresses of one resource: a proxy changes the scheme.
_PLAIN = re.compile(r"\Ahttps?://|:(?:80|443)(?=/)|/+\Z")
#: Where a document or a report has what belongs to a note, in R4 and the versions before and after it.
_ATTACHMENTS = ("content.attachment", "presentedForm")
_VISITS = ("context.encounter", "context", "encounter")
_STARTS = ("context.period.start", "effectiveDateTime", "effectivePeriod.start")
_MADE = ("period.start", "date", "indexed", "created", "issued")
_AUTHORS = ("author", "performer", "performer.actor")
_MEANING = ("type", "code")


class FhirExport(Export):
    """The resources of one export, read twice."""

    patient_table, code_table = "Patient", "Condition"

    def __init__(self, request: ImportRequest) -> None:
        super().__init__(request)
        self._index = resources.ReferenceIndex()
        self._versions = resources.Versions()
        #: Digests of (patient, text) and the type of resource that gave them.
        self._documents: dict[bytes, str] = {}
        #: Address of a document that another replaces, perhaps by its identifier -> the key of that one.
        self._replaced: dict[str, str] = {}
        #: Of documents that replace others: what points at their patients.
        self._subjects: dict[str, str | None] = {}
        #: Documents and conditions of which the export says that they were deleted, and when, if it says.
        self._deleted: dict[str, datetime | None] = {}
        #: Files that attachments point at.
        self._files_beside: set[Path] = set()
        #: Of which occasions there is a current document.
        self._current: set[tuple[str | None, ...]] = set()
        #: By patient: conditions that were used, which may stand before the patient's notes.
        self._conditions: Counter[str] = Counter()
        #: Patients, and what their records name as another record of the same person.
        self._links: list[tuple[str, str]] = []

    def _find(self) -> dict[str, DataFile]:
        return {file.name: file for file in resources.find_fhir(self.request.source)}

    def _read(self) -> None:
        ledger = self.reader.ledger
        ledger.seen("Patient", 0)
        again = []
        with closing(resources.Binaries(self.writer.directory)) as self._binaries:
            for file in self.files.values():
                kinds = {self._read_first(found) for found in resources.iter_resources(file, self.reader.tracker())}
                if kinds <= {resources.NEXT_PAGE}:
                    ledger.left_aside["files without FHIR resources, such as a log or a manifest"] += 1
                if not kinds.isdisjoint(_POINTING):
                    again.append(file)
            replaced = {self._index.key(address): key for address, key in self._replaced.items()}
            self._replaced = {old: new for old, new in replaced.items() if old is not None and old != new}
            for file in again:
                for found in resources.iter_resources(file):
                    if found.kind in _POINTING:
                        whose = None
                        with suppress(RecordError):
                            subject = self._index.key(_subject(found.resource)) or ""
                            # A number that nobody or several have may be anybody's.
                            somebody = subject if subject and "?" not in subject else None
                            whose = self._index.patients.get(subject, somebody)
                        ledger.seen(found.kind)
                        ledger.take(found.kind, [found.place], found, self._read_pointing, [whose])
        pairs = {frozenset((key, self._index.key(other) or "")) for key, other in self._links}
        if linked := sum(len(pair) > 1 and pair <= self._index.patients.keys() for pair in pairs):
            ledger.left_aside["links between records of one person: each is a patient here"] += linked
        if self._index.shared:
            ledger.left_aside["identifiers that several patients have: each is a patient here"] = len(
                self._index.shared
            )
        read = self._files_beside | {file.path.resolve() for file in self.files.values()}
        ledger.left_aside.update(resources.files_not_read(self.request.source, read))
        without_notes = self._conditions.keys() - self.writer.latest_visit.keys()
        if without_notes:
            ledger.not_needed_after_all("Condition", sum(self._conditions[patient] for patient in without_notes))

    def _read_first(self, found: Found) -> str:
        """Read what others point at, and note the version of what points at them; return the type of resource."""
        kind, ledger = found.kind, self.reader.ledger
        if kind in _BESIDE:
            ledger.left_aside[_BESIDE[kind]] += 1
        if kind == resources.DELETED:
            key = self._index.key(found.full_url) or ""
            before, now = self._deleted.get(key, datetime.min.replace(tzinfo=UTC)), resources.moment_of(found)
            self._deleted[key] = None if before is None or now is None else max(before, now)
            if key.partition("/")[0] not in _POINTING:
                ledger.left_aside["deletions of what is no document and no condition: not followed"] += 1
        elif kind in _POINTING:
            with suppress(RecordError):  # it is rejected when it is read
                self._note_version(found)
        elif kind != resources.NEXT_PAGE:
            table = kind if kind in _POINTED_AT or kind == "OperationOutcome" else _OTHER
            ledger.seen(table)
            ledger.take(table, [found.place], found, self._read_pointed_at if kind in _POINTED_AT else lambda _: False)
        return kind

    def _note_version(self, found: Found) -> None:
        key = f"{found.kind}/{resources.id_of(found)}"
        if self._versions.add(key, found) in ("newest", "newer"):
            self._index.add(key, found)
            status = text_at(found.resource, "status")
            if status == "current" and found.kind == "DocumentReference":
                self._current.add(_occasion(found.resource))
            if status != "entered-in-error":
                replaced = _replaces(found.resource)
                self._replaced.update(dict.fromkeys(replaced, key))
                if replaced:
                    self._subjects[key] = _subject(found.resource)

    def _read_pointed_at(self, found: Found) -> bool:
        key = f"{found.kind}/{resources.id_of(found)}"
        try:
            standing = self._versions.add(key, found)
        except RecordError:
            # Whose notes these are cannot be said.
            self._index.patients.pop(key, None)
            raise
        if not self._is_read(standing):
            return False
        self._index.add(key, found)
        is_used = self._add_pointed_at(found.kind, found.resource, key)
        return is_used and standing == "newest"  # the version before it was counted

    def _is_read(self, standing: Standing) -> bool:
        """Whether a version is to be read; says so of one that is not, or that stands in the place of another."""
        if standing != "newest":
            self.reader.ledger.left_aside[_VERSIONS[standing]] += 1
        return standing in ("newest", "newer")

    def _read_pointing(self, found: Found) -> bool:
        identifier = resources.id_of(found)
        key = f"{found.kind}/{identifier}"
        if key in self._deleted and not self._versions.is_newer(key, self._deleted[key]):
            self.reader.ledger.left_aside["documents and conditions that the export says were deleted"] += 1
            return False
        if not self._is_read(self._versions.take(key, found)):
            return False
        self._index.contained.clear()
        for part in elements(found.resource, "contained"):
            kind, own = text_at(part, "resourceType") or "", text_at(part, "id")
            # A patient who is contained has no id of their own.
            if own is not None and kind in _POINTED_AT and kind != "Patient":
                self._index.contained[f"#{own}"] = f"{kind}/{identifier}#{own}"
                self._add_pointed_at(kind, part, f"{kind}/{identifier}#{own}")
        return self._add_condition(found.resource) if found.kind == "Condition" else self._add_note(found.resource, key)

    # What others point at ---------------------------------------------------------------------------------------------

    def _add_pointed_at(self, kind: str, one: Element, key: str) -> bool:
        """Take what a resource says of patients, people, places and visits; returns False where it says nothing."""
        name: str | None
        match kind:
            case "Patient":
                self._add_patient(one, key)
            case "Binary":
                return self._add_binary(one, key)
            case "Encounter":
                name, place = text_at(one, "serviceProvider.display"), text_at(one, "serviceProvider.reference")
                start, subject = text_at(one, "period.start", "actualPeriod.start"), _subject(one)
                # Thousands of visits share them.
                shared = (text and sys.intern(text) for text in (name, None if name else place, subject))
                self._index.visits[key] = resources.Visit(start, *shared)
            case "PractitionerRole":
                name = text_at(one, "practitioner.display")
                practitioner = self._index.key(text_at(one, "practitioner.reference"))
                if name is not None:
                    self._index.names[key] = name
                elif practitioner is not None:
                    self._index.roles[key] = practitioner
            case _:
                name = text_at(one, "name") if kind == "Organization" else None
                names = elements(one, "name") if kind == "Practitioner" else []
                if (named := next(filter(_words_of_name, names), None)) is not None:
                    name = text_at(named, "text") or " ".join((*texts(named, "prefix"), _words_of_name(named)))
                if name is None:
                    return False
                self._index.names[key] = name
        return True

    def _add_patient(self, patient: Element, key: str) -> None:
        sex, born = text_at(patient, "gender"), text_at(patient, "birthDate")
        if sex is not None and sex not in _SEXES:
            raise RecordError("Patient.gender is not as FHIR R4 defines it")
        marital, order = elements(patient, "maritalStatus"), {"official": 0, "usual": 1, None: 2}
        names = [one for one in elements(patient, "name") if text_at(one, "use") in order and _words_of_name(one)]
        # A name that has ended is a former one.
        name = min(names, key=lambda one: (bool(texts(one, "period.end")), order[text_at(one, "use")]), default=None)
        try:
            # The year where the day or month is not given.
            partial = _PARTIAL_DATE.fullmatch(born or "")
            birth = int(partial[1]) if partial else None if born is None else date.fromisoformat(born)
        except ValueError:
            raise RecordError("Patient.birthDate is not as FHIR R4 defines it") from None
        races = (one for one in elements(patient, "extension") if one.get("url") == _RACE)
        of_races = (part for one in races for part in elements(one, "extension") if part.get("url") == "text")
        record = PatientRecord(
            patient_id=key.removeprefix("Patient/"),
            sex=None if sex == "unknown" else sex,
            name=None if name is None else _words_of_name(name),
            dob=birth,
            race=next((text_at(part, "valueString") for part in of_races), None),
            marital_status=resources.words_of(marital[0]) if marital else None,
        )
        self._links += [(key, other) for other in texts(patient, "link.other.reference")]
        self.writer.set_patient(record)
        self._index.patients[key] = record.patient_id

    def _add_binary(self, binary: Element, key: str) -> bool:
        content_type = text_at(binary, "contentType")
        try:
            content = unpacked(attached.decode_base64(text_at(binary, "data", "content") or ""))
        except RecordError:
            if kind_of(b"", content_type) is not None:
                raise
            content = b""  # of a type that is not read
        # What is no text is not kept; of the rest, what points at it may know the type better.
        self._binaries.add(key, b"" if content.startswith(attached.NO_TEXT) else content, content_type)
        return kind_of(content, content_type) is not None

    # What points at them ----------------------------------------------------------------------------------------------

    def _patient_of(self, resource: Element) -> str:
        address = _subject(resource)
        key = self._index.key(address)
        if address is None or key is None:
            raise RecordError("its subject is missing")
        if key not in self._index.patients:
            raise RecordError("its patient is not in the export")
        if self._is_elsewhere(address, key):
            raise RecordError("its patient is on another server than the patient of this id in the export")
        return self._index.patients[key]

    def _is_elsewhere(self, address: str, key: str) -> bool:
        """Whether an address is on another server than the resource of its type and id in the export."""
        addresses = address.partition("/_history/")[0], self._versions.full_url(key) or ""
        return (
            all(one.startswith("http") for one in addresses)
            and len({_PLAIN.sub("", one.lower()) for one in addresses}) > 1
        )

    def _add_note(self, resource: Element, key: str) -> bool:
        kind, ledger = str(resource["resourceType"]), self.reader.ledger
        attachments = elements(resource, *_ATTACHMENTS)
        _replaces(resource)  # one that cannot be read is a fault of the record
        status = {*texts(resource, "status"), *texts(resource, "docStatus")}
        if not attachments and kind == "DiagnosticReport":
            if text_at(resource, "conclusion"):
                ledger.left_aside["reports without a document, whose conclusion is not read"] += 1
            return False
        why = None
        if "entered-in-error" in status:
            why = "documents entered in error"
        elif self._is_replaced(resource, key):
            why = "documents that another document of the export replaces"
        elif "superseded" in status and _occasion(resource) in self._current:
            # Others are the only ones that are left of their visit: Synthea calls all but the latest superseded.
            why = "documents that are superseded by a current one of the same visit"
        if why is not None:
            ledger.left_aside[why] += 1
            return False
        patient, text = self._patient_of(resource), self._text(attachments, kind)
        conclusion = re.findall(r"\w+", text_at(resource, "conclusion") or "")
        if conclusion and not _is_run(conclusion, re.findall(r"\w+", text)):
            ledger.left_aside["conclusions of reports that say what their document does not: not read"] += 1
        digest = hashlib.blake2b(f"{patient}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()
        if self._documents.get(digest, kind) != kind:
            return False  # US Core: a server gives one report as both types; twice in the corpus it would count twice
        visit, authors = self._index.visit(elements(resource, *_VISITS)), elements(resource, *_AUTHORS)
        owner = self._index.patients.get(self._index.key(visit.subject) or "")
        if owner not in (None, patient):
            raise RecordError("its visit (encounter) is another patient's")
        meaning = elements(resource, *_MEANING)
        # A person counts before an organization; who is no clinician is no provider.
        kinds = {id(one): (self._index.key(one) or "").partition("/")[0] for one in authors}
        authors = [one for one in authors if kinds[id(one)] not in ("Patient", "RelatedPerson", "Device")]
        authors.sort(key=lambda one: kinds[id(one)] == "Organization")
        provider, practice = (
            next(filter(None, map(self._index.name, named)), None)
            for named in (authors, elements(resource, "custodian"))
        )
        if authors and provider is None:
            ledger.left_blank["provider: its name is not in the export"] += 1
        # Of several dates the first that is given to the day.
        dates = [text for text in (text_at(resource, *_STARTS), visit.start, text_at(resource, *_MADE)) if text]
        days = [text for text in dates if len(text) >= len("2024-01-31")]
        full = next((text for text in days if text[:10] not in NO_DAYS), next(iter(days), None))
        if days and full != days[0]:
            ledger.left_blank[f"visit date: {days[0][:10]}, beside another date"] += 1
        if dates and full is None:
            ledger.left_blank["visit date: without its month or day"] += 1
        note = {
            "patient_id": patient,
            "note_id": key,
            "text": text,
            "provider": provider,
            "practice": practice or self._index.place(visit),
            "note_type": resources.words_of(meaning[0]) if meaning else None,
        }
        self.writer.add_note(note, read_as("the visit date", parse_date, full))
        self._documents[digest] = kind
        return True

    def _is_replaced(self, document: Element, key: str) -> bool:
        for identifier in elements(document, "masterIdentifier", "identifier") if self._replaced else ():
            by = self._replaced.get(resources.address_of("DocumentReference", identifier), key)
            if by != key:
                self._replaced.setdefault(key, by)
        seen, newer = {key}, self._replaced.get(key)
        if newer is not None:
            mine, its = (
                self._index.patients.get(self._index.key(one) or "")
                for one in (_subject(document), self._subjects.get(newer))
            )
            if None not in (mine, its) and mine != its:
                raise RecordError("a document of another patient says that it replaces this one")
        while newer is not None:
            if newer in seen:
                raise RecordError("documents of the export replace each other in a circle")
            seen.add(newer)
            newer = self._replaced.get(newer)
        return len(seen) > 1

    def _add_condition(self, condition: Element) -> bool:
        patient = self._patient_of(condition)
        said = condition.get("verificationStatus")  # before R4 a code alone
        status = {said} if isinstance(said, str) else set(texts(condition, "verificationStatus.coding.code"))
        if not status.isdisjoint(_NOT_THERE):
            return False
        diagnoses: frozenset[str] = frozenset()
        systems: set[str] = set()
        for coding in elements(condition, "code.coding") if status.isdisjoint(_NOT_CERTAIN) else ():
            system, code = _SYSTEMS.get(text_at(coding, "system") or ""), text_at(coding, "code")
            if system is not None and code is not None:
                diagnoses |= self.labels.book.meaning(system, code)
                systems.add(system)
        self.labels.add(patient, diagnoses, systems)
        self._conditions[patient] += 1
        return True

    def _text(self, attachments: Sequence[Element], kind_of_resource: str) -> str:
        """Return the text of a document: of its attachments that can be read, each text once, in their order."""
        if not attachments:
            raise RecordError(f"{kind_of_resource}.content is missing")
        parts: list[tuple[Kind | None, str]] = []
        faults: list[str] = []
        for attachment in attachments:
            try:
                content, content_type = self._content(attachment)
                text = attached.text_of(content, content_type)
                if not text.strip():
                    raise RecordError("the text is blank")
            except RecordError as error:
                faults.append(str(error))
            else:
                parts.append((kind_of(content, content_type), text))
        if not parts:
            raise RecordError(faults[0])
        for fault in faults:
            self.reader.ledger.left_aside[f"attachments beside one that was read: {fault}"] += 1
        different = _different_texts(parts)
        if len(different) < len(parts):
            self.reader.ledger.left_aside["attachments that say the same as another"] += len(parts) - len(different)
        if len(different) > 1:
            self.reader.ledger.left_aside["documents whose attachments were joined, as each says something else"] += 1
        return "\n\n".join(different)

    def _content(self, attachment: Element) -> tuple[bytes, str | None]:
        content_type, data, url = (text_at(attachment, name) for name in ("contentType", "data", "url"))
        if data is not None:
            packed = attached.decode_base64(data)
            content = unpacked(packed)
            forms = (data.encode(), packed, content)
            size, digest = attachment.get("size"), text_at(attachment, "hash")
            is_short = isinstance(size, int) and size > max(map(len, forms))
            # FHIR has SHA-1 in base64; servers write hexadecimal, and SHA-256, too.
            hashes = [hashlib.new(name, form, usedforsecurity=False) for name in ("sha1", "sha256") for form in forms]
            digests = {base64.b64encode(one.digest()).decode() for one in hashes} | {one.hexdigest() for one in hashes}
            if is_short or (digest is not None and digest not in digests):
                raise RecordError("an attachment is cut off: its size or hash is that of another content")
            return content, content_type
        if url is None:
            raise RecordError("the text is blank" if "data" in attachment else "an attachment has neither data nor url")
        key = self._index.key(url) or ""
        binary = None if self._is_elsewhere(url, key) else self._binaries.get(key) or self._file_beside(url)
        if binary is None:
            raise RecordError("the url of an attachment is not in the export (nothing is fetched)")
        return binary if kind_of(binary[0], content_type) is None else (binary[0], content_type)

    def _file_beside(self, url: str) -> tuple[bytes, None] | None:
        """Return the bytes of a file in the folder of the export, as clients of bulk exports write attachments."""
        folder = self.request.source.resolve()
        try:
            path = folder.joinpath(unquote(url)).resolve()
            is_beside = folder.is_dir() and path.is_relative_to(folder) and path.is_file()
        except (OSError, ValueError):
            return None  # longer than the name of any file, or with a sign that none has
        if not is_beside:
            return None
        if path.stat().st_size > attached.MAX_ATTACHMENT_BYTES:
            raise RecordError(f"an attachment has more than {attached.MAX_ATTACHMENT_BYTES >> 20} MiB")
        self._files_beside.add(path)
        return unpacked(path.read_bytes()), None


def _different_texts(parts: Sequence[tuple[Kind | None, str]]) -> list[str]:
    """Return the texts of a document's attachments, those once that say the same in two formats; the longer one stands.

    Raises `RecordError` where two formats say nearly the same, so that neither can be left out nor both be kept.
    """
    if len(parts) == 1:
        return [parts[0][1]]
    kept: list[tuple[Kind | None, str]] = []
    for kind, text in parts:
        for place, (other_kind, other) in enumerate(kept):
            if text == other or (kind != other_kind and _says(other, text)):
                break
            if kind != other_kind and _says(text, other):
                kept[place] = (kind, text)
                break
            if kind != other_kind and _is_nearly(text, other):
                raise RecordError("two attachments of different formats say nearly the same, and neither says all")
        else:
            kept.append((kind, text))
    return [text for _, text in kept]


def _says(text: str, other: str) -> bool:
    """Whether a text says all that another does, in its order: whole lines, such as heads, may be missing in the other.

    So may the numbers of a list. Signs count with their words: `Rh -` does not say `Rh +`, nor `1-2` what `1/2` does.
    Lines stand in another order where each has a label of its own (`CC: cough`).
    """
    text, other = map(_as_compared, (text, other))
    parts = [[part.strip() for part in re.split(r"[\n\t]+", one) if part.strip()] for one in (text, other)]
    # A line, or a cell, that says what it is of says the same in another place.
    labels = [{label.strip() for label, _, value in (part.partition(":") for part in own) if value} for own in parts]
    if labels[0] == labels[1] and len(labels[0]) == len(parts[0]) == len(parts[1]):
        first, second = (sorted(map(_words_with_signs, own)) for own in parts)
        return first == second
    others, said = _words_with_signs(other), 0
    for line in text.splitlines():
        for words in map(_words_with_signs, (line, _LIST_NUMBER.sub("", line, count=1))):
            if others[said : said + len(words)] == words:
                said += len(words)
                break
    return said == len(others)


def _is_nearly(text: str, other: str) -> bool:
    """Whether two texts share most words, or differ in nothing but signs and blanks."""
    words, others = (re.findall(r"\w+", one.casefold()) for one in (text, other))
    share = (Counter(words) & Counter(others)).total() / max(len(words), len(others), 1)
    is_part = _is_run(words, others) or _is_run(others, words)
    return share >= _SAME_TEXT_SHARE or "".join(words) == "".join(others) or is_part


def _is_run(part: Sequence[str], words: Sequence[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(words)} "


def _as_compared(text: str) -> str:
    """Return what a text shows, in small letters, without signs of lists, operators and boxes in one spelling."""
    plain = show(text).text.casefold()
    for written, meant in _ALIKE:
        plain = written.sub(meant, plain)
    plain = plain if _PLUS.search(plain) else _LIST_SIGN.sub("", plain)
    return _SUPERSCRIPT_OF_UNIT.sub("", unicodedata.normalize("NFKC", plain).replace("\u2044", "/"))


def _words_with_signs(text: str) -> list[str]:
    """Return the words, each with the signs after it that change what a text means."""
    bare = " ".join(_NO_SIGN.sub(" ", text).split())
    return [word.replace(" ", "") for word in _WORD_WITH_SIGNS.findall(bare)]


def _replaces(document: Element) -> list[str]:
    """Return addresses of the documents that one replaces; R5 writes the code as a concept."""
    others = [
        other
        for other in elements(document, "relatesTo")
        for code in [other.get("code")]
        if "replaces" in ([code] if isinstance(code, str) else texts(other, "code.coding.code"))
    ]
    by_number = [one for other in others for one in elements(other, "target.identifier")]
    return [
        *(address for other in others for address in texts(other, "target.reference")),
        *(resources.address_of("DocumentReference", one) for one in by_number),
    ]


def _occasion(document: Element) -> tuple[str | None, ...]:
    """Return whose document it is, of what type, and of which visit, or else moment."""
    visit = text_at(document, "context.encounter.reference") or text_at(document, "date")
    return _subject(document), text_at(document, "type.coding.code", "type.text"), visit


def _subject(resource: Element) -> str | None:
    """Return what points at the patient of a resource: a reference, or else an identifier."""
    by_number = [resources.address_of("Patient", one) for one in elements(resource, "subject.identifier")]
    return text_at(resource, "subject.reference") or next(iter(by_number), None)


def _words_of_name(name: Element) -> str:
    words = text_at(name, "text") or " ".join((*texts(name, "given"), *texts(name, "family")))
    return "" if words in NOTHING_WRITTEN else words
