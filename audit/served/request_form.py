"""The form of a chat request, where servers differ: how the answer is decoded, and how its limit of tokens is named.

Owns the forms, and in which order others are tried on a server that refuses one. Knows nothing of what is asked, nor of
connections.
"""

from dataclasses import dataclass, replace
from typing import Literal

from clinaudit.audit.choices import JudgeDecoding

#: A reasoning model thinks before it answers, and its limit of tokens counts both. Cut short it gives no answer, so the
#: room is ample [choice]; what is not used costs nothing.
REASONING_TOKENS = 25_000
LimitName = Literal["max_completion_tokens", "max_tokens"]


@dataclass(frozen=True, slots=True)
class RequestForm:
    """How a request is formed."""

    #: Of decoding at temperature 0. None: neither temperature nor seed is sent, which reasoning models refuse.
    seed: int | None
    #: Tokens allowed beyond those of the answer.
    reasoning_tokens: int = 0
    #: Reasoning models refuse `max_tokens`; older servers know nothing else.
    limit_name: LimitName = "max_completion_tokens"

    def parameters(self, answer_tokens: int) -> dict[str, float | int]:
        """Return the parameters of a request whose answer may have so many tokens."""
        decoding = {} if self.seed is None else {"temperature": 0.0, "seed": self.seed}
        return {**decoding, self.limit_name: answer_tokens + self.reasoning_tokens}

    def with_alternatives(self) -> list["RequestForm"]:
        """Return this form, then those to try where it is refused: what decodes in the same way first."""
        forms = (self, replace(self, reasoning_tokens=0), RequestForm(seed=None))
        return list(dict.fromkeys(named for form in forms for named in (form, replace(form, limit_name="max_tokens"))))


def first_form(decoding: JudgeDecoding, *, seed: int) -> RequestForm:
    """Return the form in which a server is asked first."""
    return RequestForm(seed=seed) if decoding == "deterministic" else RequestForm(None, REASONING_TOKENS)
