"""`samples.jsonl` and `predictions.jsonl`, read (docs/pii.md), and whether a sample is what it says.

An id stands once, and no row is dropped in silence. Problems name row, field and position, never what stands there.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from clinaudit.audit.pii.benchmark.sample import CHECKED, Entity, Prediction, Sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.priors.corpus.cells import NOT_UNICODE
from clinaudit.priors.corpus.files import JSONL_ENDINGS, find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, is_encodable, iter_records

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
            what = _describe(fault["type"], fault.get("ctx", {}), fault["msg"])
            yield field, f"{field}{place} {what}" if place else what


def _describe(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind == "literal_error":
        return f"is none of {context['expected']}"
    return message if kind == CHECKED else _FAULTS.get(kind, "is not as it must be there")


Span = tuple[int, int]


def check_sample(sample: Sample) -> list[str]:
    """Return what is wrong with a sample, each problem in a line without content; empty where nothing is."""
    ids = [subject.id for subject in sample.subjects]
    problems = [] if len(set(ids)) == len(ids) else ["two subjects have one id"]
    if not sample.subjects:
        problems.append("no subject")
    for number, subject in enumerate(sample.subjects):
        problems += _entity_problems(sample.description, number, subject.entities)
    problems += _overlap_problems(sample)
    problems += _unlisted_problems(sample)
    problems += _question_problems(sample)
    return problems


def occurrences(text: str, within: str, *, ignore_case: bool = False) -> list[Span]:
    """Return where a text stands in another at token boundaries: "25" does not stand in "1925"."""
    if not text:
        return []
    before = r"(?<!\w)" if text[0].isalnum() or text[0] == "_" else ""
    after = r"(?!\w)" if text[-1].isalnum() or text[-1] == "_" else ""
    pattern = re.compile(before + re.escape(text) + after, re.IGNORECASE if ignore_case else 0)
    return [match.span() for match in pattern.finditer(within)]


def _entity_problems(description: str, subject: int, entities: list[Entity]) -> Iterator[str]:
    """Offsets, categories, and the numbering of occurrences of one subject."""
    if not entities:
        yield f"subject {subject}: no entity"
    places: dict[str, list[Entity]] = defaultdict(list)
    for number, entity in enumerate(entities):
        place = f"subject {subject}, entity {number}"
        if not (0 <= entity.start < entity.end <= len(description)):
            yield f"{place}: offsets outside the description"
        elif not entity.text.strip():
            yield f"{place}: its text is blank"
        elif description[entity.start : entity.end] != entity.text:
            yield f"{place}: the text at its offsets is another"
        category = categories().get(entity.category)
        if category is None:
            yield f"{place}: a category that the taxonomy does not know"
        elif category.type != entity.type:
            yield f"{place}: its type is not that of its category"
        places[entity.text].append(entity)
    for same in places.values():
        if len({entity.category for entity in same}) > 1:
            yield f"subject {subject}: one text under two categories"
        if [entity.occurrence for entity in sorted(same, key=lambda entity: entity.start)] != list(range(len(same))):
            yield f"subject {subject}: occurrences of an entity are not numbered from 0 in order"


def _overlap_problems(sample: Sample) -> Iterator[str]:
    """Two entities may share their characters only where two subjects share the entity."""
    listed = sorted(
        (entity.start, entity.end, number)
        for number, subject in enumerate(sample.subjects)
        for entity in subject.entities
    )
    for (start, end, owner), (next_start, next_end, next_owner) in pairwise(listed):
        shared = (start, end) == (next_start, next_end) and owner != next_owner
        if next_start < end and not shared:
            yield f"entities overlap at character {next_start}"


def _unlisted_problems(sample: Sample) -> Iterator[str]:
    """Every place at token boundaries where an entity's text stands must be listed, or lie within a longer entity."""
    spans = {(entity.start, entity.end) for subject in sample.subjects for entity in subject.entities}
    texts = {entity.text for subject in sample.subjects for entity in subject.entities}
    for text in sorted(texts):
        for start, end in occurrences(text, sample.description):
            if (start, end) not in spans and not any(low <= start and end <= high for low, high in spans):
                yield f"an entity's text stands unlisted at character {start}"


def _question_problems(sample: Sample) -> Iterator[str]:
    """What is needed is an entity and no name, and the question does not name it."""
    held = {(subject.id, entity.text): entity.type for subject in sample.subjects for entity in subject.entities}
    if not sample.query.strip():
        yield "no question"
    if not sample.query_related:
        yield "the question needs no entity"
    needed = [(row.subject, row.text) for row in sample.query_related]
    if len(set(needed)) != len(needed):
        yield "a needed entity is listed twice"
    for number, pair in enumerate(needed):
        if pair not in held:
            yield f"needed entity {number}: no entity of that subject"
        elif held[pair] == "PER":
            yield f"needed entity {number}: a name, which no answer may need"
        if occurrences(pair[1], sample.query, ignore_case=True):
            yield f"needed entity {number}: the question names it"


def iter_samples(path: Path, *, check: Callable[[Sample], list[str]] = check_sample) -> Iterator[Sample]:
    """Yield the samples of a JSON Lines file (`.jsonl`, also `.gz` or `.zst`) one at a time, in its order.

    `check` says what is wrong with one, without content. At the end raises `BadInputError` with all problems: rows that
    are no sample, an id that stood above, what `check` says, and keys that would be dropped.
    """
    first_rows: dict[str, int] = {}

    def wrong_with(row: int, sample: Sample) -> Faults:
        if first_rows.setdefault(sample.id, row) != row:
            yield "id", f"stood in row {first_rows[sample.id]} already"
        if wrong := check(sample):
            yield "", "; ".join(wrong)

    header, unread = (
        Header(Sample.model_fields),
        "has keys that no sample has; take them out (docs/pii.md lists those there are)",
    )
    yield from _iter_sound_rows(path, Sample, role="the samples", header=header, check=wrong_with, unread=unread)


PREDICTION_FIELDS: Final = tuple(Prediction.model_fields)


def iter_predictions(path: Path, *, samples: Collection[str], header: Header) -> Iterator[Prediction]:
    """Yield the predictions of a file, in file order, one a system and sample.

    `header`, of `PREDICTION_FIELDS`, says at the end how many other fields were not read. At its end raises
    `BadInputError` listing all problems: rows that are no prediction, unknown samples (`samples` are those known), and
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
