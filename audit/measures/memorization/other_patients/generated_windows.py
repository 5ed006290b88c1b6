"""The windows of generations as texts: where each begins and ends in the bytes of the generated text.

Owns which windows may hold other patients' text: those of `match_tokens` tokens, none of them memorized
from the notes of the patient asked about, that have any text.
Line feeds only, in UTF-8. Knows nothing of notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.verbatim import AttributedGeneration
from clinaudit.templates.note import normalize_newlines

Places = npt.NDArray[np.int64]
_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedWindows:
    """Windows of some generations, by generation and first token; all arrays but `text` have the shape (windows,)."""

    #: The text of all generations (bytes).
    text: npt.NDArray[np.uint8]
    #: Index of each window's generation, and its first token there.
    generations: Places
    tokens: Places
    #: Where each begins and ends in `text`, bytes; none is empty.
    begins: Places
    ends: Places

    def __len__(self) -> int:
        return len(self.begins)

    def place(self, window: int) -> tuple[int, int]:
        """Return the index of a window's generation, and its first token there."""
        return int(self.generations[window]), int(self.tokens[window])

    def text_of(self, window: int) -> str:
        """Return the text of a window, with line feeds only."""
        return bytes(self.text[self.begins[window] : self.ends[window]]).decode("utf-8")


def lay_out_windows(attributed: Sequence[AttributedGeneration], *, match_tokens: int) -> GeneratedWindows:
    """Return the windows of `match_tokens` tokens that share no token with a match of the target's own notes."""
    texts: list[bytes] = []
    parts: list[tuple[Places, Places, Places, Places]] = []
    size = 0
    for number, item in enumerate(attributed):
        tokens = _windows_without(np.array(item.memorized, dtype=np.bool_), match_tokens)
        if not len(tokens):
            continue
        text, token_bytes = _in_bytes(item.generation)
        begins, ends = token_bytes[tokens, 0], token_bytes[tokens + match_tokens - 1, 1]
        is_any = begins < ends
        texts.append(text)
        parts.append((np.full(is_any.sum(), number), tokens[is_any], size + begins[is_any], size + ends[is_any]))
        size += len(text)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, dtype=np.int64)] * 4
    return GeneratedWindows(np.frombuffer(b"".join(texts), dtype=np.uint8), *columns)


def _windows_without(flags: npt.NDArray[np.bool_], match_tokens: int) -> Places:
    """Return where each window begins that holds none of the flagged tokens."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.flatnonzero(before[match_tokens:] == before[: max(0, len(before) - match_tokens)])


def _in_bytes(generation: Generation) -> tuple[bytes, Places]:
    """Return the text with line feeds only, and the bytes of each token in it, shape (tokens, 2).

    A token that ends between a carriage return and its line feed keeps the line feed, and so does the token that begins
    there, as in `source_attribution.cut_region_text`.
    """
    text, places = generation.text, np.array(generation.token_chars, dtype=np.int64).reshape(-1, 2)
    encoded = text.encode("utf-8")
    given = np.frombuffer(encoded, dtype=np.uint8)
    if len(encoded) > len(text):
        # The first byte of each character is no continuation byte (10xxxxxx).
        places = np.append(np.flatnonzero((given & 0xC0) != 0x80), len(encoded))[places]
    if "\r" not in text:
        return encoded, places
    is_left_out = np.zeros(len(given), dtype=np.bool_)
    is_left_out[1:] = (given[1:] == _LINE_FEED) & (given[:-1] == _CARRIAGE_RETURN)
    through = np.cumsum(~is_left_out)
    starts = np.append(through - 1, through[-1])
    begins, ends = places[:, 0], places[:, 1]
    ends = np.where(ends > begins, through[ends - 1], starts[begins])
    return normalize_newlines(text).encode("utf-8"), np.stack([starts[begins], ends], axis=1)
