"""Attribution of memorized regions to source notes, and the split of stitched ones (paper 3.2.1).

Owns the source note of each piece of a region, and its copy-forward count: how many of the patient's notes hold it
(docs/methods.md, section 2, "Attribution and split"). Both texts hold line feeds only, and cuts fall on token
boundaries. Knows nothing of sections, template rules or other patients.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.shown_text import Span


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
    #: Indices of the notes that hold the text; the last is the source note.
    holders: tuple[int, ...]
    #: Characters of each token in the source note, where the text first stands there, shape (tokens, 2).
    token_chars: npt.NDArray[np.int64]
    #: For each character of `text`, and for its end, the character of the generation at which it starts.
    generation_chars: Sequence[int]

    @property
    def note(self) -> int:
        """Index of the source note among the patient's notes."""
        return self.holders[-1]

    @property
    def note_chars(self) -> Span:
        """Its characters in the source note."""
        start = int(self.token_chars[0, 0])
        return Span(start, start + len(self.text))


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


def attribute_region(region: RegionText, notes: Sequence[str]) -> list[Piece]:
    """Attribute a region to its source notes, splitting it where no single note holds it.

    `notes` are the patient's notes with line feeds only, oldest first. The pieces come by place; they may overlap, and
    leave tokens out that no note holds. The source note of a piece is the latest that holds it. An empty text (special
    tokens alone) stands in no note.
    """
    pieces = []
    for start, end in sorted(_split(region, notes)):
        text = _slice(region, start, end)
        if holders := tuple(index for index, note in enumerate(notes) if text and text in note):
            chars, begin = region.token_chars[start:end], int(region.token_chars[start, 0])
            place = Span(region.span_tokens.start + start, region.span_tokens.start + end)
            note_chars = chars + (notes[holders[-1]].index(text) - begin)
            generation_chars = region.generation_chars[begin : begin + len(text) + 1]
            pieces.append(Piece(place, text, holders, note_chars, generation_chars))
    return pieces


def _split(region: RegionText, notes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the region, or its longest prefix and suffix (in tokens) that each stand in some note; repeat on the rest.

    Where neither exists, the first and the last token are dropped (docs/methods.md, section 2). Either is found by
    bisection: where a note holds a text, it holds every prefix and every suffix of it.
    """
    texts = list(dict.fromkeys(notes))

    def is_held(first: int, last: int) -> bool:
        text = _slice(region, first, last)
        return any(text in note for note in texts)

    start, end = 0, len(region.token_chars)
    while start < end:
        if is_held(start, end):
            yield start, end
            return
        prefix = start + bisect_left(range(start + 1, end), True, key=lambda last: not is_held(start, last))
        suffix = start + 1 + bisect_left(range(start + 1, end), True, key=lambda first: is_held(first, end))
        # Without a text a prefix or suffix stands nowhere, though every note holds it.
        prefix = prefix if _slice(region, start, prefix) else start
        suffix = suffix if _slice(region, suffix, end) else end
        yield from ((start, prefix), (suffix, end))
        start, end = (start + 1, end - 1) if (prefix, suffix) == (start, end) else (prefix, suffix)


def _slice(region: RegionText, start: int, end: int) -> str:
    """Return the text of tokens `start` to `end` of a region."""
    return region.text[region.token_chars[start, 0] : region.token_chars[end - 1, 1]] if start < end else ""
