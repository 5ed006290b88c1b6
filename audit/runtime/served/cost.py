"""What a served model takes: tokens estimated before asking, and counted while asking."""

from dataclasses import dataclass
from typing import TypeGuard

from clinaudit.reports.wording.numbers import counted

#: The usual rule of thumb for English; clinical abbreviations take somewhat more tokens.
CHARS_PER_TOKEN = 4
#: No call takes more tokens; a larger count of the server is ignored.
_MAX_TOKENS_OF_A_CALL = 10_000_000


@dataclass(frozen=True, slots=True)
class AskingEstimate:
    """The questions still to be asked, and their tokens: asked once each, and with every question asked again."""

    questions: int
    prompt_tokens: int
    #: The token limits of all answers, summed.
    most_answer_tokens: int
    #: The same two where no first answer can be used, so that every question is repeated.
    repeated_prompt_tokens: int
    repeated_answer_tokens: int
    #: How many answers each question is asked for; each is one of `questions`.
    answers_each: int = 1

    def describe(self) -> str:
        """Return one line for stderr."""
        several = f" (each question {self.answers_each} times)" if self.answers_each > 1 else ""
        return (
            f"{counted(self.questions, 'question')} to ask{several}, about {self.prompt_tokens:,} prompt tokens "
            f"(at {CHARS_PER_TOKEN} characters a token) and at most {self.most_answer_tokens:,} answer tokens, "
            f"asked once each; an answer that cannot be used is asked for again, at most "
            f"{self.repeated_prompt_tokens:,} and {self.repeated_answer_tokens:,} tokens in all"
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Answered calls, and their tokens by the server's count."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: Calls whose answer gave no count.
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
    """Return about how many tokens a text has, by its characters: the served model's tokenizer is not known here."""
    return -(-len(text) // CHARS_PER_TOKEN)


def count_usage(said: object) -> Usage:
    """Read one answer's `usage`; a missing or impossible count makes an uncounted call."""
    if isinstance(said, dict):
        prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
        if _is_count(prompt) and _is_count(completion):
            return Usage(1, prompt, completion)
    return Usage(1, uncounted_calls=1)


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MAX_TOKENS_OF_A_CALL
