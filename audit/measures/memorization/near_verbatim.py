"""Near-verbatim text: a patient's notes repeated but for a few edits (docs/methods.md, section 2a).

Owns shared runs, chains and near windows, in token ids, and which tokens they may add to the attributable ones. The
paper's verbatim metrics (3.2.1) are made without them. Seeds and chains are those of sequence alignment (Abouelhoda and
Ohlebusch 2005); every seed is compared id by id. Knows nothing of how many patients hold a text.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clinaudit.audit.measures.memorization.patient_text import (
    Flags,
    Numbers,
    PatientText,
    TokenSequences,
    concatenate_sequences,
    find_stretches,
)
from clinaudit.audit.measures.memorization.verbatim import merge_overlapping_matches, read_prompt
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.templates.shown_text import Span


class NearMatches(NamedTuple):
    """The shared runs in near windows, one a row, shape (runs,); `regions` says which belong together."""

    #: Index of the generation, and the run's tokens there, half-open.
    generations: Numbers
    starts: Numbers
    ends: Numbers
    #: Index of the reading of a note, and the run's first token in all readings laid end to end.
    readings: Numbers
    places: Numbers
    #: Numbers the near-verbatim regions.
    regions: Numbers

    def covered_tokens(self, generation: int, *, length: int) -> Flags:
        """Return for each of a generation's `length` tokens whether a run covers it, shape (length,)."""
        covered = np.zeros(length, dtype=np.bool_)
        own = self.generations == generation
        for start, end in zip(self.starts[own].tolist(), self.ends[own].tolist(), strict=True):
            covered[start:end] = True
        return covered


def find_near_matches(generations: TokenSequences, notes: TokenSequences, *, match_tokens: int) -> NearMatches:
    """Return the shared runs in near windows of a patient's generations against each of the patient's notes.

    A near window is n = `match_tokens` generated tokens of which at most n // 5 lie outside the runs of one chain: of
    30 at most 6, in runs of 6 tokens and more. Each sequence of `notes` is matched for itself. Example: 40 generated
    tokens, of which 17 and 20 stand in a note on either side of 3 others, give two rows of one region.
    Raises `ValueError` where n is below 1.
    """
    if match_tokens < 1:
        raise ValueError("an n-gram has at least one token")
    missed = match_tokens // 5
    owners, readings, starts, ends, places, chains = _find_chains(generations, notes, match_tokens)
    begun = generations.starts[owners]
    (rows,) = np.nonzero(np.bincount(chains, weights=ends - starts, minlength=1)[chains] >= match_tokens - missed)
    rows = rows[np.argsort(chains[rows], kind="stable")]
    (firsts,) = np.nonzero(np.diff(chains[rows], prepend=-1))
    if not firsts.size:
        return NearMatches(*(rows,) * 6)
    # Chains are laid end to end, each with as much of its generation on either side as a window may miss.
    first, last = np.minimum.reduceat(starts[rows], firsts), np.maximum.reduceat(ends[rows], firsts)
    first = np.maximum(first - missed, begun[rows[firsts]])
    last = np.minimum(last + missed, generations.starts[owners[rows[firsts]] + 1])
    offsets = np.cumsum(last - first) - (last - first)
    shifts = np.repeat(offsets - first, np.diff(firsts, append=len(rows)))
    laid_starts, laid_ends = starts[rows] + shifts, ends[rows] + shifts
    chain_of = np.repeat(np.arange(len(firsts)), last - first)
    marks = np.bincount(laid_starts, minlength=len(chain_of) + 1) - np.bincount(laid_ends, minlength=len(chain_of) + 1)
    total = np.cumsum(np.append(0, np.cumsum(marks[:-1]) > 0))
    is_near = total[match_tokens:] - total[:-match_tokens] >= match_tokens - missed
    is_near &= chain_of[match_tokens - 1 :] == chain_of[: len(is_near)]
    merged = merge_overlapping_matches(is_near, match_tokens=match_tokens)
    region_starts, region_ends = np.array(merged, dtype=np.int64).reshape(-1, 2).T
    # A run lies in a region as a whole or not at all: a window that ends within it is near when moved on to its end.
    regions = np.searchsorted(region_starts, laid_starts, side="right") - 1
    within = laid_starts < np.append(region_ends, 0)[regions]
    kept, regions = rows[within], regions[within]
    return NearMatches(
        owners[kept], starts[kept] - begun[kept], ends[kept] - begun[kept], readings[kept], places[kept], regions
    )


def _find_chains(generations: TokenSequences, notes: TokenSequences, match_tokens: int) -> tuple[Numbers, ...]:
    """Return the shared runs that may count: generation, reading, start, end, place, and number of the chain.

    All have the shape (runs,); the places are those in the sequences laid end to end. Runs come by diagonal (the
    difference of their places), chains by their first run.
    """
    # Compiled code, loaded where it is first needed: `--help` must not wait for it.
    from clinaudit.audit.measures.memorization.matching_kernels import chain_runs, find_grams, find_runs

    size, most = max(2, match_tokens // 5), match_tokens // 5
    grams, note_grams = find_grams(generations.ids, generations.starts, notes.ids, notes.starts, size)
    runs = find_runs(grams, generations.starts, note_grams, notes.starts, size, match_tokens)
    chains = chain_runs(*runs, most)
    owners, readings, starts, places, lengths = runs
    order = np.lexsort((starts, places - starts))
    _, firsts, chains = np.unique(chains[order], return_index=True, return_inverse=True)
    columns = owners, readings, starts, starts + lengths, places
    return *(column[order] for column in columns), firsts[chains]


def find_near_texts(
    matches: NearMatches,
    generations: TokenSequences,
    prompts: Sequence[str | None],
    memorized: Sequence[Flags],
    patient: PatientText,
    *,
    tokenizer: ModelTokenizer,
    match_tokens: int,
) -> Iterator[tuple[int, Span, int, Span, str, str]]:
    """Yield the stretches that may add to the attributable tokens of one patient's generations, before K is known.

    Each is the index of the generation and its tokens there, the index of the note and its characters there, and the
    text of the whole run as it stands in the note, and masked: it counts where one patient's notes alone hold the run.
    A token may count that is in no match, no boilerplate of the note, no part of a value that the prompt holds, and in
    no run of a near window with the prompt: it repeats the prompt as nearly as it does the note.
    """

    @functools.cache
    def echo_of(index: int) -> Flags:
        own, prompt = generations[index], read_prompt(prompts[index], tokenizer)
        if not len(prompt):
            return np.zeros(len(own), dtype=np.bool_)
        found = find_near_matches(concatenate_sequences([own]), prompt, match_tokens=match_tokens)
        return found.covered_tokens(0, length=len(own))

    for index, start, end, reading, begin, _ in zip(*(column.tolist() for column in matches), strict=True):
        counts = ~memorized[index][start:end]
        if not counts.any():
            continue
        note, first = patient.note_of_sequence[reading], begin - int(patient.sequences.starts[reading])
        chars = patient.token_chars(reading)[first : first + end - start]
        counts &= ~(patient.are_boilerplate(note, chars) | patient.are_given(note, chars, prompts[index]))
        counts &= ~echo_of(index)[start:end]
        place = Span(int(chars[0, 0]), int(chars[-1, 1]))
        if counts.any() and (texts := patient.maskable[note].mask_part(place)) is not None:
            for begun, ended in find_stretches(counts):
                note_chars = Span(int(chars[begun, 0]), int(chars[ended - 1, 1]))
                yield index, Span(start + begun, start + ended), note, note_chars, *texts
