"""The repetition guard: it stops a generation at its first repeated n-gram (paper, Appendix A).

The rule stands in docs/methods.md, section 1. Engines feed the guard token by token, so that decoding stops at the
repeat. vLLM's own `repetition_detection` finds adjacent repeats only.
"""

from collections.abc import Mapping, Sequence

#: Tokens that must recur: "the first 20-gram of generated tokens that occurred before".
REPEATED_NGRAM = 20
Ngram = tuple[int, ...]
#: No n-gram may occur twice: the paper's rule.
NONE_ALLOWED: Mapping[Ngram, int] = {}


class RepetitionGuard:
    """Watches one generation; occurrences may overlap. Memory: one n-gram for each token.

    `allowed` says how often an n-gram may occur, where that is more than once. A guard that is not active only collects
    the tokens.
    """

    def __init__(
        self, n: int = REPEATED_NGRAM, *, allowed: Mapping[Ngram, int] = NONE_ALLOWED, active: bool = True
    ) -> None:
        if n < 1:
            raise ValueError("an n-gram has at least one token")
        self._n = n
        self._allowed = allowed
        self._is_active = active
        self._tokens: list[int] = []
        self._seen: dict[Ngram, int] = {}
        self._repeat_start: int | None = None

    def push(self, token: int) -> bool:
        """Take the next token; return whether an n-gram has occurred too often by now (later tokens are ignored)."""
        if self._repeat_start is None:
            self._tokens.append(token)
            start = len(self._tokens) - self._n
            if start >= 0 and self._is_active:
                ngram = tuple(self._tokens[start:])
                self._seen[ngram] = times = self._seen.get(ngram, 0) + 1
                if times > self._allowed.get(ngram, 1):
                    self._repeat_start = start
        return self._repeat_start is not None

    @property
    def repeat_start(self) -> int | None:
        """Index of the first token of the occurrence that is too many; None where there is none."""
        return self._repeat_start

    @property
    def kept(self) -> tuple[int, ...]:
        """The tokens before that occurrence; all of them where there is none."""
        return tuple(self._tokens[: self._repeat_start])


def first_repeated_ngram(
    token_ids: Sequence[int], n: int = REPEATED_NGRAM, *, allowed: Mapping[Ngram, int] = NONE_ALLOWED
) -> int | None:
    """Return where the first occurrence of an n-gram starts that is one too many; None where there is none.

    Of an n-gram that is not in `allowed` the second occurrence is one too many.
    """
    guard = RepetitionGuard(n, allowed=allowed)
    for token in token_ids:
        if guard.push(token):
            return guard.repeat_start
    return None
