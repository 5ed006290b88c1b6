"""What a served judge costs: tokens estimated before it is asked, and counted while it is.

Owns the estimate and the count. Knows nothing of prices: they differ by contract and by day.
"""

from dataclasses import dataclass
from typing import TypeGuard

#: The usual rule of thumb for English; clinical abbreviations take somewhat more tokens.
CHARS_PER_TOKEN = 4

#: No answer holds more tokens; a server that says so is not counted.
_MAX_TOKENS_OF_A_CALL = 10_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls that were answered, and the tokens that the server says they took."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: Calls whose answer did not say.
    uncounted_calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.uncounted_calls + other.uncounted_calls,
        )

    def describe(self) -> str:
        """Return one line for stderr."""
        unknown = f" ({self.uncounted_calls} calls did not say)" if self.uncounted_calls else ""
        return (
            f"{self.calls:,} calls answered, {self.prompt_tokens:,} prompt and {self.completion_tokens:,} "
            f"answer tokens by the server's count{unknown}"
        )


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text is, by its characters: the judge's own tokenizer is not known here."""
    return -(-len(text) // CHARS_PER_TOKEN)


def count_usage(said: object) -> Usage:
    """Read one answer's `usage`; what is missing or impossible counts as not said."""
    if isinstance(said, dict):
        prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
        if _is_count(prompt) and _is_count(completion):
            return Usage(1, prompt, completion)
    return Usage(1, uncounted_calls=1)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MAX_TOKENS_OF_A_CALL
