"""How a served model may be accessed: its address, the hosts to which prompts may be sent, its key (README.md)."""

import ipaddress
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.errors import BadInputError, UnsafeError, UsageError


@dataclass(frozen=True, slots=True)
class Access:
    """How a served model is accessed."""

    #: Approved hosts other than loopback.
    approved_hosts: Collection[str] = ()
    #: The key that the server asks for; no environment variable is read. None: the server asks for none.
    api_key: str | None = field(default=None, repr=False)
    #: Requests in flight at once.
    concurrency: int = 16
    #: Times that a request is sent again after a transient failure.
    retries: int = 4
    #: Seconds that one answer may take, with all its retries and waits. A busy server takes minutes; a silent one must
    #: not block for ever.
    deadline_s: float = 300.0


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind an endpoint that speaks OpenAI's protocol, with the name by which its server knows it."""

    base_url: str
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
    if not model.startswith("openai:"):
        return None
    base_url, _, name = model.removeprefix("openai:").partition("#")
    if not base_url or not name.strip():
        raise UsageError(
            "a served MODEL is openai:BASE_URL#MODEL_NAME, such as openai:http://127.0.0.1:8000/v1#my-model"
        )
    return ServedModel(base_url, name)


#: All that a URL may be: clients differ over blanks, backslashes, user names and other letters. An address in brackets
#: is one of IPv6.
_URL = re.compile(
    r"https?://(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[a-z0-9.-]+))(?::(?P<port>\d{1,5}))?(?:/[\w./~%:+=,-]*)?",
    re.ASCII | re.IGNORECASE,
)
_HOST_NAME = re.compile(r"(?!-)[a-z0-9-]+(?:\.(?!-)[a-z0-9-]+)*")
#: The last label of a host that some resolvers read as a number, as `127.1`, `0x7f.1`, `2130706433` (RFC 1123, 2.1).
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


def require_approved(base_url: str, *, approved_hosts: Collection[str]) -> None:
    """Raise `UnsafeError` unless `base_url` is http(s) to a loopback host or to one of `approved_hosts`.

    By the URL's text alone, without a name lookup. Hosts are compared whole, in lower case, without a port. A host that
    could be read in two ways is refused.
    """
    host = _host(base_url)
    # RFC 6761, 6.3; names under it (a.localhost) are left to --phi-approved, as is ::ffff:127.0.0.1 (RFC 6890).
    if host == "localhost" or (not isinstance(host, str) and host.is_loopback and "ffff" not in str(host)):
        return
    if str(host) not in {name.strip().strip("[]").lower() for name in approved_hosts}:
        raise UnsafeError(
            f"the endpoint host {host} is neither this machine nor approved for PHI; nothing was sent; "
            f"serve the model on 127.0.0.1, or name the host with --phi-approved {host}"
        )


def _host(base_url: str) -> str | ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the host, a name in lower case; refuse every URL that could mean two hosts."""
    parts = _URL.fullmatch(base_url)
    if parts is not None and 0 < int(parts["port"] or 1) < 1 << 16:
        try:
            return ipaddress.IPv6Address(parts["v6"]) if parts["v6"] else ipaddress.IPv4Address(parts["host"])
        except ValueError:
            host = (parts["host"] or "").lower()
            if _HOST_NAME.fullmatch(host) and not _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
                return host
    # The URL itself is not repeated: it may hold a password.
    raise UnsafeError(
        "the endpoint URL is not http:// or https:// with a plain host name or address (such as 127.0.0.1, [::1] or "
        "models.example.org), a port and a path alone; nothing was sent; give a URL such as "
        "http://127.0.0.1:8000/v1, and a key with a key file"
    )


def open_access(options: ServedOptions) -> tuple[ServedModel, Access]:
    """Return a model that a user names, and how it is accessed; reads its key."""
    key = None if options.key_file is None else read_key_file(options.key_file)
    return ServedModel(options.url, options.model), Access(options.approved_hosts, key)


def read_key_file(path: Path) -> str:
    """Return the key in a file; `UnsafeError` if others can access it, `BadInputError` if it holds no key."""
    if not path.is_file():
        raise BadInputError(f"no such key file: {path.name}; give a file that holds the key alone")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UnsafeError(f"the key file {path.name} is open to other users of this machine; chmod 600 it")
    try:
        # No key is longer.
        with path.open("rb") as file:
            key = file.read(8192).decode("ascii").strip()
    except ValueError:
        key = ""
    except PermissionError:
        raise BadInputError(f"the key file {path.name} cannot be read; make it readable to you") from None
    if not 0 < len(key) < 8192 or not key.isprintable() or " " in key:
        raise BadInputError(f"the key file {path.name} holds no key; it must hold the key alone, on one line")
    return key
