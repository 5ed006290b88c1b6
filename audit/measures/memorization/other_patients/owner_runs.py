"""Runs of windows that one other patient's notes hold, attributed to those notes and labelled token by token.

Owns the runs, their source notes and which of their tokens are no boilerplate: all as a region of the target's own text
(docs/methods.md, section 2). Knows nothing of how a window's owner is found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.patient_text import MatchedCorpus
from clinaudit.audit.measures.memorization.source_attribution import (
    Piece,
    RegionText,
    attribute_region,
    cut_region_text,
)
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True)
class OwnerRun:
    """Windows of one generation and one owner that share tokens, merged."""

    #: Index of the generation.
    generation: int
    owner_patient_id: str
    span_tokens: Span


@dataclass(frozen=True, slots=True)
class OwnerPiece:
    """A part of a run whose text stands verbatim in one of the owner's notes."""

    owner_patient_id: str
    piece: Piece
    note_id: str
    #: Tokens of the generation that are no boilerplate in the note.
    revealing_tokens: tuple[int, ...]


def merge_windows(windows: Iterable[tuple[int, int, str]], *, match_tokens: int) -> Iterator[OwnerRun]:
    """Yield the runs of all generations; `windows` are (generation, first token, owner), ascending."""
    #: By owner: generation, first token and end of the run that may go on.
    open_runs: dict[str, tuple[int, int, int]] = {}
    for generation, first, owner in windows:
        begin = first
        if owner in open_runs:
            same, start, end = open_runs[owner]
            if same == generation and first < end:
                begin = start
            else:
                yield OwnerRun(same, owner, Span(start, end))
        open_runs[owner] = generation, begin, first + match_tokens
    for owner, (generation, begin, end) in open_runs.items():
        yield OwnerRun(generation, owner, Span(begin, end))


class RunAttribution:
    """Attributes runs owner by owner: the notes of one owner are kept."""

    def __init__(self, notes: MatchedCorpus) -> None:
        self._corpus = notes.corpus
        self._reader = notes.reader()
        self._owner: str | None = None
        self._texts: list[str] = []
        #: By note, which of its characters are boilerplate.
        self._boilerplate: dict[int, bytes] = {}

    def attribute(self, run: OwnerRun, generation: Generation) -> list[OwnerPiece]:
        """Return the pieces of a run, by place."""
        notes = self._corpus.notes_of(run.owner_patient_id)
        if run.owner_patient_id != self._owner:
            self._owner = run.owner_patient_id
            self._texts = [normalize_newlines(note.text) for note in notes]
            self._boilerplate = {}
        region = cut_region_text(generation.text, generation.token_chars, run.span_tokens)
        return [
            OwnerPiece(run.owner_patient_id, piece, notes[piece.note].note_id, self._revealing(piece, region))
            for piece in attribute_region(region, self._texts).pieces
        ]

    def _revealing(self, piece: Piece, region: RegionText) -> tuple[int, ...]:
        if piece.note not in self._boilerplate:
            self._boilerplate[piece.note] = self._reader.read(self._texts[piece.note]).boilerplate
        boilerplate = self._boilerplate[piece.note]
        before = region.span_tokens.start
        chars = region.token_chars[piece.span_tokens.start - before : piece.span_tokens.end - before]
        shift = piece.note_start_chars - chars[0].start
        return tuple(
            token
            for token, (start, end) in zip(range(*piece.span_tokens), chars, strict=True)
            if 1 not in boilerplate[start + shift : end + shift]
        )
