"""How a served model may be accessed, and the addresses to which prompts may be sent (README.md, "PHI and safety").

Loopback is always allowed, any other host only if the user approved it. The decision rests on the URL's text alone,
without a name lookup; an ambiguous URL is refused.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from clinaudit.audit.runtime.choices import JudgeDecoding
from clinaudit.errors import UnsafeError, UsageError


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


#: A reasoning model thinks before it answers, and its limit of tokens counts both. Cut short it gives no answer, so the
#: room is ample [choice]; what is not used costs nothing.
REASONING_TOKENS = 25_000
_LimitName = Literal["max_completion_tokens", "max_tokens"]


@dataclass(frozen=True, slots=True)
class RequestForm:
    """How a request is formed."""

    #: Of decoding at temperature 0. None: neither temperature nor seed is sent, which reasoning models refuse.
    seed: int | None
    #: Tokens allowed beyond those of the answer.
    reasoning_tokens: int = 0
    #: Reasoning models refuse `max_tokens`; older servers know nothing else.
    limit_name: _LimitName = "max_completion_tokens"

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


#: Letters, digits, dots and hyphens, with a letter in the last label: a name that no resolver reads as a number
#: (`127.1`, `0x7f.1` and `2130706433` are addresses to some resolvers, names to others). RFC 1123, 2.1.
_HOST_NAME = re.compile(r"(?!-)[a-z0-9-]+(?:\.(?!-)[a-z0-9-]+)*")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
#: The prefix of a MODEL that is served rather than a directory.
_SERVED_PREFIX = "openai:"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind an endpoint that speaks the OpenAI completions protocol."""

    base_url: str
    #: The name the server knows the model by.
    name: str


@dataclass(frozen=True, slots=True)
class ServedOptions:
    """A served model as a user names it, with the file of its key."""

    url: str
    model: str
    approved_hosts: Collection[str] = ()
    key_file: Path | None = None


def parse_served_model(model: str) -> ServedModel | None:
    """Read `openai:BASE_URL#MODEL_NAME`; None for anything else. Raises `UsageError` where a part is missing."""
    if not model.startswith(_SERVED_PREFIX):
        return None
    base_url, mark, name = model.removeprefix(_SERVED_PREFIX).partition("#")
    if not base_url or not mark or not name.strip():
        raise UsageError(
            "a served MODEL is openai:BASE_URL#MODEL_NAME, such as openai:http://127.0.0.1:8000/v1#my-model"
        )
    return ServedModel(base_url=base_url, name=name)


def require_approved(base_url: str, *, approved_hosts: Collection[str]) -> None:
    """Raise `UnsafeError` unless `base_url` is http(s) to a loopback host or to one of `approved_hosts`.

    Hosts are compared whole, in lower case, without a port. A host that could be read in two ways is refused.
    """
    host = _host(base_url)
    if _is_loopback(host):
        return
    approved = {name.strip().strip("[]").lower() for name in approved_hosts}
    if host not in approved:
        raise UnsafeError(
            f"the endpoint host {host} is neither this machine nor approved for PHI; nothing was sent; "
            f"serve the model on 127.0.0.1, or name the host with --phi-approved {host}"
        )


def _host(base_url: str) -> str:
    """Return the host in lower case, an IP address in canonical form; refuse every URL that could mean two hosts."""
    # urlsplit drops tabs and newlines, and clients differ over backslashes: look at the raw text first.
    if not base_url.isascii() or re.search(r"[\x00-\x20\x7f\\]", base_url):
        raise _refusal("holds a blank, a control character, a backslash or a character beyond ASCII")
    parts = _split(base_url)
    if parts.scheme not in ("http", "https"):
        raise _refusal("is not http:// or https://")
    if "@" in parts.netloc:
        raise _refusal("holds a user name or password; give a key with a key file")
    if parts.query or parts.fragment or "?" in base_url or "#" in base_url:
        raise _refusal("holds a query or fragment")
    host = parts.hostname or ""
    if parts.netloc.startswith("["):
        try:
            if "%" in host:
                raise ValueError("a zone")
            return str(ipaddress.IPv6Address(host))
        except ValueError as error:
            raise _refusal("holds no valid IPv6 address between its brackets") from error
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        pass
    if not _HOST_NAME.fullmatch(host) or _NUMERIC_LABEL.fullmatch(host.rsplit(".", 1)[-1]):
        raise _refusal("holds no plain host name or address (such as 127.0.0.1, [::1] or models.example.org)")
    return host


def _split(base_url: str) -> SplitResult:
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        raise _refusal("is not a valid URL") from error
    if port == 0 or parts.netloc.endswith(":"):
        raise _refusal("holds no valid port")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":  # RFC 6761, 6.3; names under it (a.localhost) are left to --phi-approved
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # An IPv4-mapped ::ffff:127.0.0.1 is no loopback address by RFC 6890: refused like any other host.
    return address in ipaddress.ip_network("127.0.0.0/8" if address.version == 4 else "::1/128")


def _refusal(why: str) -> UnsafeError:
    # The URL itself is not repeated: it may hold a password.
    return UnsafeError(f"the endpoint URL {why}; nothing was sent; give a URL such as http://127.0.0.1:8000/v1")
