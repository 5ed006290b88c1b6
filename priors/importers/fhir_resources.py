"""What an import uses of FHIR R4's resources, checked by pydantic, and what their references point at.

Whole resources are not checked: `fhir.resources`, which does so, speaks R4B and R5, weighs 27 MB, and refuses a note
for a fault in an element that no corpus holds. Elements that are not named here are ignored. A reference out of the
export is never followed. The bytes of documents lie in a nameless file, on the disk that the corpus is written to.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinaudit.priors.importers.ledger import RecordError


class _Element(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Identified(_Element):
    id: str = Field(min_length=1)


class _Coding(_Element):
    """A code of a code system."""

    system: str | None = None
    code: str | None = None
    display: str | None = None


class CodeableConcept(_Element):
    """A meaning, by codes and by words."""

    coding: list[_Coding] = []
    text: str | None = None

    @property
    def words(self) -> str | None:
        """The meaning in words: the text, or the first code's display or code."""
        return self.text or next((one.display or one.code for one in self.coding if one.display or one.code), None)

    def has(self, codes: frozenset[str]) -> bool:
        """Whether one of the codes is given."""
        return any(one.code in codes for one in self.coding)


class Reference(_Element):
    """A reference to another resource."""

    reference: str | None = None
    display: str | None = None


class _Period(_Element):
    """A time with a start."""

    start: str | None = None


class Attachment(_Element):
    """A document, inline as base64 or by address."""

    contentType: str | None = None  # noqa: N815 (as FHIR spells it)
    data: str | None = None
    url: str | None = None


class HumanName(_Element):
    """A name of a patient or practitioner."""

    use: str | None = None
    text: str | None = None
    family: str | None = None
    given: list[str] = []
    prefix: list[str] = []

    @property
    def words(self) -> str | None:
        """The name as it is written: given names, then family name."""
        parts = [*self.given, *([self.family] if self.family else [])]
        return self.text or " ".join(parts) or None


class Extension(_Element):
    """An extension, as US Core writes race."""

    url: str
    valueString: str | None = None  # noqa: N815
    extension: list["Extension"] = []


class Patient(_Identified):
    """A patient."""

    name: list[HumanName] = []
    gender: Literal["male", "female", "other", "unknown"] | None = None
    birthDate: str | None = None  # noqa: N815
    maritalStatus: CodeableConcept | None = None  # noqa: N815
    extension: list[Extension] = []


class Practitioner(_Identified):
    """Who wrote a note."""

    name: list[HumanName] = []


class PractitionerRole(_Identified):
    """A practitioner at an organization."""

    practitioner: Reference | None = None
    organization: Reference | None = None


class Organization(_Identified):
    """Where a note was written."""

    name: str | None = None


class Encounter(_Identified):
    """A visit."""

    period: _Period | None = None
    serviceProvider: Reference | None = None  # noqa: N815


class Condition(_Identified):
    """A coded condition of a patient."""

    subject: Reference
    code: CodeableConcept | None = None
    verificationStatus: CodeableConcept | None = None  # noqa: N815


class Binary(_Identified):
    """The bytes of a document."""

    contentType: str  # noqa: N815
    data: str | None = None


class Content(_Element):
    """One form of a document."""

    attachment: Attachment


class Context(_Element):
    """When and where a document was made."""

    encounter: list[Reference] = []
    period: _Period | None = None


class DocumentReference(_Identified):
    """A document about a patient."""

    status: str
    docStatus: str | None = None  # noqa: N815
    type: CodeableConcept | None = None
    subject: Reference | None = None
    date: str | None = None
    author: list[Reference] = []
    custodian: Reference | None = None
    content: list[Content] = Field(min_length=1)
    context: Context | None = None


class DiagnosticReport(_Identified):
    """A report on a patient, such as a radiologist's."""

    status: str
    code: CodeableConcept
    subject: Reference | None = None
    encounter: Reference | None = None
    effectiveDateTime: str | None = None  # noqa: N815
    effectivePeriod: _Period | None = None  # noqa: N815
    issued: str | None = None
    performer: list[Reference] = []
    presentedForm: list[Attachment] = []  # noqa: N815


Resource = TypeVar("Resource", bound=_Identified)


def checked(kind: type[Resource], content: Any) -> Resource:
    """Return the resource; raises `RecordError` that names the first wrong element, never what it holds."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        element = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        fault = "is missing" if first["type"] == "missing" else "is not as FHIR R4 defines it"
        raise RecordError(f"{kind.__name__}.{element} {fault}") from None


@dataclass(frozen=True, slots=True)
class Visit:
    """An encounter."""

    start: str | None = None
    #: The name of its organization, or else what its reference points at.
    place_name: str | None = None
    place: str | None = None


class ReferenceIndex:
    """The resources that others point at, by `Type/id`."""

    def __init__(self) -> None:
        self.patients: dict[str, str] = {}
        self.names: dict[str, str] = {}
        #: Of a practitioner's role: the practitioner.
        self.roles: dict[str, str] = {}
        self.visits: dict[str, Visit] = {}
        #: `urn:uuid:...` or another full URL of a Bundle's entry, to `Type/id`.
        self._aliases: dict[str, str] = {}

    def add(self, kind: str, identifier: str, full_url: str | None) -> str:
        """Return the key of a resource, and remember its other address."""
        key = f"{kind}/{identifier}"
        if full_url is not None and key_of(full_url) != key:
            self._aliases[full_url] = key
        return key

    def key(self, reference: Reference | None) -> str | None:
        """Return the key that a reference points at, None where it has none."""
        if reference is None or not reference.reference:
            return None
        return self._key(reference.reference)

    def _key(self, address: str) -> str:
        return self._aliases.get(address) or key_of(address)

    def visit(self, encounter: Reference | None) -> Visit:
        """Return the visit that a reference points at; nothing is known of one that is not in the export."""
        return self.visits.get(self.key(encounter) or "", Visit())

    def place(self, visit: Visit) -> str | None:
        """Return the name of the organization of a visit."""
        return visit.place_name or (self.names.get(self._key(visit.place)) if visit.place else None)

    def name(self, reference: Reference | None) -> str | None:
        """Return the name that a reference gives, or that of what it points at."""
        if reference is None:
            return None
        if reference.display:
            return reference.display
        key = self.key(reference)
        return None if key is None else self.names.get(self.roles.get(key, key))


def key_of(address: str) -> str:
    """Return `Type/id` of a relative or absolute address, less its version; another address as it stands."""
    path = address.partition("/_history/")[0].partition("?")[0]
    parts = path.rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 1 else address


class Binaries:
    """The bytes of documents, by key, in a nameless file."""

    def __init__(self, directory: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int, str]] = {}

    def add(self, key: str, content: bytes, content_type: str) -> None:
        """Keep a document."""
        self._places[key] = (self._file.seek(0, 2), len(content), content_type)
        self._file.write(content)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """Return a document's bytes and type, None where it is not in the export."""
        place = self._places.get(key)
        if place is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1]), place[2]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
