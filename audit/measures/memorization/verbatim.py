"""Verbatim memorization of one generation: from ids to labelled pieces (paper 3.2.1; docs/methods.md, section 2).

Owns the order match → region → attribution → composition → K for generations of any origin. Knows nothing of metrics
over many generations (summary.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.masked_pieces import MaskedPiece
from clinaudit.audit.measures.memorization.matching import (
    Flags,
    covered_tokens,
    find_matches,
    find_prompt_tokens,
    merge_overlapping_matches,
    read_prompt,
)
from clinaudit.audit.measures.memorization.patient_text import PatientText, concatenate_sequences
from clinaudit.audit.measures.memorization.source_attribution import (
    AttributedRegion,
    Piece,
    RegionText,
    attribute_region,
    cut_region_text,
)
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.names import UNASSIGNED
from clinaudit.templates.note import LaidOutNote
from clinaudit.templates.spans import Span


class TokenLabel(NamedTuple):
    """Where one token of a piece stands in the source note."""

    section: str
    #: By the paper's rules.
    templated: bool
    #: Templated, and telling nothing.
    boilerplate: bool


class SegmentPlace(NamedTuple):
    """The part of a piece that lies in one section."""

    section: str
    #: Characters of the generated text.
    span_chars: Span
    #: Tokens of the generation whose first character lies here.
    tokens: tuple[int, ...]


#: Equal labels share one object.
_label = lru_cache(maxsize=None)(TokenLabel)


def compose_piece(piece: Piece, region: RegionText, note: LaidOutNote) -> tuple[list[TokenLabel], list[SegmentPlace]]:
    """Label the tokens of a piece, in order, and cut the piece at the section boundaries of its source note.

    A token belongs to the segment that holds its first character. It is templated when any of its characters is, and so
    with boilerplate.
    """
    first = piece.span_tokens.start - region.span_tokens.start
    starts, ends = np.array(region.token_chars[first : first + len(range(*piece.span_tokens))], dtype=np.int64).T
    begin, length = int(starts[0]), len(piece.text)
    #: Added to a position in the region's text, gives the position in the note.
    shift = piece.note_start_chars - begin
    last = piece.note_start_chars + length
    sections = [section for section in note.sections if section.span_chars.overlaps(Span(piece.note_start_chars, last))]
    # A token without characters belongs with the one before it, or to the piece's start.
    places = np.minimum(np.maximum(starts, begin) + shift, last - 1)
    index = np.searchsorted([section.span_chars.end for section in sections], places, side="right")
    templated, boilerplate = (_holds(mask, starts + shift, ends + shift) for mask in (note.templated, note.boilerplate))
    kinds = zip(index.tolist(), templated.tolist(), boilerplate.tolist(), strict=True)
    labels = [_label(sections[of].name, *marks) for of, *marks in kinds]

    def in_generation(span: Span) -> Span:
        start = max(span.start - shift, begin)
        end = min(span.end - shift, begin + length)
        return Span(region.generation_chars[start], region.generation_chars[end])

    return labels, [
        SegmentPlace(
            section.name,
            in_generation(section.span_chars),
            tuple((np.flatnonzero(index == of) + piece.span_tokens.start).tolist()),
        )
        for of, section in enumerate(sections)
    ]


def _holds(mask: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each span of characters whether one of them is marked in `mask`, shape (spans,)."""
    before = np.concatenate([[0], np.cumsum(np.frombuffer(mask, dtype=np.uint8))])
    return before[np.clip(ends, 0, len(mask))] > before[np.clip(starts, 0, len(mask))]


class AttributedPiece(NamedTuple):
    """A piece with its labels, before its patient specificity K is known."""

    region_id: int
    piece: Piece
    #: Characters of the generated text.
    span_chars: Span
    stitched: bool
    note_id: str
    labels: tuple[TokenLabel, ...]
    segments: tuple[SegmentPlace, ...]


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


@dataclass(frozen=True, slots=True)
class TokenFlags:
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


@dataclass(frozen=True, slots=True)
class AnalyzedGeneration:
    """A generation with everything that docs/methods.md, section 2, defines on it."""

    attributed: AttributedGeneration
    #: K of each piece of `attributed.pieces`.
    patient_counts: tuple[int, ...]
    #: The same with placeholders for the values of each note's own patient and visit.
    masked_patient_counts: tuple[int, ...]
    #: One a memorized token, in order.
    tokens: tuple[TokenFlags, ...]
    #: Tokens of no match that count as attributable through a near match.
    near_tokens: int = 0

    @property
    def attributable_tokens(self) -> int:
        """Memorized tokens that are no boilerplate, patient specific, and no prompt echo (the headline's numerator)."""
        return sum(
            not token.boilerplate and token.patient_specific and not (token.echo or token.from_prompt)
            for token in self.tokens
        )

    @property
    def attributable_tokens_unmasked(self) -> int:
        """Memorized tokens that are no boilerplate, in a K = 1 piece, and not echo, whatever the prompt's facts."""
        return sum(not token.boilerplate and token.single_patient and not token.echo for token in self.tokens)


def attribute_generations(
    generations: Sequence[Generation], patient: PatientText, *, tokenizer: ModelTokenizer, match_tokens: int
) -> list[AttributedGeneration]:
    """Find the memorized regions in one patient's generations, attribute them, and label their tokens.

    A match is an n-gram of `match_tokens` tokens.
    """
    sequences = concatenate_sequences(generation.token_ids for generation in generations)
    matches = find_matches(sequences, patient.sequences, match_tokens=match_tokens)
    return [
        _attribute_generation(generation, begins, patient, tokenizer=tokenizer, match_tokens=match_tokens)
        for generation, begins in zip(generations, matches, strict=True)
    ]


def _attribute_generation(
    generation: Generation,
    begins: Flags,
    patient: PatientText,
    *,
    tokenizer: ModelTokenizer,
    match_tokens: int,
) -> AttributedGeneration:
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
                    tuple(labels),
                    tuple(segments),
                )
            )
    prompt = read_prompt(generation.prompt if regions else None, tokenizer)
    echo = memorized & find_prompt_tokens(generation.token_ids, prompt, match_tokens=match_tokens)
    return AttributedGeneration(generation, memorized, echo, tuple(regions), tuple(pieces))


#: Equal tokens share one object: there are millions of tokens and some dozen kinds.
_flags = lru_cache(maxsize=None)(TokenFlags)


def label_tokens(
    attributed: AttributedGeneration, counts: Sequence[tuple[int, int]], masked: Sequence[MaskedPiece]
) -> tuple[TokenFlags, ...]:
    """Return the labels of each memorized token, in order, over all pieces that hold it.

    `counts` are (K, masked K) of each piece. A token that no piece holds was dropped by the split. No template rule saw
    it, so it counts as revealing. No K is known of it, so it is not patient specific. Its section is `unassigned`.
    """
    flags: dict[int, TokenFlags] = {}
    echo = attributed.echo.tolist()
    for piece, count, mask in zip(attributed.pieces, counts, masked, strict=True):
        labels = zip(range(*piece.piece.span_tokens), piece.labels, mask.from_prompt, strict=True)
        for index, label, from_prompt in labels:
            known = flags.get(index)
            flags[index] = _flags(
                known.section if known else label.section,
                not label.templated or (known is not None and known.revealing),
                count[0] == 1 or (known is not None and known.single_patient),
                max(count) == 1 or (known is not None and known.patient_specific),
                echo[index],
                from_prompt or (known is not None and known.from_prompt),
                label.boilerplate and (known is None or known.boilerplate),
            )
    return tuple(
        flags.get(index) or _flags(UNASSIGNED, True, False, False, echo[index], False)
        for index in np.flatnonzero(attributed.memorized).tolist()
    )
