"""Near-verbatim matching: approximate string matching of n-grams with at most k token edits (k differences).

Owns near matches and their regions, in token ids (docs/methods.md, section 2a). Knows nothing of text or of metrics.
What it finds is counted beside the paper's verbatim metrics (3.2.1) and never mixed with them.

A near match is a window of n generated ids whose Levenshtein distance to some run of ids of one note is at most
k = n // 10. The search is seed and extend. Under k edits at least n - k of the window's tokens stay, in at most k + 1
runs. So one run of at least q = ceil((n - k) / (k + 1)) tokens stands in the note unchanged (the pigeonhole argument
of q-gram filters): the seed. Every maximal run of at least q tokens that a generation shares with a note is found by
hashes, verified id by id, and extended both ways with 0 to k edits (Landau and Vishkin 1989). An alignment that
touches the run may as well follow it to its end. So a window that overlaps the run is a near match through it exactly
where the edits needed to its left and to its right sum to at most k.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.patient_text import TokenSequences
from clinaudit.templates.spans import Span

Places = npt.NDArray[np.int64]


def edit_budget(match_tokens: int) -> int:
    """Return k: the most token edits (insertions, deletions, substitutions) that a near match may have."""
    return match_tokens // 10


def seed_length(match_tokens: int) -> int:
    """Return q: the length in tokens of the exact run that every near match shares with its note."""
    budget = edit_budget(match_tokens)
    return -(-(match_tokens - budget) // (budget + 1))


class NearVerbatimText(NamedTuple):
    """The near-verbatim text of one generation."""

    #: Tokens inside at least one near match.
    tokens: int
    #: The longest regions, by first token: their tokens of the generation, and the id of the last note that holds them.
    longest: tuple[tuple[Span, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class NearMatches:
    """The near-verbatim regions of some generations of one patient, by note, generation and first token."""

    #: Index of the note of each region; shape (regions,), as that of the other arrays.
    notes: Places
    generations: Places
    #: In tokens of the region's own generation, half-open.
    starts: Places
    ends: Places
    #: The near matches that were to be aligned, by their first token in all generations laid end to end.
    windows: Places
    #: The passage of the notes laid end to end that each is nearest to: its first token, the token after its last.
    passages: Places
    #: For each token of each window the token of the passage that it equals, or -1; shape (windows, n).
    kept: Places

    def covered_tokens(self, generation: int, *, length: int) -> npt.NDArray[np.bool_]:
        """Return for each of the generation's `length` tokens whether a near match covers it, shape (length,)."""
        is_own = self.generations == generation
        covered = np.zeros(length, dtype=np.bool_)
        for start, end in zip(self.starts[is_own].tolist(), self.ends[is_own].tolist(), strict=True):
            covered[start:end] = True
        return covered

    def text_of(self, generation: int, *, length: int, note_ids: Sequence[str]) -> NearVerbatimText:
        """Return the near-verbatim text of one generation of `length` tokens; `note_ids` by index of the note."""
        (rows,) = np.nonzero(self.generations == generation)
        lengths = self.ends[rows] - self.starts[rows]
        # In the order of notes, so that the last note of those that hold the same tokens is named.
        longest = {
            Span(int(self.starts[row]), int(self.ends[row])): note_ids[self.notes[row]]
            for row in rows[lengths == lengths.max(initial=0)]
        }
        tokens = int(self.covered_tokens(generation, length=length).sum())
        return NearVerbatimText(tokens, tuple(sorted(longest.items())))


def find_near_matches(
    generations: TokenSequences,
    notes: TokenSequences,
    *,
    match_tokens: int,
    note_of: Sequence[int] | None = None,
    aligned: npt.NDArray[np.bool_] | None = None,
) -> NearMatches:
    """Return the near-verbatim regions of a patient's generations against each of the patient's notes.

    `aligned` says which near matches, by their first token, are to be aligned with the notes: with the passage of the
    fewest edits, of several with one of the last sequence, and there with the one that ends first.

    `note_of` gives for each sequence of `notes` the index of its note. A note with carriage returns has two sequences
    (as it stands, and with line feeds), and they count together. Without `note_of` each sequence is a note of its own.
    Raises `ValueError` where `note_of` has another length, or n is below 1.
    """
    from clinaudit.audit.measures.memorization.near_verbatim_kernels import NEAREST_COLUMNS, align_windows, scan_notes

    if match_tokens < 1:
        raise ValueError("an n-gram has at least one token")
    owner_notes = np.arange(len(notes)) if note_of is None else np.asarray(note_of, dtype=np.int64)
    if len(owner_notes) != len(notes):
        raise ValueError("every sequence of notes is a reading of one note")
    seeds = _index_seeds(generations, seed_length(match_tokens))
    if seeds is None:
        nothing = np.zeros(0, dtype=np.int64)
        return NearMatches(
            nothing, nothing, nothing, nothing, nothing, nothing.reshape(0, 2), nothing.reshape(0, match_tokens)
        )
    if aligned is None:
        aligned = np.zeros(len(generations.ids), dtype=np.bool_)
    budget = edit_budget(match_tokens)
    nearest = np.full((len(generations.ids), NEAREST_COLUMNS), budget + 1, dtype=np.int64)
    lengths = np.diff(generations.starts)
    found = scan_notes(
        generations.ids,
        generations.starts,
        np.repeat(np.arange(len(generations)), lengths),
        notes.ids,
        notes.starts,
        np.argsort(owner_notes, kind="stable"),
        owner_notes,
        match_tokens,
        budget,
        seed_length(match_tokens),
        seeds.hashes,
        seeds.places,
        seeds.befores,
        seeds.next_grams,
        seeds.bits,
        seeds.slot_hashes,
        seeds.slot_grams,
        aligned,
        nearest,
    )
    (windows,) = np.nonzero(nearest[:, 0] <= budget)
    passages = np.empty((len(windows), 2), dtype=np.int64)
    kept = np.empty((len(windows), match_tokens), dtype=np.int64)
    align_windows(generations.ids, notes.ids, notes.starts, windows, nearest, match_tokens, budget, passages, kept)
    first_tokens = generations.starts[found[:, 1]]
    starts, ends = found[:, 2] - first_tokens, found[:, 3] - first_tokens
    return NearMatches(found[:, 0], found[:, 1], starts, ends, windows, passages, kept)


@dataclass(frozen=True, slots=True, eq=False)
class _Seeds:
    """The generations' runs of q tokens, ascending in (hash, id before), and a hash table over them."""

    hashes: npt.NDArray[np.uint64]
    #: Where each begins in the generations' ids.
    places: Places
    befores: Places
    next_grams: Places
    #: The table has 2^`bits` slots.
    bits: int
    slot_hashes: npt.NDArray[np.uint64]
    slot_grams: Places


def _index_seeds(generations: TokenSequences, length: int) -> _Seeds | None:
    from clinaudit.audit.measures.memorization.near_verbatim_kernels import fill_slots, hash_grams

    count = int(np.maximum(0, np.diff(generations.starts) - length + 1).sum())
    if not count:
        return None
    hashes = np.empty(count, dtype=np.uint64)
    places, befores = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    hash_grams(generations.ids, generations.starts, length, hashes, places, befores)
    order = np.lexsort((befores, hashes))
    hashes, places, befores = hashes[order], places[order], befores[order]
    is_first = np.ones(count, dtype=np.bool_)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (befores[1:] != befores[:-1])
    firsts = np.append(np.nonzero(is_first)[0], count)
    next_grams = firsts[np.cumsum(is_first)]
    # At most a quarter full, so that a run that no generation holds is mostly ruled out at the first slot.
    bits = (4 * count - 1).bit_length()
    slot_hashes, slot_grams = np.zeros(1 << bits, dtype=np.uint64), np.full(1 << bits, -1, dtype=np.int64)
    fill_slots(hashes, bits, slot_hashes, slot_grams)
    return _Seeds(hashes, places, befores, next_grams, bits, slot_hashes, slot_grams)
