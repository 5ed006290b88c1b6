"""Verbatim memorization of one generation: matches, regions, prompt echo, and the labels of a piece (paper 3.2.1).

All of it is in token ids, but for the labels, which a piece reads off the characters of its source note. Knows nothing
of K (docs/methods.md, section 2).
"""

import bisect
import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.patient_text import (
    Flags,
    TokenSequences,
    concatenate_sequences,
    which_hold,
)
from clinaudit.audit.measures.memorization.source_attribution import Piece
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.note import LaidOutNote, Section
from clinaudit.templates.shown_text import Span


def find_matches(generations: TokenSequences, notes: TokenSequences, *, match_tokens: int) -> list[Flags]:
    """Return for each generation, token by token, whether a match begins there; each of shape (tokens,).

    A match is an n-gram (a window of `match_tokens` consecutive ids; τ in the paper, 3.2.1) that stands contiguously in
    one of the notes.
    """
    # Compiled code, loaded where it is first needed: `--help` must not wait for it.
    from clinaudit.audit.measures.memorization.matching_kernels import find_grams

    first, found = find_grams(generations.ids, generations.starts, notes.ids, notes.starts, match_tokens)
    held = np.zeros(len(first), dtype=np.bool_)
    held[found[found >= 0]] = True
    begins = (first >= 0) & held[first]
    return [begins[start:end] for start, end in itertools.pairwise(generations.starts.tolist())]


def covered_tokens(begins: Flags, *, match_tokens: int) -> Flags:
    """Return for each token whether a match covers it (the token is memorized), shape (tokens,)."""
    begun = np.cumsum(begins, dtype=np.int64)
    over = np.zeros_like(begun)
    over[match_tokens:] = begun[:-match_tokens]
    covered: Flags = begun > over
    return covered


def merge_overlapping_matches(begins: Flags, *, match_tokens: int) -> list[Span]:
    """Merge matches that share at least one token into maximal regions; matches that only touch stay apart."""
    starts = np.flatnonzero(begins).tolist()
    apart = [place for place, (one, other) in enumerate(itertools.pairwise(starts), 1) if other - one >= match_tokens]
    bounds = itertools.pairwise([0, *apart, len(starts)] if starts else [])
    return [Span(starts[first], starts[end - 1] + match_tokens) for first, end in bounds]


#: White space that a prompt may go on with. Who repeats a prompt and breaks the line, as any form does after a header,
#: has told nothing; and where the break is one token with what stands before it, the prompt alone does not hold that.
_ENDINGS: Final = ("", "\n", "\n\n", " ", " \n")


# One prompt has several answers.
@lru_cache(maxsize=64)
def read_prompt(prompt: str | None, tokenizer: ModelTokenizer) -> TokenSequences:
    """Return the prompt's ids, as it ends and with white space after it; none where it is not known or empty."""
    return concatenate_sequences(tokenizer.encode_many([prompt + ending for ending in _ENDINGS]) if prompt else [])


def find_prompt_tokens(
    token_ids: Sequence[int] | npt.NDArray[np.uint32],
    prompt: str | None,
    tokenizer: ModelTokenizer,
    *,
    match_tokens: int,
) -> Flags:
    """Return the prompt echo: for each generated token, whether a match with the prompt covers it; shape (tokens,)."""
    said = read_prompt(prompt, tokenizer)
    if not len(said):
        return np.zeros(len(token_ids), dtype=np.bool_)
    (begins,) = find_matches(concatenate_sequences([token_ids]), said, match_tokens=match_tokens)
    return covered_tokens(begins, match_tokens=match_tokens)


class PieceLabels(NamedTuple):
    """What the source note says of the tokens of a piece."""

    #: The parts of the piece that lie in one section each, in order, with characters of the generated text.
    segments: list[Section]
    #: By token: its segment, whether the paper's rules call it templated, and whether it is boilerplate (templated, and
    #: telling nothing). Shape (tokens,) each.
    segment_of: npt.NDArray[np.int64]
    templated: Flags
    boilerplate: Flags


def label_piece(piece: Piece, note: LaidOutNote) -> PieceLabels:
    """Label the tokens of a piece, and cut the piece at the section boundaries of its source note.

    A token belongs to the segment that holds its first character. It is templated when any of its characters is, and so
    with boilerplate.
    """
    places, (first, last), chars = piece.token_chars, piece.note_chars, piece.generation_chars
    bounds = [section.span_chars.end for section in note.sections]
    begun = bisect.bisect_right(bounds, first)
    sections = note.sections[begun : bisect.bisect_left(bounds, last) + 1]
    templated = which_hold(note.templated, places)
    return PieceLabels(
        [
            Section(name, Span(chars[max(start, first) - first], chars[min(end, last) - first]))
            for name, (start, end) in sections
        ],
        # A token without characters belongs with the one before it, or to the piece's start.
        np.searchsorted(bounds[begun : begun + len(sections)], np.clip(places[:, 0], first, last - 1), side="right"),
        templated,
        # Boilerplate is templated: where nothing is, the note need not be read for its terms.
        which_hold(note.boilerplate, places) if templated.any() else templated,
    )
