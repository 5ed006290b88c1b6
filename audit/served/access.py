"""How a served model may be spoken to, and how patiently; what a user says of an endpoint, and what errors call it.

Owns these records and their defaults. Which addresses are approved is in approved_addresses.py.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

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
