"""The characters of each token of a text, in eight bytes a token.

A run at the paper's size has some ten million generated tokens; a `Span` object for each would take over a gigabyte.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from clinaudit.templates.spans import Span


class TokenSpans(Sequence[Span]):
    """Spans by token, packed, read as a sequence of `Span`; a slice shares their memory."""

    __slots__ = ("_bounds",)

    def __init__(self, bounds: npt.NDArray[np.int32]) -> None:
        #: Starts and ends, shape (tokens, 2).
        self._bounds = bounds

    @classmethod
    def of(cls, spans: Iterable[Span]) -> "TokenSpans":
        """Pack spans."""
        return cls(np.array(list(spans), dtype=np.int32).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self._bounds)

    @overload
    def __getitem__(self, index: int) -> Span: ...

    @overload
    def __getitem__(self, index: slice) -> "TokenSpans": ...

    def __getitem__(self, index: int | slice) -> "Span | TokenSpans":
        if isinstance(index, slice):
            return TokenSpans(self._bounds[index])
        start, end = self._bounds[index].tolist()
        return Span(start, end)

    def __iter__(self) -> Iterator[Span]:
        return (Span(start, end) for start, end in self._bounds.tolist())

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> npt.NDArray[np.generic]:
        """Return starts and ends, shape (tokens, 2), without a `Span` for each."""
        return np.array(self._bounds, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._bounds.tobytes())
