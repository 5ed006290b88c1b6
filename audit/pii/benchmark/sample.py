"""Samples of the benchmark: a description of one or several subjects, a question, and which entities it needs.

Owns the record of `samples.jsonl` and of `predictions.jsonl` (PII-Bench, 3.1). Offsets are of characters, half-open,
and every occurrence of an entity is listed: scores use texts, masking uses occurrences.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.entity_span import EntitySpan
from clinaudit.audit.pii.taxonomy import PiiType
from clinaudit.audit.runtime.choices import SampleDomain, SampleSubset
from clinaudit.reports.schema.record import Record

#: The fault of a record's own check, whose words are fixed: pydantic's may hold content.
CHECKED: Final = "checked"
#: Longest name of a system or id of a sample: it stands in tables.
_LONGEST_NAME_CHARS: Final = 200


def _name(value: object) -> object:
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and (not text.strip() or len(text) > _LONGEST_NAME_CHARS or not text.isprintable()):
        raise PydanticCustomError(
            CHECKED,
            f"is blank, longer than {_LONGEST_NAME_CHARS} characters, or holds one that cannot be printed",
        )
    return text


#: What stands in tables: the id of a sample, the name of a system. A whole number is read as its figures.
Name = Annotated[str, BeforeValidator(_name)]

Subset = SampleSubset
SUBSETS: Final[tuple[Subset, ...]] = get_args(Subset)
Domain = SampleDomain
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
#: What two subjects are to each other: they share something, one stands above the other, or neither.
Relation = Literal["intersection", "hierarchy", "none"]


class Entity(Record):
    """One occurrence of an entity: the shortest stretch of text that identifies it."""

    text: str
    type: PiiType
    #: An id of the taxonomy.
    category: str
    start: int
    end: int
    #: 0 for the first place at which this subject's entity stands, 1 for the second, ...
    occurrence: int = 0
    #: Of a name that a generator drew: the locale it is from, such as `es_MX`, for recall reported by origin.
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

    id: Name
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

    def entities(self) -> Iterator[Entity]:
        """Yield every occurrence of every subject's entities, subject by subject."""
        for subject in self.subjects:
            yield from subject.entities

    def gold_spans(self) -> list[EntitySpan]:
        """Return every occurrence of the entities by start; one that two subjects share stands once."""
        found = {(one.start, one.end): EntitySpan(one.start, one.end, one.category, "gold") for one in self.entities()}
        return sorted(found.values())


class PredictedEntity(Record, extra="ignore"):
    """An entity that a system names; whatever else it says of it is not read."""

    text: str
    type: PiiType


class PredictedSubject(Record, extra="ignore"):
    """What a system says of one subject; whatever else it says is not read."""

    entities: list[PredictedEntity]


class Prediction(Record):
    """A system's answers on one sample; an answer that was not asked for, or could not be read, is null."""

    sample: Name
    system: Name
    subjects: list[PredictedSubject] | None = None
    query_related: list[str] | None = None
    masked: list[str] | None = None


def comparable_text(text: str) -> str:
    """Return a text as it is compared: Unicode NFKC, no white space around it, case kept **[choice]**."""
    return unicodedata.normalize("NFKC", text).strip()


def less(texts: Iterable[str], needed: Sequence[str]) -> list[str]:
    """Return the texts that are not among those needed, each once, in order: what is masked (PII-Bench, 3.1)."""
    kept = set(map(comparable_text, needed))
    return [text for text in dict.fromkeys(texts) if comparable_text(text) not in kept]
