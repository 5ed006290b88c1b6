"""Whether a sample is what it says: offsets, every occurrence, the question, the taxonomy. And reading of samples.

Owns the checks and the reader of `samples.jsonl`. A problem is told by place and count, never by content.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from clinaudit.audit.pii.benchmark.samples.sample import Entity, Sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import FILE_ENDINGS, find_file, iter_lines, printable

Span = tuple[int, int]
_JSONL: Final = {ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] == "jsonl"}


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


def read_samples(path: Path) -> Iterator[Sample]:
    """Yield the samples of a JSON Lines file (.jsonl, also .gz or .zst), checked, one at a time.

    Raises `BadInputError`, naming file and line and no content, where a line is no sample or a sample fails a check.
    """
    name = printable(path.name)
    seen: set[str] = set()
    try:
        file = find_file(path, name, _JSONL)
        for number, line in enumerate(iter_lines(file), 1):
            if line.strip():
                sample = _parse(line, f"{name}, line {number}")
                if sample.id in seen:
                    raise BadInputError(f"{name}, line {number}: an id that a line before has; give each its own")
                seen.add(sample.id)
                yield sample
    except BadInputError as error:
        if error.message.startswith(name):
            raise
        raise BadInputError(f"{name} {error.message}; name a file of samples", error.problems) from None
    if not seen:
        raise BadInputError(f"{name} holds no sample; make some with clinaudit pii samples")


def _parse(line: bytes, place: str) -> Sample:
    try:
        sample = Sample.model_validate_json(line)
    except ValidationError as error:
        rows = error.errors(include_input=False, include_url=False, include_context=False)
        problems = [f"{_field(row['loc'])}: {row['type']}" for row in rows]
        raise BadInputError(f"{place}: not a sample; see docs/pii-samples.md for its fields", problems) from None
    if problems := check_sample(sample):
        raise BadInputError(f"{place}: the sample contradicts itself; mend it or make it again", problems)
    return sample


def _field(location: tuple[int | str, ...]) -> str:
    """Where in a record; a name that the record does not know is left out, since it may be content."""
    known = {*Sample.model_fields, *Entity.model_fields, "entities", "subject"}
    return ".".join(str(step) if isinstance(step, int) or step in known else "?" for step in location) or "record"


def _entity_problems(description: str, subject: int, entities: list[Entity]) -> Iterator[str]:
    """Offsets, categories, and the numbering of occurrences of one subject."""
    if not entities:
        yield f"subject {subject}: no entity"
    places: dict[str, list[Entity]] = defaultdict(list)
    for number, entity in enumerate(entities):
        place = f"subject {subject}, entity {number}"
        if not (0 <= entity.start < entity.end <= len(description)):
            yield f"{place}: offsets outside the description"
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
    """What is needed is told, is no name, and is not named in the question."""
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
