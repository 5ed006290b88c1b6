"""The repetition guard: it stops a generation at its first repeated n-gram (paper, Appendix A).

The rule stands in docs/methods.md, section 1. Engines feed the guard token by token, so that decoding stops at the
repeat. vLLM's own `repetition_detection` finds adjacent repeats only.
"""

from collections.abc import Sequence

#: Tokens that must recur: "the first 20-gram of generated tokens that occurred before".
REPEATED_NGRAM = 20


class RepetitionGuard:
    """Watches one generation; occurrences may overlap. Memory: one n-gram for each token.

    A guard that is not active only collects the tokens.
    """

    def __init__(self, n: int = REPEATED_NGRAM, *, active: bool = True) -> None:
        if n < 1:
            raise ValueError("an n-gram has at least one token")
        self._n = n
        self._is_active = active
        self._tokens: list[int] = []
        self._seen: set[tuple[int, ...]] = set()
        self._repeat_start: int | None = None

    def push(self, token: int) -> bool:
        """Take the next token; return whether an n-gram has occurred twice by now (later tokens are ignored)."""
        if self._repeat_start is None:
            self._tokens.append(token)
            start = len(self._tokens) - self._n
            if start >= 0 and self._is_active:
                ngram = tuple(self._tokens[start:])
                if ngram in self._seen:
                    self._repeat_start = start
                self._seen.add(ngram)
        return self._repeat_start is not None

    @property
    def repeat_start(self) -> int | None:
        """Index of the first token of the second occurrence; None where there is none."""
        return self._repeat_start

    @property
    def kept(self) -> tuple[int, ...]:
        """The tokens before that occurrence; all of them where there is none."""
        return tuple(self._tokens[: self._repeat_start])


def first_repeated_ngram(token_ids: Sequence[int], n: int = REPEATED_NGRAM) -> int | None:
    """Return where the first n-gram starts that occurred before; None where there is none."""
    guard = RepetitionGuard(n)
    for token in token_ids:
        if guard.push(token):
            return guard.repeat_start
    return None
