"""Runs of windows that one other patient's notes hold, attributed to those notes and labelled token by token.

Owns the runs, their source notes and which of their tokens are clinically revealing: all as a region of the target's
own text (docs/methods.md, section 2). Knows nothing of how a window's owner is found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clinaudit.audit.generation.record import Generation
from clinaudit.audit.memorization.other_patients.generated_windows import GeneratedWindows
from clinaudit.audit.memorization.source_attribution import Piece, attribute_region, cut_region_text
from clinaudit.audit.memorization.token_sections import compose_piece
from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.templates.note import NoteReader, NoteText
from clinaudit.templates.profile import NoteProfile
from clinaudit.templates.sections import normalize_newlines
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
    #: Tokens of the generation that are clinically revealing in the note.
    revealing_tokens: tuple[int, ...]


def merge_windows(
    found: Iterable[tuple[int, str]], windows: GeneratedWindows, *, match_tokens: int
) -> Iterator[OwnerRun]:
    """Yield the runs of all generations; `found` are (window, owner), windows ascending."""
    open_runs: dict[str, tuple[int, int, int]] = {}
    for window, owner in found:
        generation, first = int(windows.generations[window]), int(windows.tokens[window])
        known = open_runs.get(owner)
        if known is not None and known[0] == generation and first < known[2]:
            open_runs[owner] = generation, known[1], first + match_tokens
            continue
        if known is not None:
            yield OwnerRun(known[0], owner, Span(*known[1:]))
        open_runs[owner] = generation, first, first + match_tokens
    for owner, (generation, first, end) in open_runs.items():
        yield OwnerRun(generation, owner, Span(first, end))


class RunAttribution:
    """Attributes runs owner by owner: the notes of one owner are kept."""

    def __init__(self, corpus: Corpus, profile: NoteProfile) -> None:
        self._corpus = corpus
        self._reader = NoteReader(profile)
        self._owner: str | None = None
        self._texts: list[str] = []
        self._read: dict[int, NoteText] = {}

    def attribute(self, run: OwnerRun, generation: Generation) -> list[OwnerPiece]:
        """Return the pieces of a run, by place."""
        notes = self._corpus.notes_of(run.owner_patient_id)
        if run.owner_patient_id != self._owner:
            self._owner = run.owner_patient_id
            self._texts = [normalize_newlines(note.text) for note in notes]
            self._read = {}
        region = cut_region_text(generation.text, generation.token_chars, run.span_tokens)
        found: list[OwnerPiece] = []
        for piece in attribute_region(region, self._texts).pieces:
            note_id = notes[piece.note].note_id
            if piece.note not in self._read:
                self._read[piece.note] = self._reader.read(note_id, self._texts[piece.note])
            labels, _ = compose_piece(piece, region, self._read[piece.note])
            tokens = zip(range(*piece.span_tokens), labels, strict=True)
            revealing = tuple(token for token, label in tokens if not label.templated)
            found.append(OwnerPiece(run.owner_patient_id, piece, note_id, revealing))
        return found
