"""Texts masked for the benchmark: where entities stand in a text, and tags in their place.

Owns what an occurrence is **[choice]**: it begins and ends at the border of a token, so that "25" does not stand in
"1925", and the longest entity takes its places first. Knows no score and no system. It masks what it is told to: the
filter that decides what to mask is `clinaudit mask`.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from clinaudit.audit.pii.benchmark.samples import Sample
from clinaudit.audit.pii.taxonomy import categories
from clinaudit.templates.spans import Span


def find_occurrences(entities: Collection[str], text: str) -> list[tuple[Span, str]]:
    """Return where entities stand in a text, by place, none of them overlapping another.

    The longest entity takes its places first; of two equally long ones the alphabetically first. A digit's border is
    no place inside a longer number ("250" does not stand in "1,250" or "250.75").
    """
    found: list[tuple[Span, str]] = []
    taken = bytearray(len(text))
    for entity in sorted({entity for entity in entities if entity}, key=lambda entity: (-len(entity), entity)):
        for match in re.finditer(_at_borders(entity), text):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\x01" * len(entity)
                found.append((Span(*match.span()), entity))
    return sorted(found)


def _at_borders(entity: str) -> str:
    before = r"(?<!\w)" if entity[0].isalnum() or entity[0] == "_" else ""
    after = r"(?!\w)" if entity[-1].isalnum() or entity[-1] == "_" else ""
    if entity[0].isdigit():
        before += r"(?<!\d[.,])"
    if entity[-1].isdigit():
        after += r"(?![.,]\d)"
    return before + re.escape(entity) + after


def replace_spans(text: str, tags: Sequence[tuple[Span, str]]) -> str:
    """Return a text with a tag in place of each span; spans are by place and do not overlap."""
    parts: list[str] = []
    at = 0
    for (start, end), tag in tags:
        parts += [text[at:start], tag]
        at = end
    return "".join([*parts, text[at:]])


def mask_texts(text: str, tags: Mapping[str, str]) -> str:
    """Return a text with every occurrence of an entity replaced by its tag; `tags` holds the tag of each entity."""
    return replace_spans(text, [(span, tags[entity]) for span, entity in find_occurrences(tags, text)])


def numbered_tags(sample: Sample, masked: Collection[str]) -> dict[str, str]:
    """Return a tag with a number for each masked text of a sample, such as `<CITY_1>`; equal texts have one tag."""
    tags: dict[str, str] = {}
    counts: dict[str, int] = {}
    for entity in (entity for subject in sample.subjects for entity in subject.entities):
        if entity.text in masked and entity.text not in tags:
            tag = categories()[entity.category].tag
            counts[tag] = counts.get(tag, 0) + 1
            tags[entity.text] = f"<{tag}_{counts[tag]}>"
    return tags
