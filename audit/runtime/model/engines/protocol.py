"""The interface of every engine: requests, outputs, the protocol; and the repetition guard (paper, Appendix A).

The guard stops a generation at its first repeated n-gram (docs/methods.md, section 1). Engines feed it token by token,
so that decoding stops at the repeat. vLLM's own `repetition_detection` finds adjacent repeats only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

#: `stop`: end of sequence; `length`: the budget was used up; `repetition`: cut by the repetition guard.
FinishReason = Literal["stop", "length", "repetition"]


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt to continue greedily."""

    #: Names the request in the output; opaque to engines.
    key: str
    #: The ids of the prompt by the model's own tokenizer, exactly as the model is given them.
    prompt_ids: tuple[int, ...]
    #: The prompt as text, for engines that take text.
    prompt: str
    #: At most this many tokens are decoded; at least 1.
    max_new_tokens: int
    #: Whether the repetition guard ends the generation; if not, it ends at its end of sequence or budget alone.
    guarded: bool = True
    #: Of a chat: (role, text) of each message before the template, for engines that take messages. Where the last is
    #: the assistant's, the generation goes on with it.
    messages: tuple[tuple[str, str], ...] = ()
    #: Tokens that end this generation as an end of sequence does, beside the model's own.
    stop_token_ids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class GenerationOutput:
    """One finished generation."""

    key: str
    #: After the guard, where the request is guarded; end-of-sequence removed; empty where `text` is given.
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    #: Only from engines that give no token ids (served models), before any guard; None otherwise.
    text: str | None = None


class Engine(Protocol):
    """A loaded model that decodes greedily."""

    name: str
    #: Prompt and generation together may hold this many tokens.
    context_length: int

    def identity(self) -> dict[str, str]:
        """Return engine, library versions, dtype, device and threads, for `run.json`."""
        ...

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation as soon as it is finished, in any order."""
        ...

    def close(self) -> None:
        """Free the model; the engine cannot be used afterwards."""
        ...


def require_fitting(requests: Sequence[GenerationRequest], *, context_length: int) -> None:
    """Raise `ValueError` for requests that the plan should have excluded: empty, no budget, too long, duplicate."""
    for position, request in enumerate(requests):
        length = len(request.prompt_ids)
        if length == 0 or request.max_new_tokens < 1:
            raise ValueError(f"request {position} has an empty prompt or no token budget")
        if length + request.max_new_tokens > context_length:
            raise ValueError(
                f"request {position} takes {length} + {request.max_new_tokens} tokens, "
                f"more than the model's context of {context_length}"
            )
    if len({request.key for request in requests}) != len(requests):
        raise ValueError("two requests share one key")


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


class Decoding:
    """One request that is decoded token by token, and what is kept of it."""

    def __init__(self, request: GenerationRequest, stop_token_ids: frozenset[int]) -> None:
        """`stop_token_ids` are the model's own."""
        self.request = request
        self._stops = stop_token_ids | request.stop_token_ids
        self._guard = RepetitionGuard(active=request.guarded)
        self._decoded = 0

    def take(self, token: int) -> FinishReason | None:
        """Take the next token; return why the generation is finished, None where it is not."""
        self._decoded += 1
        if token in self._stops:
            return "stop"
        if self._guard.push(token):
            return "repetition"
        return "length" if self._decoded == self.request.max_new_tokens else None

    def output(self, finish: FinishReason) -> GenerationOutput:
        """Return the finished generation."""
        return GenerationOutput(self.request.key, self._guard.kept, finish)


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
