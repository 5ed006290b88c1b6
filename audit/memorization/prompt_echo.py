"""What a generation repeats of its prompt (docs/methods.md, section 2).

Owns what a prompt is read as. Knows nothing of notes: what repeats a prompt is no echo where no note has it.
"""

from typing import Final

import numpy as np

from clinaudit.audit.generation.record import Generation
from clinaudit.audit.memorization.matching import Flags, covered_tokens, find_matches
from clinaudit.audit.memorization.token_sequences import TokenSequences, concatenate_sequences
from clinaudit.audit.model.tokenizer import ModelTokenizer

#: White space that a prompt may go on with. Who repeats a prompt and breaks the line, as any form does after a header,
#: has told nothing; and where the break is one token with what stands before it, the prompt alone does not hold that.
_ENDINGS: Final = ("", "\n", "\n\n", " ", " \n")


def read_prompt(prompt: str | None, tokenizer: ModelTokenizer) -> TokenSequences:
    """Return the prompt's ids, as it ends and with white space after it; none where it is not known or empty."""
    return concatenate_sequences(tokenizer.encode_many([prompt + ending for ending in _ENDINGS]) if prompt else [])


def find_prompt_tokens(generation: Generation, prompt: TokenSequences, *, match_tokens: int) -> Flags:
    """Return the prompt echo: for each generated token, whether a match with the prompt covers it; shape (tokens,)."""
    if not len(prompt):
        return np.zeros(len(generation.token_ids), dtype=np.bool_)
    (begins,) = find_matches(concatenate_sequences([generation.token_ids]), prompt, match_tokens=match_tokens)
    return covered_tokens(begins, match_tokens=match_tokens)
