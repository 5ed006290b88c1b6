"""Samples of the benchmark: a description of one or several subjects, a question, and which entities it needs.

Owns the record of `samples.jsonl` and of `predictions.jsonl` (PII-Bench, 3.1). Offsets are of characters, half-open,
and every occurrence of an entity is listed: scores use texts, masking uses occurrences.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
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
_WORD: Final = re.compile(r"\w")


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


def occurrences(text: str, within: str, *, ignore_case: bool = False, in_numbers: bool = True) -> list[tuple[int, int]]:
    """Return where a text stands in another at token boundaries: "25" does not stand in "1925".

    With `in_numbers` false it does not stand inside a longer number either: "250" in "1,250" or "250.75".
    """
    return [match.span() for match in _occurrence(text, ignore_case, in_numbers).finditer(within)] if text else []


@lru_cache(maxsize=10_000)
def _occurrence(text: str, ignore_case: bool, in_numbers: bool) -> re.Pattern[str]:
    is_number = [edge.isdigit() and not in_numbers for edge in (text[0], text[-1])]
    before = (r"(?<!\w)" if _WORD.match(text[0]) else "") + (r"(?<!\d[.,])" if is_number[0] else "")
    after = (r"(?!\w)" if _WORD.match(text[-1]) else "") + (r"(?![.,]\d)" if is_number[1] else "")
    return re.compile(before + re.escape(text) + after, re.IGNORECASE if ignore_case else 0)


def find_occurrences(entities: Iterable[str], text: str) -> list[tuple[tuple[int, int], str]]:
    """Return where entities stand in a text, by place, none of them overlapping another.

    **[choice]** The longest entity takes its places first; of two equally long ones the alphabetically first. None
    stands inside a longer number.
    """
    found: list[tuple[tuple[int, int], str]] = []
    taken = bytearray(len(text))
    for entity in sorted(set(entities), key=lambda entity: (-len(entity), entity)):
        for start, end in occurrences(entity, text, in_numbers=False):
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * len(entity)
                found.append(((start, end), entity))
    return sorted(found)


def mask_texts(text: str, tags: Mapping[str, str]) -> str:
    """Return a text with every occurrence of an entity replaced by its tag; `tags` holds the tag of each entity."""
    parts: list[str] = []
    at = 0
    for (start, end), entity in find_occurrences(tags, text):
        parts += [text[at:start], tags[entity]]
        at = end
    return "".join([*parts, text[at:]])
