"""The repetition guard: it stops a generation at its first repeated n-gram (Appendix A; docs/methods.md, section 1).

vLLM's own `repetition_detection` finds adjacent repeats only.
"""

from collections.abc import Sequence

#: Tokens that must recur: "the first 20-gram of generated tokens that occurred before".
REPEATED_NGRAM = 20


class RepetitionGuard:
    """Watches one generation; occurrences may overlap. Memory: one n-gram for each token."""

    def __init__(self, n: int = REPEATED_NGRAM) -> None:
        self._n = n
        self._tokens: list[int] = []
        self._seen: set[tuple[int, ...]] = set()
        #: Index of the first token of the second occurrence; None where there is none.
        self.repeat_start: int | None = None

    def push(self, token: int) -> bool:
        """Take the next token; return whether an n-gram has occurred twice by now (later tokens are ignored)."""
        if self.repeat_start is None:
            self._tokens.append(token)
            ngram = tuple(self._tokens[-self._n :])
            if len(ngram) == self._n and ngram in self._seen:
                self.repeat_start = len(self._tokens) - self._n
            self._seen.add(ngram)
        return self.repeat_start is not None

    @property
    def kept(self) -> tuple[int, ...]:
        """The tokens before that occurrence; all of them where there is none."""
        return tuple(self._tokens[: self.repeat_start])


def first_repeated_ngram(token_ids: Sequence[int], n: int = REPEATED_NGRAM) -> int | None:
    """Return where the first n-gram starts that occurred before; None where there is none."""
    guard = RepetitionGuard(n)
    any(map(guard.push, token_ids))
    return guard.repeat_start
