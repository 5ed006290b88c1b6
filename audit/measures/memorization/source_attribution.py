"""Attribution of memorized regions to source notes, and the split of stitched ones (paper 3.2.1).

Owns the source note of each piece of a region, and its copy-forward count: how many of the patient's notes hold it
(docs/methods.md, section 2, "Attribution and split"). Both texts hold line feeds only, and cuts fall on token
boundaries. Knows nothing of sections, template rules or other patients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clinaudit.audit.runtime.model.tokenizer import TokenSpans
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class RegionText:
    """The text of one region with line feeds only, and where its tokens stand in it."""

    #: The region's place in the generation.
    span_tokens: Span
    text: str
    #: Characters of `text`, one span a token of the region.
    token_chars: Sequence[Span]
    #: For each character of `text`, and for its end, the character of the generation at which it starts.
    generation_chars: Sequence[int]

    def slice(self, start: int, end: int) -> str:
        """Return the text of tokens `start` to `end` of the region."""
        return self.text[self.token_chars[start].start : self.token_chars[end - 1].end] if start < end else ""


class Piece(NamedTuple):
    """A part of a region whose text stands verbatim in one of the patient's notes."""

    #: Place in the generation.
    span_tokens: Span
    #: With line feeds only.
    text: str
    #: Index of the source note among the patient's notes, and the first occurrence's start there (characters).
    note: int
    note_start_chars: int
    #: Copy-forward: how many of the patient's notes hold the text.
    copy_forward_count: int
    #: Indices of these notes.
    holders: tuple[int, ...] = ()


class AttributedRegion(NamedTuple):
    """A region with the pieces that cover it."""

    span_tokens: Span
    #: No single note holds the whole region.
    stitched: bool
    #: Ordered by `span_tokens`; they may overlap.
    pieces: tuple[Piece, ...]
    #: Tokens that no piece covers: neither a prefix nor a suffix from there occurs in any note.
    dropped_tokens: int


def cut_region_text(text: str, token_chars: Sequence[Span], span_tokens: Span) -> RegionText:
    r"""Cut a region out of a generation and read `\r\n` and `\r` as `\n` in it.

    `token_chars` gives for each token of the generation its characters of `text`. A token that ends between `\r` and
    `\n` keeps the line feed, and so does the token that begins there: each reads as its own text alone would.
    """
    begin = token_chars[span_tokens.start].start
    end = max(token_chars[span_tokens.end - 1].end, begin)
    raw = text[begin:end]
    inside = token_chars[span_tokens.start : span_tokens.end]
    if "\r" not in raw:
        # No token begins before the first one, and none ends before it begins.
        shifted = np.maximum.accumulate(np.maximum(np.array(inside, dtype=np.int32) - begin, 0), axis=1)
        return RegionText(span_tokens, raw, TokenSpans(shifted), range(begin, end + 1))
    # For each raw position the normalized positions at which its character starts and ends.
    starts: list[int] = []
    ends: list[int] = []
    sources: list[int] = []
    for index, char in enumerate(raw):
        if char == "\n" and index > 0 and raw[index - 1] == "\r":
            starts.append(len(sources) - 1)
        else:
            starts.append(len(sources))
            sources.append(begin + index)
        ends.append(len(sources))
    starts.append(len(sources))

    def normalized(span: Span) -> Span:
        start, stop = max(span.start - begin, 0), max(span.end - begin, 0)
        return Span(starts[start], ends[stop - 1] if stop > start else starts[start])

    chars = tuple(normalized(span) for span in inside)
    return RegionText(span_tokens, normalize_newlines(raw), chars, (*sources, end))


def attribute_region(region: RegionText, notes: Sequence[str]) -> AttributedRegion:
    """Attribute a region to its source notes, splitting it where no single note holds it.

    `notes` are the patient's notes with line feeds only, oldest first. The source note of a piece is the latest that
    holds it. An empty text (special tokens alone) stands in no note.
    """
    length = len(region.token_chars)
    whole = _attribute_piece(region, 0, length, notes)
    if whole is not None:
        return AttributedRegion(region.span_tokens, False, (whole,), 0)
    pieces, dropped = split_stitched_region(region, notes)
    return AttributedRegion(region.span_tokens, True, tuple(pieces), dropped)


def split_stitched_region(region: RegionText, notes: Sequence[str]) -> tuple[list[Piece], int]:
    """Split a region into the longest prefix and suffix (in tokens) that each stand in some note; repeat on the rest.

    Where neither exists, the first and the last token are dropped and counted (docs/methods.md, section 2). Returns
    the pieces in order of place, and the number of dropped tokens.
    """
    pieces: list[Piece] = []
    dropped = 0
    start, end = 0, len(region.token_chars)
    while start < end:
        whole = _attribute_piece(region, start, end, notes)
        if whole is not None:
            pieces.append(whole)
            break
        prefix_end = _longest_prefix(region, start, end, notes)
        suffix_start = _longest_suffix(region, start, end, notes)
        for piece_start, piece_end in ((start, prefix_end), (suffix_start, end)):
            piece = _attribute_piece(region, piece_start, piece_end, notes)
            if piece is not None:
                pieces.append(piece)
        if prefix_end == start and suffix_start == end:
            dropped += min(2, end - start)
            start, end = start + 1, end - 1
        else:
            start, end = prefix_end, suffix_start
    return sorted(pieces, key=lambda piece: piece.span_tokens), dropped


def _longest_prefix(region: RegionText, start: int, end: int, notes: Sequence[str]) -> int:
    """Return the end of the longest prefix that stands in some note (`start` where none does), by bisection.

    Bisection is sound: where a note holds a text, it holds every prefix of it, and none begins later. So a note that
    lacks a prefix is not searched again for a longer one, and the others are searched from where they held the shorter.
    """
    good, bad = start, end
    holders = dict.fromkeys(notes, 0)
    while bad - good > 1:
        middle = (good + bad) // 2
        text = region.slice(start, middle)
        found = {note: at for note, begin in holders.items() if (at := note.find(text, begin)) >= 0}
        if found:
            good, holders = middle, found
        else:
            bad = middle
    return good if region.slice(start, good) else start


def _longest_suffix(region: RegionText, start: int, end: int, notes: Sequence[str]) -> int:
    """Return the start of the longest suffix that stands in some note (`end` where none does)."""
    good, bad = end, start
    holders = list(dict.fromkeys(notes))
    while good - bad > 1:
        middle = (good + bad) // 2
        text = region.slice(middle, end)
        # Searched from the front: `rfind` takes quadratic time on periodic text.
        found = [note for note in holders if text in note]
        if found:
            good, holders = middle, found
        else:
            bad = middle
    return good if region.slice(good, end) else end


def _attribute_piece(region: RegionText, start: int, end: int, notes: Sequence[str]) -> Piece | None:
    text = region.slice(start, end)
    holders = [index for index, note in enumerate(notes) if text in note] if text else []
    if not holders:
        return None
    place = Span(region.span_tokens.start + start, region.span_tokens.start + end)
    return Piece(place, text, holders[-1], notes[holders[-1]].index(text), len(holders), tuple(holders))
