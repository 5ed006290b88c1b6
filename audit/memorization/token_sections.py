"""The composition of a memorized piece: note sections and templated tokens (paper 3.2.1, Appendix B).

Owns the segments of a piece and the label of each of its tokens. Both are read off the *whole* source note: a slice
would have false line starts. Knows nothing of other patients.
"""

from dataclasses import dataclass
from functools import lru_cache

from clinaudit.audit.memorization.source_attribution import Piece, RegionText
from clinaudit.templates.note import NoteText
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class TokenLabel:
    """Where one token of a piece stands in the source note."""

    section: str
    #: By the paper's rules.
    templated: bool
    #: Templated, and telling nothing.
    boilerplate: bool


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """The part of a piece that lies in one section."""

    section: str
    #: Characters of the generated text.
    span_chars: Span
    #: Tokens of the generation whose first character lies here.
    tokens: tuple[int, ...]


#: Equal labels share one object.
_label = lru_cache(maxsize=None)(TokenLabel)


def compose_piece(piece: Piece, region: RegionText, note: NoteText) -> tuple[list[TokenLabel], list[SegmentPlace]]:
    """Label the tokens of a piece, in order, and cut the piece at the section boundaries of its source note.

    A token belongs to the segment that holds its first character. It is templated when any of its characters is, and so
    with boilerplate.
    """
    first = piece.span_tokens.start - region.span_tokens.start
    chars = region.token_chars[first : first + piece.span_tokens.end - piece.span_tokens.start]
    #: Added to a position in the region's text, gives the position in the note.
    shift = piece.note_start_chars - chars[0].start
    sections = [
        section
        for section in note.sections
        if section.span_chars.overlaps(Span(piece.note_start_chars, piece.note_start_chars + len(piece.text)))
    ]
    tokens_of: list[list[int]] = [[] for _ in sections]
    labels: list[TokenLabel] = []
    for offset, (start, end) in enumerate(chars):
        # A token without characters belongs with the one before it, or to the piece's start.
        place = min(max(start, chars[0].start) + shift, piece.note_start_chars + len(piece.text) - 1)
        index = next(i for i, section in enumerate(sections) if place < section.span_chars.end)
        tokens_of[index].append(piece.span_tokens.start + offset)
        own = slice(start + shift, end + shift)
        labels.append(_label(sections[index].name, 1 in note.templated[own], 1 in note.boilerplate[own]))

    def in_generation(span: Span) -> Span:
        start = max(span.start - shift, chars[0].start)
        end = min(span.end - shift, chars[0].start + len(piece.text))
        return Span(region.generation_chars[start], region.generation_chars[end])

    places = [
        SegmentPlace(section.name, in_generation(section.span_chars), tuple(tokens))
        for section, tokens in zip(sections, tokens_of, strict=True)
    ]
    return labels, places
