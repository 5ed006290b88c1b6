"""The interface of every engine: requests, outputs, the protocol; and one request that is decoded token by token."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from clinaudit.audit.runtime.model.engines.repetition_guard import RepetitionGuard
from clinaudit.audit.runtime.model.engines.sampling import uniform_numbers
from clinaudit.audit.runtime.run.store import FinishReason, GenerationOutput, TokenScores


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt to continue, greedily unless a temperature is given."""

    #: Names the request in the output; opaque to engines.
    key: str
    #: The ids of the prompt by the model's own tokenizer, exactly as the model is given them.
    prompt_ids: tuple[int, ...]
    #: The prompt as text, for engines that take text.
    prompt: str
    #: At most this many tokens are decoded; at least 1.
    max_new_tokens: int
    #: Of a chat: (role, text) of each message before the template, for engines that take messages; the user's last.
    messages: tuple[tuple[str, str], ...] = ()
    #: Tokens that end this generation as an end of sequence does, beside the model's own.
    stop_token_ids: frozenset[int] = frozenset()
    #: Tokens that are decoded before an end counts: till then tokens that end, and `control_token_ids`, are barred.
    min_new_tokens: int = 0
    #: Tokens that are no text (a beginning, padding, a role): barred with the ends.
    control_token_ids: frozenset[int] = frozenset()
    #: 0: the likeliest token each time. Else each token is drawn from the distribution at this temperature, with the
    #: seed: the same request draws the same text.
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A text whose tokens are to be scored: how likely the model holds each, after all that stand before it."""

    #: Names the request in the output; opaque to engines.
    key: str
    #: The whole text as the model is given it, special tokens included.
    token_ids: tuple[int, ...]
    #: The first token that is scored; at least 1, since nothing stands before the first.
    first: int


class NoScoresError(Exception):
    """A served model that gives no log-probabilities of a prompt; its text says why, in fixed words."""


class Engine(Protocol):
    """A loaded model that decodes greedily, and scores text; outputs come in any order, each as soon as it is known."""

    name: str
    #: Prompt and generation together may hold this many tokens.
    context_length: int
    #: A text that is scored may hold this many; less than the context where the model is served.
    longest_scored: int

    def identity(self) -> dict[str, str]:
        """Return engine, library versions, dtype, device and threads, for `run.json`; on a GPU the batch size, too."""
        ...

    def generate(self, requests: Sequence[GenerationRequest]) -> Iterator[GenerationOutput]:
        """Yield each generation; raises `ValueError` for requests that the plan should have excluded."""
        ...

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of each text; raises `NoScoresError` before the first where the model gives none."""
        ...

    def close(self) -> None:
        """Free the model; the engine cannot be used afterwards."""
        ...


def require_fitting(requests: Sequence[GenerationRequest], *, context_length: int) -> None:
    """Raise `ValueError` for requests that the plan should have excluded: empty, no budget, too long, duplicate."""
    for position, request in enumerate(requests):
        length = len(request.prompt_ids)
        # Infinity and what is no number would draw nothing; engines take seeds of 63 bits.
        draws = 0 <= request.temperature < math.inf and 0 <= request.seed < 1 << 63
        for is_met, what in (
            (length and request.max_new_tokens > 0, "an empty prompt or no token budget"),
            (length + request.max_new_tokens <= context_length, "more tokens than the model's context"),
            (0 <= request.min_new_tokens <= request.max_new_tokens, "more tokens before an end than in all"),
            (draws, "a temperature or a seed below 0, or too large"),
        ):
            if not is_met:
                raise ValueError(f"request {position} has {what}")
    _require_own_keys(requests)


def require_scorable(requests: Sequence[ScoreRequest], *, longest: int) -> None:
    """Raise `ValueError` for texts of which nothing is scored, that are too long, or share a key."""
    for position, request in enumerate(requests):
        length = len(request.token_ids)
        # Nothing predicts a first token.
        if not 1 <= request.first < length <= longest:
            raise ValueError(f"text {position} has no token that can be scored, or more than {longest} tokens")
    _require_own_keys(requests)


def _require_own_keys(requests: Sequence[GenerationRequest] | Sequence[ScoreRequest]) -> None:
    if len({request.key for request in requests}) != len(requests):
        raise ValueError("two requests share one key")


class DecodedRequest:
    """One request that is decoded token by token, and what is kept of it; `stop_token_ids` are the model's own."""

    def __init__(self, request: GenerationRequest, stop_token_ids: frozenset[int]) -> None:
        self.request = request
        #: The model's own ends and the request's.
        self.stop_token_ids = stop_token_ids | request.stop_token_ids
        #: Ids that no step may choose before `min_new_tokens` are decoded.
        self.barred = [*sorted(self.stop_token_ids), *sorted(request.control_token_ids - self.stop_token_ids)]
        #: Tokens before the first end that was barred, as far as `note_wanted` was told.
        self.first_end: int | None = None
        self._guard = RepetitionGuard()
        #: Tokens taken so far.
        self.decoded = 0
        self._numbers = uniform_numbers(request.seed, request.max_new_tokens if request.temperature else 0)

    @property
    def number(self) -> float:
        """The number in [0, 1) at which the next token is drawn, of a request with a temperature."""
        return float(self._numbers[self.decoded])

    @property
    def bars_ends(self) -> bool:
        """Whether the next token may be none of `barred`."""
        return self.decoded < self.request.min_new_tokens

    def note_wanted(self, token: int) -> None:
        """Note the token that the model would have chosen next, were nothing barred."""
        if self.first_end is None and token in self.stop_token_ids:
            self.first_end = self.decoded

    def take(self, token: int) -> FinishReason | None:
        """Take the next token; return why the generation is finished, None where it is not."""
        self.decoded += 1
        if token in self.stop_token_ids:
            return "stop"
        if self._guard.push(token):
            return "repetition"
        return "length" if self.decoded == self.request.max_new_tokens else None

    def output(self, finish: FinishReason) -> GenerationOutput:
        """Return the finished generation."""
        kept = self._guard.kept
        # An end within what the repetition guard cut off is none of the generation's.
        first_end = None if self.first_end is None or self.first_end > len(kept) else self.first_end
        return GenerationOutput(self.request.key, kept, finish, first_end=first_end)
