"""N-gram matching: which generated tokens stand in the patient's own notes (paper 3.2.1; docs/methods.md, section 2).

Owns n-gram matches, memorized tokens, regions, and what a generation repeats of its prompt, all in token ids. The
search is by hashed seeds with exact verification (seed and extend): every hit of a hash is compared id by id.
"""

import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from clinaudit.audit.measures.memorization.patient_text import TokenSequences, concatenate_sequences
from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
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
