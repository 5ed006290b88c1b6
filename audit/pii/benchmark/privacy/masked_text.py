"""Texts masked for the benchmark: where entities stand in a text, and tags in their place.

Owns what an occurrence is **[choice]**: it begins and ends at the border of a token, so that "25" does not stand in
"1925", and the longest entity takes its places first. Knows no score and no system. It masks what it is told to: the
filter that decides what to mask is `clinaudit mask`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from clinaudit.audit.pii.benchmark.samples.sample import Sample
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
        for start in _places(entity, text):
            end = start + len(entity)
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * len(entity)
                found.append((Span(start, end), entity))
    return sorted(found)


def _places(entity: str, text: str) -> Iterator[int]:
    """Yield where an entity stands at the borders of tokens; a regular expression each would cost ten times as much."""
    start = text.find(entity)
    while start >= 0:
        end = start + len(entity)
        stands = _is_border(entity[0], text[max(start - 2, 0) : start][::-1]) and _is_border(
            entity[-1], text[end : end + 2]
        )
        if stands:
            yield start
        start = text.find(entity, end if stands else start + 1)


def _is_border(edge: str, outside: str) -> bool:
    """Return whether a token can end at `edge`, with what stands outside of it, the next character first."""
    if not outside:
        return True
    if _is_word(edge) and _is_word(outside[0]):
        return False
    return not (edge.isdigit() and outside[0] in ".," and outside[1:].isdecimal())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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
