"""A text with its entities, to train a system on; and its tokens with the tags that a sequence labeller learns.

Owns the split into tokens and the tags (B-, I- and O). Knows nothing of where the texts come from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clinaudit.audit.pii.entity_span import EntitySpan

#: A token is a run of letters and digits, or one other sign: entities begin and end between tokens.
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and its entities, sorted, none of them overlapping another."""

    text: str
    spans: tuple[EntitySpan, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """Characters `start` to `end` (half-open) of a text."""

    text: str
    start: int
    end: int


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text in order; white space is no token."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]


def tag_tokens(tokens: Sequence[Token], spans: Sequence[EntitySpan]) -> list[str]:
    """Return each token's tag: `B-category` at an entity's first token, `I-category` at the others, else `O`.

    A token that an entity holds in part is the entity's.
    """
    tags = [OUTSIDE] * len(tokens)
    waiting = iter(sorted(spans))
    span = next(waiting, None)
    begun = False
    for number, token in enumerate(tokens):
        while span is not None and span.end <= token.start:
            span, begun = next(waiting, None), False
        if span is not None and token.end > span.start:
            tags[number] = f"{'I' if begun else 'B'}-{span.category}"
            begun = True
    return tags


def spans_of_tags(tokens: Sequence[Token], tags: Sequence[str], *, found_by: str) -> Iterator[EntitySpan]:
    """Yield the entities that tags tell; an `I-` that follows no entity of its category begins one."""
    category, start, end = "", 0, 0
    for token, tag in zip(tokens, tags, strict=True):
        mark, _, named = tag.partition("-")
        if mark == "I" and named == category:
            end = token.end
            continue
        if category:
            yield EntitySpan(start, end, category, found_by)
        category, start, end = named, token.start, token.end
    if category:
        yield EntitySpan(start, end, category, found_by)
