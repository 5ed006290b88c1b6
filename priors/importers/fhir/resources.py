"""What an import uses of FHIR R4's resources, checked by pydantic: types and required elements (hl7.org/fhir/R4).

Whole resources are not checked: `fhir.resources`, which does so, speaks R4B and R5, weighs 27 MB, and refuses a note
for a fault in an element that no corpus holds. Elements that are not named here are ignored.
"""

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinaudit.priors.importers.ledger import RecordError


class _Element(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Coding(_Element):
    """A code of a code system."""

    system: str | None = None
    code: str | None = None
    display: str | None = None


class CodeableConcept(_Element):
    """A meaning, by codes and by words."""

    coding: list[Coding] = []
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


class Period(_Element):
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


class Patient(_Element):
    """A patient."""

    id: str = Field(min_length=1)
    name: list[HumanName] = []
    gender: Literal["male", "female", "other", "unknown"] | None = None
    birthDate: str | None = None  # noqa: N815
    maritalStatus: CodeableConcept | None = None  # noqa: N815
    extension: list[Extension] = []


class Practitioner(_Element):
    """Who wrote a note."""

    id: str = Field(min_length=1)
    name: list[HumanName] = []


class PractitionerRole(_Element):
    """A practitioner at an organization."""

    id: str = Field(min_length=1)
    practitioner: Reference | None = None
    organization: Reference | None = None


class Organization(_Element):
    """Where a note was written."""

    id: str = Field(min_length=1)
    name: str | None = None


class Encounter(_Element):
    """A visit."""

    id: str = Field(min_length=1)
    period: Period | None = None
    serviceProvider: Reference | None = None  # noqa: N815


class Condition(_Element):
    """A coded condition of a patient."""

    id: str = Field(min_length=1)
    subject: Reference
    code: CodeableConcept | None = None
    verificationStatus: CodeableConcept | None = None  # noqa: N815


class Binary(_Element):
    """The bytes of a document."""

    id: str = Field(min_length=1)
    contentType: str  # noqa: N815
    data: str | None = None


class Content(_Element):
    """One form of a document."""

    attachment: Attachment


class Context(_Element):
    """When and where a document was made."""

    encounter: list[Reference] = []
    period: Period | None = None


class DocumentReference(_Element):
    """A document about a patient."""

    id: str = Field(min_length=1)
    status: str
    docStatus: str | None = None  # noqa: N815
    type: CodeableConcept | None = None
    subject: Reference | None = None
    date: str | None = None
    author: list[Reference] = []
    custodian: Reference | None = None
    content: list[Content] = Field(min_length=1)
    context: Context | None = None


class DiagnosticReport(_Element):
    """A report on a patient, such as a radiologist's."""

    id: str = Field(min_length=1)
    status: str
    code: CodeableConcept
    subject: Reference | None = None
    encounter: Reference | None = None
    effectiveDateTime: str | None = None  # noqa: N815
    effectivePeriod: Period | None = None  # noqa: N815
    issued: str | None = None
    performer: list[Reference] = []
    presentedForm: list[Attachment] = []  # noqa: N815


Resource = TypeVar("Resource", bound=_Element)


def checked(kind: type[Resource], content: Any) -> Resource:
    """Return the resource; raises `RecordError` that names the first wrong element, never what it holds."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        element = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
        fault = "is missing" if first["type"] == "missing" else "is not as FHIR R4 defines it"
        raise RecordError(f"{kind.__name__}.{element} {fault}") from None
