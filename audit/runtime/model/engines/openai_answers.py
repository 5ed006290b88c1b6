"""What an answer of a served model holds for the audit: its text, why it ended, its tokens, the scores of a prompt.

Owns what counts as text, and why an answer cannot be used, in fixed words: a server's own may quote the prompt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import openai

from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.served.reply import find_ending, plain_name, thought_of

#: A log-probability is no higher, rounding aside.
_HIGHEST_LOG: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that got no answer that can be used."""

    reason: str
    #: Whether the same request may be answered later.
    passes: bool = False


UNREADABLE: Final = Failed("unreadable answer")
_FILTERED: Final = "text withheld by a filter of the server, {}: switch it off"
_TOOL: Final = "a tool called instead of text, {}: serve the model without tools"
#: Its tokens went into what the server does not give.
_THOUGHT_ALONE: Final = Failed(
    "no text, since the model thought until its tokens were used up and the server leaves the thoughts out: switch "
    "thinking off in its chat template, let it give them (a reasoning parser), or start again, in a new --out, with a "
    "larger --max-new-tokens"
)


def read_failure(error: Exception) -> Failed:
    """Return why a request without a status failed."""
    if isinstance(error, openai.APITimeoutError):
        return Failed("time-out", passes=True)
    return Failed("connection error", passes=True) if isinstance(error, openai.APIConnectionError) else UNREADABLE


def only_choice(answer: Any) -> Any:
    """Return the one choice of an answer, which the client does not validate; None where there is not one."""
    choices = getattr(answer, "choices", None)
    return choices[0] if isinstance(choices, list) and len(choices) == 1 else None


def count_of(answer: Any, name: str) -> int:
    """Return a number of tokens by the server's count; 0 where it does not count them."""
    count = getattr(getattr(answer, "usage", None), name, None)
    return count if type(count) is int and count > 0 else 0


def text_of(choice: Any, request: GenerationRequest) -> str | None:
    """Return all that the model wrote; None where there is no text.

    What the server puts beside the answer as a thought stands behind it: whether an answer is a refusal is read at its
    beginning, and marks of a thought would be tokens that the model did not write. A thought alone begins with one.
    """
    if not request.messages:
        text = getattr(choice, "text", None)
        return text if isinstance(text, str) else None
    message = getattr(choice, "message", None)
    # Some servers put a refusal in a field of its own.
    said = getattr(message, "content", None) or getattr(message, "refusal", None) or getattr(message, "content", None)
    thought = thought_of(message)
    if thought and (said is None or isinstance(said, str)):
        return f"{said}\n\n{thought}" if said else f"<think>{thought}"
    return said if isinstance(said, str) else None


def read_answer(request: GenerationRequest, answer: Any) -> GenerationOutput | Failed:
    """Return the one choice of the answer, or why it cannot be used."""
    choice = only_choice(answer)
    word, text = getattr(choice, "finish_reason", None), text_of(choice, request)
    ending = find_ending(word)
    if word is None and count_of(answer, "completion_tokens") >= request.max_new_tokens:
        ending = "length"
    elif word is None and text:
        # Some servers say nothing.
        ending = "stop"
    if ending == "filtered":
        # Text cut by a filter would make the model look as if it leaked less.
        return Failed(_FILTERED.format(plain_name(word)))
    if ending == "tool" or getattr(getattr(choice, "message", None), "tool_calls", None):
        return Failed(_TOOL.format(plain_name(word)))
    if ending == "aborted":
        return Failed(f"broken off by the server, {plain_name(word)}", passes=True)
    if request.messages and ending == "length" and not (text or "").strip():
        return _THOUGHT_ALONE
    if text is None or (word is None and ending is None):
        return UNREADABLE
    if ending is None:
        return Failed(f"ended by a word that is not known here, {plain_name(word)}: neither stop nor length")
    return GenerationOutput(request.key, (), ending, text)


def read_log_probs(answer: Any, token_ids: Sequence[int], new_tokens: int) -> list[float] | str:
    """Return the log-probabilities of a prompt's tokens after the first, or why there are none.

    The server must say that it scored these tokens: as many of others would pass for theirs.
    """
    tokens = len(token_ids)
    said = getattr(only_choice(answer), "logprobs", None)
    numbers = getattr(said, "token_logprobs", None)
    if not isinstance(numbers, list):
        return "it gives no log-probabilities of a prompt"
    # Asked for a new token, a model may end the text instead; None stands for the first token, which nothing predicts.
    if len(numbers) != tokens + new_tokens and (len(numbers) != tokens or numbers[0] is not None):
        return "it gives log-probabilities of another number of tokens"
    scored = getattr(said, "tokens", None)
    if not isinstance(scored, list) or scored[:tokens] != [f"token_id:{token}" for token in token_ids]:
        return "it does not say, by their ids, that it scored the tokens asked for"
    own = numbers[1:tokens]
    if not all(type(number) in (int, float) and -math.inf < number <= _HIGHEST_LOG for number in own):
        return "what it gives for log-probabilities are none"
    return own
