"""Samples of the benchmark: a description of one or several subjects, a question, and which entities it needs.

Owns the records of `samples.jsonl` and `predictions.jsonl` (PII-Bench, 3.1), their reading, and whether a sample is
what it says (docs/pii.md). Offsets are of characters, half-open, and every occurrence of an entity is listed: scores
use texts, masking uses occurrences. An id stands once, and no row is dropped in silence. Problems name row, field and
position, never what stands there.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import PydanticCustomError

from clinaudit.audit.pii.taxonomy import EntitySpan, PiiType, categories
from clinaudit.audit.runtime.choices import SampleDomain, SampleSubset
from clinaudit.audit.statistics.estimates import grouped
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records
from clinaudit.reports.schema.record import Record

#: The fault of a record's own check, whose words are fixed: pydantic's may hold content.
CHECKED: Final = "checked"


def _name(value: object) -> object:
    """Return a name as a text; raises `PydanticCustomError` for one that cannot stand in a table."""
    text = str(value) if type(value) is int else value
    if isinstance(text, str) and (not text.strip() or len(text) > 200 or not text.isprintable()):
        raise PydanticCustomError(CHECKED, "is blank, longer than 200 characters, or holds one that cannot be printed")
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

    def entities(self) -> list[Entity]:
        """Return every occurrence of every subject's entities, subject by subject."""
        return [entity for subject in self.subjects for entity in subject.entities]

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
    """Return where a text stands in another as a token; without `in_numbers`, "250" does not stand in "1,250"."""
    return [match.span() for match in _occurrence(text, ignore_case, in_numbers).finditer(within)] if text else []


@lru_cache(maxsize=10_000)
def _occurrence(text: str, ignore_case: bool, in_numbers: bool) -> re.Pattern[str]:

    def edge(char: str, of_word: str, of_number: str) -> str:
        return (of_word if re.match(r"\w", char) else "") + (of_number if char.isdigit() and not in_numbers else "")

    before, after = edge(text[0], r"(?<!\w)", r"(?<!\d[.,])"), edge(text[-1], r"(?!\w)", r"(?![.,]\d)")
    return re.compile(before + re.escape(text) + after, re.IGNORECASE if ignore_case else 0)


def find_occurrences(entities: Iterable[str], text: str) -> list[tuple[tuple[int, int], str]]:
    """Return where entities stand in a text, apart, by place; the longest takes its places first **[choice]**."""
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


Row = TypeVar("Row", bound=BaseModel)
#: What is wrong with a row: the field, "" for the whole of it, and what.
Faults = Iterator[tuple[str, str]]
#: By pydantic's name of a fault; its own messages may hold content.
_FAULTS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "json_invalid": "is not JSON",
    "extra_forbidden": "has a key that is not known there",
    "string_type": "is not text",
    "int_type": "is not a whole number",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    "model_type": "is not an object",
    "greater_than_equal": "is too small",
    "string_too_long": "is too long",
    "string_too_short": "is blank",
}


def _iter_sound_rows(
    path: Path, row_type: type[Row], *, role: str, header: Header, check: Callable[[int, Row], Faults], unread: str = ""
) -> Iterator[Row]:
    """Yield the record of each line of a `.jsonl` (also `.gz`, `.zst`), in its order, as long as none has a fault.

    `check` says what else is wrong with one; `unread` what is wrong where `header`, of the fields that are read, met
    others; `role` names the file. At the end raises `BadInputError` with all problems, at once where there is no file.
    """
    problems, file = Problems(), find_given_file(path, role, JSONL_ENDINGS)
    row = 0
    for row, record in iter_records(file, header=header, problems=problems):
        texts = {field: json.dumps(value, ensure_ascii=False) for field, value in record.items()}
        faults = [(field, NOT_UNICODE) for field, text in texts.items() if not is_encodable(text)]
        try:
            read = row_type.model_validate(record, strict=True)
            faults += check(row, read) if not faults else ()
        except ValidationError as error:
            faults += describe_faults(error)
        for field, what in faults:
            problems.add(file.name, what, row=row, column=field)
        # Of a file with a problem nothing is used: the rest is read for its other problems.
        if not len(problems):
            yield read
    if not row and not len(problems):
        problems.add(file.name, "has no rows")
    if unread and header.unread:
        problems.add(file.name, unread)
    problems.raise_any(role)


def describe_faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield the first fault of each field of a record: the field, and what is wrong where in it, without content."""
    seen: set[str] = set()
    for fault in error.errors(include_url=False, include_input=False):
        # A key that is not known may itself be content.
        steps = fault["loc"][:-1] if fault["type"] == "extra_forbidden" else fault["loc"]
        field = str(steps[0]) if steps else ""
        if field not in seen:
            seen.add(field)
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps[1:])
            what = _FAULTS.get(fault["type"], "is not as it must be there")
            if fault["type"] == "literal_error":
                what = f"is none of {fault['ctx']['expected']}"
            elif fault["type"] == CHECKED:
                what = fault["msg"]
            yield field, f"{field}{place} {what}" if place else what


def place_problems(marked: Sequence[tuple[int, int, str, str]], chars: int) -> list[str]:
    """Return what is wrong with (start, end, category, subject) of a text; two subjects may share a place."""
    kinds = {(start, end, category) for start, end, category, _ in marked}
    places = sorted({(start, end) for start, end, _ in kinds})
    is_apart = all(first[1] <= second[0] for first, second in pairwise(places))
    is_inside = all(0 <= start < end <= chars for start, end in places)
    wrong = []
    if not (is_apart and is_inside and len(kinds) == len(places) and len(set(marked)) == len(marked)):
        wrong.append("marks places that overlap, are empty or lie outside the text")
    if not {category for *_, category in kinds} <= categories().keys():
        wrong.append("names a category that the taxonomy lacks")
    return wrong


def check_places(sample: Sample) -> list[str]:
    """Return what is wrong with the places of a sample and with what it needs, without content."""
    if len({subject.id for subject in sample.subjects}) < len(sample.subjects):
        return ["two subjects have one id"]
    listed = [(subject.id, entity) for subject in sample.subjects for entity in subject.entities]
    marked = [(entity.start, entity.end, entity.category, subject) for subject, entity in listed]
    wrong = place_problems(marked, len(sample.description))
    if any(sample.description[entity.start : entity.end] != entity.text for _, entity in listed):
        wrong.append("the text at an entity's place is another")
    if not {(one.subject, one.text) for one in sample.query_related} <= {(of, one.text) for of, one in listed}:
        wrong.append("a needed entity is none of the entities")
    return wrong


def check_sample(sample: Sample) -> list[str]:
    """Return what is wrong with a sample, each problem in a line without content; empty where nothing is."""
    return check_places(sample) or [*_entity_problems(sample), *_question_problems(sample)]


def _entity_problems(sample: Sample) -> Iterator[str]:
    """Yield what is wrong with types and categories, and with how occurrences are numbered and listed."""
    if not sample.subjects:
        yield "no subject"
    for number, subject in enumerate(sample.subjects):
        if not subject.entities:
            yield f"subject {number}: no entity"
        for place, entity in enumerate(subject.entities):
            if not entity.text.strip():
                yield f"subject {number}, entity {place}: its text is blank"
            elif categories()[entity.category].type != entity.type:
                yield f"subject {number}, entity {place}: its type is not that of its category"
        for same in grouped(subject.entities, attrgetter("text")).values():
            if len({entity.category for entity in same}) > 1:
                yield f"subject {number}: one text under two categories"
            if [entity.occurrence for entity in sorted(same, key=attrgetter("start"))] != list(range(len(same))):
                yield f"subject {number}: occurrences of an entity are not numbered from 0 in order"
    # Every place at token boundaries where an entity's text stands must be listed, or lie within a longer entity.
    spans = {(entity.start, entity.end) for entity in sample.entities()}
    for text in sorted({entity.text for entity in sample.entities()}):
        for start, end in occurrences(text, sample.description):
            if (start, end) not in spans and not any(low <= start and end <= high for low, high in spans):
                yield f"an entity's text stands unlisted at character {start}"


def _question_problems(sample: Sample) -> Iterator[str]:
    """Yield what is wrong with the question, and with what it needs: no name, and nothing that it names."""
    types = {(subject.id, entity.text): entity.type for subject in sample.subjects for entity in subject.entities}
    if not sample.query.strip():
        yield "no question"
    if not sample.query_related:
        yield "the question needs no entity"
    needed = [(row.subject, row.text) for row in sample.query_related]
    if len(set(needed)) != len(needed):
        yield "a needed entity is listed twice"
    for number, pair in enumerate(needed):
        if types[pair] == "PER":
            yield f"needed entity {number}: a name, which no answer may need"
        if occurrences(pair[1], sample.query, ignore_case=True):
            yield f"needed entity {number}: the question names it"


def iter_samples(path: Path, *, check: Callable[[Sample], list[str]] = check_sample) -> Iterator[Sample]:
    """Yield the samples of a JSON Lines file (`.jsonl`, also `.gz` or `.zst`) one at a time, in its order.

    At the end raises `BadInputError` with all problems: rows that are no sample, an id that stood above, what `check`
    says of one, and keys that would be dropped.
    """
    first_rows: dict[str, int] = {}

    def wrong_with(row: int, sample: Sample) -> Faults:
        if first_rows.setdefault(sample.id, row) != row:
            yield "id", f"stood in row {first_rows[sample.id]} already"
        if wrong := check(sample):
            yield "", "; ".join(wrong)

    header = Header(Sample.model_fields)
    unread = "has keys that no sample has; take them out (docs/pii.md lists those there are)"
    yield from _iter_sound_rows(path, Sample, role="the samples", header=header, check=wrong_with, unread=unread)


PREDICTION_FIELDS: Final = tuple(Prediction.model_fields)


def iter_predictions(path: Path, *, samples: Collection[str], header: Header) -> Iterator[Prediction]:
    """Yield the predictions of a file, in file order, one a system and sample; `header` meets the fields not read.

    At the end raises `BadInputError` with all problems: rows that are no prediction, ids that are not in `samples`, and
    second rows of one system and sample, since which of them is meant cannot be known.
    """
    first_rows: dict[tuple[str, str], int] = {}

    def wrong_with(row: int, prediction: Prediction) -> Faults:
        key = prediction.system, prediction.sample
        if prediction.sample not in samples:
            yield "sample", "is not the id of any sample"
        elif first_rows.setdefault(key, row) != row:
            yield "", f"is of the same system and sample as row {first_rows[key]}; keep one of them"

    yield from _iter_sound_rows(path, Prediction, role="the predictions", header=header, check=wrong_with)
