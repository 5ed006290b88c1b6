"""Samples of the benchmark: a description of one or several subjects, a question, and which entities it needs.

Owns the record of `samples.jsonl` and of `predictions.jsonl` (PII-Bench, 3.1). Offsets are of characters, half-open,
and every occurrence of an entity is listed: scores use texts, masking uses occurrences.
"""

from typing import Literal

from pydantic import Field

from clinaudit.audit.choices import SampleDomain, SampleSubset
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.reports.schema.record import Record

Subset = SampleSubset
Domain = SampleDomain
#: What two subjects are to each other: they share something, one stands above the other, or neither.
Relation = Literal["intersection", "hierarchy", "none"]


class Entity(Record):
    """One occurrence of an entity: the least stretch of text that tells it."""

    text: str
    type: PiiType
    #: An id of the taxonomy.
    category: str
    start: int
    end: int
    #: 0 for the first place at which this subject's entity stands, 1 for the second, ...
    occurrence: int = 0
    #: Of a name that a generator drew: the locale it is from, such as `es_MX`, so that recall can be told by origin.
    name_origin: str | None = None


class Subject(Record):
    """Somebody whom a description is about."""

    id: str
    entities: list[Entity]


class NeededEntity(Record):
    """An entity without which the question cannot be answered."""

    text: str
    subject: str


class Sample(Record):
    """One description and its question; `description` alone holds entities, `query` names none of those needed."""

    id: str
    subset: Subset
    domain: Domain
    description: str
    query: str
    scene: str
    #: None of a single subject.
    relation: Relation | None = None
    subjects: list[Subject]
    query_related: list[NeededEntity]
    seed: int
    generator: str


class PredictedEntity(Record):
    """An entity that a system names."""

    text: str
    type: PiiType


class PredictedSubject(Record):
    """What a system says of one subject."""

    entities: list[PredictedEntity] = Field(default_factory=list)


class Prediction(Record):
    """A system's answers on one sample; an answer that was not asked for, or could not be read, is null."""

    sample: str
    system: str
    subjects: list[PredictedSubject] | None = None
    query_related: list[str] | None = None
    masked: list[str] | None = None
