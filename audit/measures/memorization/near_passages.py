"""The passages of a patient's notes that near matches stand in (docs/methods.md, section 2a).

Owns which tokens of no match a near match may add to the attributable ones, and which runs of the notes decide that.
Knows nothing of how many patients hold a text.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.generation.record import Generation
from clinaudit.audit.measures.memorization.masked_notes import PieceMasker
from clinaudit.audit.measures.memorization.near_verbatim import NearMatches, Places, find_near_matches
from clinaudit.audit.measures.memorization.patient_text import PatientText, concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import read_prompt
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.spans import Span


@dataclass(frozen=True, slots=True, eq=False)
class NearPassages:
    """The near matches of one generation that may add to its attributable tokens, one a row; places are of `chars`."""

    #: First token in the generation.
    windows: Places
    #: Index of the note, and first place and place after the last of its passage; shape (windows, 3).
    passages: Places
    #: Place of the token that each token of the window equals, if it may count; else -1. Shape (windows, n).
    kept: npt.NDArray[np.int32]
    #: Characters of each token of the patient's notes laid end to end, in its note with line feeds; shape (tokens, 2).
    chars: Places

    @property
    def run(self) -> int:
        """Tokens of a run that is looked up: half a match, so that every passage has one."""
        return int(self.kept.shape[1] + 1) // 2

    def mask_runs(self, prompt: str | None, masker: PieceMasker) -> "NearRuns":
        """Return what is to be looked up of the passages; a run of placeholders alone cannot be, and is left out."""
        of_place = {
            place: note for note, begin, end in self.passages.tolist() for place in range(begin, end - self.run + 1)
        }
        texts = {
            place: pair
            for place, note in of_place.items()
            if (pair := masker.mask_run(note, self._span(place, place + self.run - 1))) is not None
        }
        notes = self.passages[:, 0].tolist()
        held = {note: masker.find_given(note, prompt) for note in set(notes)}
        kept = {(note, place) for note, own in zip(notes, self.kept.tolist(), strict=True) for place in own}
        given = [
            place
            for note, place in kept
            if any(value.span_chars.overlaps(self._span(place, place)) for value in held[note])
        ]
        may_count = (self.kept >= 0) & ~np.isin(self.kept, given)
        return NearRuns(self.windows, self.passages[:, 1:], may_count, texts)

    def _span(self, first: int, last: int) -> Span:
        return Span(int(self.chars[first, 0]), int(self.chars[last, 1]))


@dataclass(frozen=True, slots=True, eq=False)
class NearRuns:
    """What is looked up of the near passages of one generation, and what counts then."""

    #: First token in the generation, and first place and place after the last of the passage, shape (windows, 2).
    windows: Places
    passages: Places
    #: Whether each token of the window may count: the prompt does not hold it. Shape (windows, n).
    may_count: npt.NDArray[np.bool_]
    #: Each run as it stands and masked, by its first place.
    texts: Mapping[int, tuple[str, str]]

    def count_tokens(self, shared: Set[int]) -> int:
        """Return how many tokens count; `shared` are the first places of runs that several patients hold."""
        run = int(self.may_count.shape[1] + 1) // 2
        rows = zip(self.windows.tolist(), self.passages.tolist(), self.may_count, strict=True)
        return len(
            {
                first + offset
                for first, (begin, end), may_count in rows
                if shared.isdisjoint(range(begin, end - run + 1))
                for offset in np.flatnonzero(may_count).tolist()
            }
        )


def find_near_passages(
    matches: NearMatches,
    generations: Sequence[Generation],
    memorized: Sequence[npt.NDArray[np.bool_]],
    patient: PatientText,
    *,
    tokenizer: ModelTokenizer,
    match_tokens: int,
) -> list[NearPassages | None]:
    """Return for each of one patient's generations the passages of its near matches, None where none may add a token.

    A token may count that is in no match, equals a token of the passage that is no boilerplate, and is in no near
    match with the prompt: it repeats the prompt as nearly as it does the note.
    """
    places = matches.kept.astype(np.int32)
    tokens = matches.windows[:, None] + np.arange(match_tokens)
    places[np.concatenate([*memorized, [False]])[tokens]] = -1
    sequences = np.searchsorted(patient.sequences.starts, matches.passages[:, 0], side="right") - 1
    for sequence in set(sequences[(places >= 0).any(axis=1)].tolist()):
        patient.lay_out(sequence)
    notes = np.asarray(patient.note_of_sequence, dtype=np.int64)[sequences]
    rows, columns = np.nonzero(places >= 0)
    of_note = dict(zip(places[rows, columns].tolist(), notes[rows].tolist(), strict=True))
    # The last is that of no place.
    is_out = np.zeros(len(patient.token_chars) + 1, dtype=np.bool_)
    for place, note in of_note.items():
        is_out[place] = 1 in patient.note(note).boilerplate[slice(*patient.token_chars[place].tolist())]
    places[is_out[places]] = -1
    starts = np.cumsum([0, *map(len, memorized)])
    bounds = np.searchsorted(matches.windows, starts)
    passages = np.column_stack([notes, matches.passages])
    found: list[NearPassages | None] = []
    for index, generation in enumerate(generations):
        own = np.arange(bounds[index], bounds[index + 1])
        if (places[own] >= 0).any() and generation.prompt:
            prompt = read_prompt(generation.prompt, tokenizer)
            ids = concatenate_sequences([generation.token_ids])
            echo = find_near_matches(ids, prompt, match_tokens=match_tokens).covered_tokens(0, length=len(ids.ids))
            places[own] = np.where(echo[tokens[own] - starts[index]], -1, places[own])
        own = own[(places[own] >= 0).any(axis=1)]
        windows = matches.windows[own] - starts[index]
        found.append(NearPassages(windows, passages[own], places[own], patient.token_chars) if own.size else None)
    return found
