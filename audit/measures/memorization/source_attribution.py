"""Attribution of memorized regions to source notes, and the split of stitched ones (paper 3.2.1).

Owns the source note of each piece of a region, and its copy-forward count: how many of the patient's notes hold it
(docs/methods.md, section 2, "Attribution and split"). Both texts hold line feeds only, and cuts fall on token
boundaries. Knows nothing of sections, template rules or other patients.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span


class RegionText(NamedTuple):
    """The text of one region with line feeds only, and where its tokens stand in it."""

    #: The region's place in the generation.
    span_tokens: Span
    text: str
    #: Characters of `text`, shape (tokens of the region, 2).
    token_chars: npt.NDArray[np.int64]
    #: For each character of `text`, and for its end, the character of the generation at which it starts.
    generation_chars: Sequence[int]


class Piece(NamedTuple):
    """A part of a region whose text stands verbatim in one of the patient's notes."""

    #: Place in the generation.
    span_tokens: Span
    #: With line feeds only.
    text: str
    #: Index of the source note among the patient's notes, and the first occurrence's start there (characters).
    note: int
    note_start_chars: int
    #: Indices of the notes that hold the text.
    holders: tuple[int, ...] = ()

    @property
    def note_chars(self) -> Span:
        """Its characters in the source note."""
        return Span(self.note_start_chars, self.note_start_chars + len(self.text))


class AttributedRegion(NamedTuple):
    """A region with the pieces that cover it, by place; they may overlap, and leave tokens out that no note holds."""

    span_tokens: Span
    pieces: tuple[Piece, ...]

    @property
    def stitched(self) -> bool:
        """No single note holds the whole region."""
        return [piece.span_tokens for piece in self.pieces] != [self.span_tokens]


def cut_region_text(text: str, token_chars: npt.ArrayLike | Sequence[Span], span_tokens: Span) -> RegionText:
    r"""Cut a region out of a generation and read `\r\n` and `\r` as `\n` in it.

    `token_chars` gives for each token of the generation its characters of `text`. A token that ends between `\r` and
    `\n` keeps the line feed, and so does the token that begins there: each reads as its own text alone would.
    """
    own = np.asarray(token_chars[slice(*span_tokens)], dtype=np.int64).reshape(-1, 2)  # type: ignore[index]
    begin = int(own[0, 0])
    # No token begins before the first one, and none ends before it begins.
    chars = np.maximum.accumulate(np.maximum(own - begin, 0), axis=1)
    raw = text[begin : begin + int(chars[-1, 1])]
    if "\r" not in raw:
        return RegionText(span_tokens, raw, chars, range(begin, begin + len(raw) + 1))
    signs = np.array(list(raw))
    kept = np.ones(len(raw), dtype=np.bool_)
    kept[1:] = (signs[1:] != "\n") | (signs[:-1] != "\r")
    through = np.cumsum(kept)
    starts = np.append(through - 1, through[-1])[chars[:, 0]]
    ends = np.where(chars[:, 1] > chars[:, 0], through[chars[:, 1] - 1], starts)
    sources = [*(np.flatnonzero(kept) + begin).tolist(), begin + len(raw)]
    return RegionText(span_tokens, normalize_newlines(raw), np.stack([starts, ends], axis=1), sources)


def attribute_region(region: RegionText, notes: Sequence[str]) -> AttributedRegion:
    """Attribute a region to its source notes, splitting it where no single note holds it.

    `notes` are the patient's notes with line feeds only, oldest first. The source note of a piece is the latest that
    holds it. An empty text (special tokens alone) stands in no note.
    """
    pieces = (_attribute_piece(region, span, notes) for span in _split(region, notes))
    found = [piece for piece in pieces if piece is not None]
    return AttributedRegion(region.span_tokens, tuple(sorted(found, key=lambda piece: piece.span_tokens)))


def count_source_notes(holders: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return how many notes hold any piece, and how few cover all of them; `holders` are the notes of each piece.

    The cover is greedy: the note that holds most of the pieces left, and of several the latest. The least cover may be
    smaller, but by a factor of 1 + ln(pieces) at most (Chvatal, 1979).
    """
    left = set(range(len(holders)))
    fewest = 0
    while left:
        held: dict[int, set[int]] = {}
        for piece in left:
            for note in holders[piece]:
                held.setdefault(note, set()).add(piece)
        if not held:
            raise ValueError("a piece without a note that holds it")
        left -= held[max(held, key=lambda note: (len(held[note]), note))]
        fewest += 1
    return len({note for own in holders for note in own}), fewest


def _split(region: RegionText, notes: Sequence[str]) -> Iterator[Span]:
    """Yield the region, or its longest prefix and suffix (in tokens) that each stand in some note; repeat on the rest.

    Where neither exists, the first and the last token are dropped (docs/methods.md, section 2).
    """
    texts = list(dict.fromkeys(notes))
    start, end = 0, len(region.token_chars)
    while start < end:
        prefix, suffix = _longest_prefix(region, start, end, texts), end
        yield Span(start, prefix)
        if prefix == end:
            return
        suffix = _longest_suffix(region, start, end, texts)
        yield Span(suffix, end)
        start, end = (start + 1, end - 1) if (prefix, suffix) == (start, end) else (prefix, suffix)


def _slice(region: RegionText, start: int, end: int) -> str:
    """Return the text of tokens `start` to `end` of a region."""
    return region.text[region.token_chars[start, 0] : region.token_chars[end - 1, 1]] if start < end else ""


def _longest_prefix(region: RegionText, start: int, end: int, notes: Sequence[str]) -> int:
    """Return the end of the longest prefix that stands in some note (`start` where none does), by bisection.

    Bisection is sound: where a note holds a text, it holds every prefix of it, and none begins later. So a note that
    lacks a prefix is not searched again for a longer one, and the others are searched from where they held the shorter.
    """
    good, bad, middle = start, end + 1, end
    holders = dict.fromkeys(notes, 0)
    while bad - good > 1:
        text = _slice(region, start, middle)
        found = {note: at for note, begin in holders.items() if (at := note.find(text, begin)) >= 0}
        if found:
            good, holders = middle, found
        else:
            bad = middle
        middle = (good + bad) // 2
    return good if _slice(region, start, good) else start


def _longest_suffix(region: RegionText, start: int, end: int, notes: Sequence[str]) -> int:
    """Return the start of the longest suffix that stands in some note (`end` where none does)."""
    good, bad, holders = end, start, notes
    while good - bad > 1:
        middle = (good + bad) // 2
        text = _slice(region, middle, end)
        # Searched from the front: `rfind` takes quadratic time on periodic text.
        found = [note for note in holders if text in note]
        if found:
            good, holders = middle, found
        else:
            bad = middle
    return good if _slice(region, good, end) else end


def _attribute_piece(region: RegionText, span: Span, notes: Sequence[str]) -> Piece | None:
    text = _slice(region, *span)
    holders = tuple(index for index, note in enumerate(notes) if text in note) if text else ()
    if not holders:
        return None
    place = Span(region.span_tokens.start + span.start, region.span_tokens.start + span.end)
    return Piece(place, text, holders[-1], notes[holders[-1]].index(text), holders)
