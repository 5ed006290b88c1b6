"""Whether a sample is what it says: offsets, every occurrence, the question, the taxonomy.

Owns the checks. A problem is reported by place and count, never by content.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from clinaudit.audit.pii.benchmark.sample import Entity, Sample
from clinaudit.audit.pii.taxonomy import categories

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
