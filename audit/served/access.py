"""How a served model may be spoken to, and how patiently; what a user says of an endpoint, and what errors call it.

Owns these records and their defaults. Which addresses are approved is in approved_addresses.py.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from clinaudit.audit.choices import JudgeDecoding


@dataclass(frozen=True, slots=True)
class Access:
    """How a served model is accessed: approved hosts, key, concurrency, retries, deadline."""

    #: Approved hosts other than loopback.
    approved_hosts: Collection[str] = ()
    #: The key that the server asks for; no environment variable is read. None: the server asks for none.
    api_key: str | None = field(default=None, repr=False)
    #: Requests in flight at once.
    concurrency: int = 16
    #: Times that a request is sent again after a transient failure.
    retries: int = 4
    #: Seconds that one answer may take (of a chat endpoint: with all its retries and waits). A busy server takes
    #: minutes; a silent one must not block for ever.
    deadline_s: float = 300.0


@dataclass(frozen=True, slots=True)
class EndpointWords:
    """How errors speak of an endpoint that answers questions: a command may have several."""

    #: Whose it is, such as "the judge's endpoint".
    name: str
    #: What to do where its model takes no temperature and no seed.
    without_seed: str = "name a model that takes both"


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """The options of a served model that answers questions."""

    url: str | None
    model: str | None
    key_file: Path | None
    #: Most tokens of one patient's notes in one question.
    note_tokens: int
    decoding: JudgeDecoding = "deterministic"


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
