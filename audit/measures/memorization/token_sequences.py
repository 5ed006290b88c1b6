"""Sequences of token ids concatenated in one array, as the compiled n-gram matchers take them.

Owns the layout only: sequence i is `ids[starts[i]:starts[i + 1]]`, and no match ever crosses a boundary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class TokenSequences:
    """Some sequences of token ids, in order."""

    #: All ids, shape (tokens,).
    ids: npt.NDArray[np.uint32]
    #: Offsets: where each sequence begins and the last one ends, shape (sequences + 1,).
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> npt.NDArray[np.uint32]:
        return self.ids[self.starts[index] : self.starts[index + 1]]


def concatenate_sequences(sequences: Iterable[Sequence[int] | npt.NDArray[np.uint32]]) -> TokenSequences:
    """Return sequences of ids (0 to 2^32 - 1) concatenated in one array."""
    arrays = [np.asarray(sequence, dtype=np.uint32) for sequence in sequences]
    starts = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=starts[1:])
    ids = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.uint32)
    return TokenSequences(ids, starts)
