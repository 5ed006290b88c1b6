"""Verbatim memorization of one generation: from ids to labelled pieces (paper 3.2.1; docs/methods.md, section 2).

Owns n-gram matches, memorized tokens, regions, and what a generation repeats of its prompt, all in token ids, and the
order match → region → attribution → composition → K. The search is by hashed seeds with exact verification (seed and
extend): every hit of a hash is compared id by id. Knows nothing of figures over many generations.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.masked_notes import MaskedPiece
from clinaudit.audit.measures.memorization.patient_text import PatientText, TokenSequences, concatenate_sequences
from clinaudit.audit.measures.memorization.source_attribution import (
    AttributedRegion,
    Piece,
    RegionText,
    attribute_region,
    cut_region_text,
)
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.names import UNASSIGNED
from clinaudit.templates.note import LaidOutNote, Section
from clinaudit.templates.spans import Span

#: Tokens of a seed. Wider seeds have fewer chance hits, but a note must be sampled more densely: with seeds of eight,
#: 30-grams are found by sampling every 23rd token.
_SEED_TOKENS = 8
#: One flag a token.
Flags = npt.NDArray[np.bool_]


def find_matches(generations: TokenSequences, notes: TokenSequences, *, match_tokens: int) -> list[Flags]:
    """Return for each generation, token by token, whether a match begins there; each of shape (tokens,).

    A match is an n-gram (a window of `match_tokens` consecutive ids; τ in the paper, 3.2.1) that stands contiguously in
    one of the notes.
    """
    # Compiled code, loaded where it is first needed: `--help` must not wait for it.
    from clinaudit.audit.measures.memorization.matching_kernels import find_windows

    begins = find_windows(
        generations.ids, generations.starts, notes.ids, notes.starts, match_tokens, min(match_tokens, _SEED_TOKENS)
    )
    starts = generations.starts.tolist()
    return [begins[start:end] for start, end in itertools.pairwise(starts)]


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


def read_prompt(prompt: str | None, tokenizer: ModelTokenizer) -> TokenSequences:
    """Return the prompt's ids, as it ends and with white space after it; none where it is not known or empty."""
    return concatenate_sequences(tokenizer.encode_many([prompt + ending for ending in _ENDINGS]) if prompt else [])


def find_prompt_tokens(
    token_ids: Sequence[int] | npt.NDArray[np.uint32], prompt: TokenSequences, *, match_tokens: int
) -> Flags:
    """Return the prompt echo: for each generated token, whether a match with the prompt covers it; shape (tokens,)."""
    if not len(prompt):
        return np.zeros(len(token_ids), dtype=np.bool_)
    (begins,) = find_matches(concatenate_sequences([token_ids]), prompt, match_tokens=match_tokens)
    return covered_tokens(begins, match_tokens=match_tokens)


#: Of each token of a piece: the index of its segment, whether the paper's rules call it templated, and whether it is
#: boilerplate (templated, and telling nothing), as 0 or 1. Shape (3, tokens).
TokenLabels = npt.NDArray[np.int32]


def compose_piece(piece: Piece, region: RegionText, note: LaidOutNote) -> tuple[TokenLabels, list[Section]]:
    """Label the tokens of a piece, in order, and cut the piece at the section boundaries of its source note.

    A token belongs to the segment that holds its first character. It is templated when any of its characters is, and so
    with boilerplate.
    """
    starts, ends = _token_bounds(piece, region)
    first, last = piece.note_start_chars, piece.note_start_chars + len(piece.text)
    bounds = [section.span_chars.end for section in note.sections]
    begun = bisect.bisect_right(bounds, first)
    sections = note.sections[begun : bisect.bisect_left(bounds, last) + 1]
    # A token without characters belongs with the one before it, or to the piece's start.
    places = np.minimum(np.maximum(starts, first), last - 1)
    index = np.searchsorted(bounds[begun : begun + len(sections)], places, side="right")
    #: Added to a position in the note, gives the position in the region's text.
    shift = region.token_chars[piece.span_tokens.start - region.span_tokens.start].start - first
    chars = region.generation_chars
    labels = np.empty((3, len(starts)), dtype=np.int32)
    labels[0], labels[1:] = index, holds_mark([note.templated, note.boilerplate], starts, ends)
    return labels, [
        Section(name, Span(chars[max(start, first) + shift], chars[min(end, last) + shift]))
        for name, (start, end) in sections
    ]


def find_boilerplate(piece: Piece, region: RegionText, note: LaidOutNote) -> Flags:
    """Return which tokens of a piece hold boilerplate of its source note, shape (tokens,)."""
    held: Flags = holds_mark([note.boilerplate], *_token_bounds(piece, region))[0]
    return held


def _token_bounds(piece: Piece, region: RegionText) -> npt.NDArray[np.int64]:
    """Return where each token of a piece starts and ends in the source note (characters), shape (2, tokens)."""
    first = piece.span_tokens.start - region.span_tokens.start
    own = region.token_chars[first : first + len(range(*piece.span_tokens))]
    bounds: npt.NDArray[np.int64] = np.array(own, dtype=np.int64).T
    bounds += piece.note_start_chars - bounds[0, 0]
    return bounds


def holds_mark(masks: Sequence[bytes], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Flags:
    """Return for each mask and span of characters whether one of them is marked in it, shape (masks, spans)."""
    first = max(int(starts.min()), 0)
    part = [np.frombuffer(mask[first : ends.max()], dtype=np.uint8) for mask in masks]
    before = np.zeros((len(masks), len(part[0]) + 1), dtype=np.int64)
    for own, marks in zip(before, part, strict=True):
        marks.cumsum(out=own[1:])
    starts, ends = (np.minimum(np.maximum(bounds - first, 0), len(part[0])) for bounds in (starts, ends))
    holds: Flags = before[:, ends] > before[:, starts]
    return holds


class AttributedPiece(NamedTuple):
    """A piece with its labels, before its patient specificity K is known."""

    region_id: int
    piece: Piece
    #: Characters of the generated text.
    span_chars: Span
    stitched: bool
    note_id: str
    labels: TokenLabels
    #: The parts that lie in one section each, with characters of the generated text.
    segments: tuple[Section, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AttributedGeneration:
    """A generation with its regions attributed to source notes and labelled by section, before K is known."""

    generation: Generation
    #: One flag a token, shape (tokens,).
    memorized: Flags
    #: One flag a token: memorized, and inside a window that also stands in the prompt.
    echo: Flags
    regions: tuple[AttributedRegion, ...]
    pieces: tuple[AttributedPiece, ...]


class TokenFlags(NamedTuple):
    """The labels of one memorized token; where pieces overlap, it is revealing or specific if it is so in any."""

    section: str
    #: Clinically revealing as the paper's tables count it: no rule for templated text matches it.
    revealing: bool
    #: In a piece with K = 1: one patient's notes alone hold it.
    single_patient: bool
    #: In a piece with K = 1 and masked K = 1: no other patient's notes hold it with their own values either.
    patient_specific: bool
    #: In an n-gram that also stands in the prompt.
    echo: bool
    #: Part of a value that the prompt holds, such as the patient's name.
    from_prompt: bool
    #: Templated, and telling nothing (`clinaudit.templates.note`): no headline counts it.
    boilerplate: bool = False


@dataclass(frozen=True)
class AnalyzedGeneration:
    """A generation with everything that docs/methods.md, section 2, defines on it."""

    attributed: AttributedGeneration
    #: K of each piece of `attributed.pieces`.
    patient_counts: tuple[int, ...]
    #: The same with placeholders for the values of each note's own patient and visit.
    masked_patient_counts: tuple[int, ...]
    #: One a memorized token, in order.
    tokens: tuple[TokenFlags, ...]
    #: Tokens of no match that count as attributable in near-verbatim text.
    near_tokens: int = 0

    @cached_property
    def flags(self) -> tuple[tuple[TokenFlags, int], ...]:
        """How many memorized tokens have each labels."""
        return tuple(Counter(self.tokens).items())

    @property
    def attributable_tokens(self) -> int:
        """Memorized tokens that are no boilerplate, patient specific, and no prompt echo (the headline's numerator)."""
        return sum(
            count
            for token, count in self.flags
            if not token.boilerplate and token.patient_specific and not (token.echo or token.from_prompt)
        )

    @property
    def attributable_tokens_unmasked(self) -> int:
        """Memorized tokens that are no boilerplate, in a K = 1 piece, and not echo, whatever the prompt's facts."""
        return sum(
            count for token, count in self.flags if not token.boilerplate and token.single_patient and not token.echo
        )


def attribute_generations(
    generations: Sequence[Generation],
    sequences: TokenSequences,
    patient: PatientText,
    *,
    tokenizer: ModelTokenizer,
    match_tokens: int,
) -> list[AttributedGeneration]:
    """Find the memorized regions in one patient's generations, attribute them, and label their tokens.

    `sequences` are the generations' ids. A match is an n-gram of `match_tokens` tokens.
    """
    found: list[AttributedGeneration] = []
    matches = find_matches(sequences, patient.sequences, match_tokens=match_tokens)
    for generation, begins in zip(generations, matches, strict=True):
        memorized = covered_tokens(begins, match_tokens=match_tokens)
        regions: list[AttributedRegion] = []
        pieces: list[AttributedPiece] = []
        for region_id, span in enumerate(merge_overlapping_matches(begins, match_tokens=match_tokens)):
            region = cut_region_text(generation.text, generation.token_chars, span)
            attributed = attribute_region(region, patient.texts)
            regions.append(attributed)
            for piece in attributed.pieces:
                labels, segments = compose_piece(piece, region, patient.note(piece.note))
                start, end = piece.span_tokens
                chars = Span(generation.token_chars[start].start, generation.token_chars[end - 1].end)
                pieces.append(
                    AttributedPiece(
                        region_id,
                        piece,
                        chars,
                        attributed.stitched,
                        patient.note_ids[piece.note],
                        labels,
                        tuple(segments),
                    )
                )
        prompt = read_prompt(generation.prompt if regions else None, tokenizer)
        echo = memorized & find_prompt_tokens(generation.token_ids, prompt, match_tokens=match_tokens)
        found.append(AttributedGeneration(generation, memorized, echo, tuple(regions), tuple(pieces)))
    return found


#: Equal tokens share one object: there are millions of tokens and some dozen kinds.
_flags = lru_cache(maxsize=None)(TokenFlags)
_REVEALING, _SINGLE, _SPECIFIC, _ECHO, _GIVEN, _TELLING, _ALL = (1 << bit for bit in range(7))


def label_tokens(
    attributed: AttributedGeneration, counts: Sequence[tuple[int, int]], masked: Sequence[MaskedPiece]
) -> tuple[TokenFlags, ...]:
    """Return the labels of each memorized token, in order, over all pieces that hold it.

    `counts` are (K, masked K) of each piece. A token that no piece holds was dropped by the split. No template rule saw
    it, so it counts as revealing. No K is known of it, so it is not patient specific. Its section is `unassigned`.
    """
    sections = [UNASSIGNED]
    #: By token the place of its section, that of the first piece that holds it, and the bits of what it is in any.
    section_of = np.zeros(len(attributed.memorized), dtype=np.int32)
    bits = np.zeros(len(attributed.memorized), dtype=np.int32)
    for piece, count, mask in zip(attributed.pieces, counts, masked, strict=True):
        own = slice(*piece.piece.span_tokens)
        segment_of, templated, boilerplate = piece.labels
        section_of[own] = np.where(section_of[own], section_of[own], segment_of + len(sections))
        sections += [segment.name for segment in piece.segments]
        of_piece = _SINGLE * (count[0] == 1) | _SPECIFIC * (max(count) == 1)
        from_prompt = np.frombuffer(mask.from_prompt, dtype=np.uint8)
        bits[own] |= of_piece | _REVEALING * (1 - templated) | _TELLING * (1 - boilerplate) | _GIVEN * from_prompt
    bits[section_of == 0] = _REVEALING | _TELLING
    bits |= _ECHO * attributed.echo
    kinds = (section_of * _ALL + bits)[attributed.memorized].tolist()
    flags = {
        kind: _flags(
            sections[kind // _ALL],
            *(bool(kind & bit) for bit in (_REVEALING, _SINGLE, _SPECIFIC, _ECHO, _GIVEN)),
            not kind & _TELLING,
        )
        for kind in set(kinds)
    }
    return tuple(map(flags.__getitem__, kinds))
