"""The client of a served model, for completions and chat completions alike.

Owns what keeps prompts from going anywhere else: the one approved address, no proxy, no redirect, no key or address
from the environment, silent loggers, bounded answers, keys read from a private file. Knows nothing of what is asked.
Imported lazily: it loads the `openai` client.
"""

import logging
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai

from clinaudit.audit.runtime.served.access import Access, ServedModel, ServedOptions, require_approved
from clinaudit.errors import BadInputError, ClinauditError, UnsafeError

#: An answer of some thousand tokens is some tens of kilobytes; more than this is no answer.
_MAX_ANSWER_BYTES = 4 << 20
_CONNECT_TIMEOUT_S = 10.0
#: No key is longer; a larger file is not a key file.
_MAX_KEY_BYTES = 8192
_LOGGERS = ("openai", "httpx2", "httpcore2")
#: A connection is used once. On a kept connection, surplus bytes of a server (or a gateway) would be read as the answer
#: to the next question: another patient's. A new connection costs little beside an answer that takes seconds.
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=0)
#: Worth asking again later, as internal errors (500 and above) are.
_PASSING_STATUSES = frozenset({402, 407, 408, 409, 421, 423, 425, 429})
_NOT_IMPLEMENTED = 501
#: The only headers that are used, beside the status. The others could only do harm: a cookie, an odd charset.
_HEADERS_READ = ("retry-after", "retry-after-ms", "x-should-retry")


class AnswerTooLargeError(openai.OpenAIError):
    """The server sent more than an answer can be, or sent it compressed, so that its size cannot be bounded."""


def open_client(base_url: str, access: Access) -> openai.OpenAI:
    """Return a client; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
    options = _options(base_url, access)
    with _without_openai_environment():
        return openai.OpenAI(
            http_client=openai.DefaultHttpxClient(
                trust_env=False, follow_redirects=False, transport=_PlainTransport(trust_env=False, limits=_LIMITS)
            ),
            **options,
        )


def open_async_client(base_url: str, access: Access) -> openai.AsyncOpenAI:
    """Return a client for one event loop, with answers bounded in size; else as `open_client`."""
    options = _options(base_url, access)
    with _without_openai_environment():
        return openai.AsyncOpenAI(
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=False, follow_redirects=False, transport=_BoundedTransport(trust_env=False, limits=_LIMITS)
            ),
            default_headers={"accept-encoding": "identity"},
            **options,
        )


def _options(base_url: str, access: Access) -> dict[str, Any]:
    require_approved(base_url, approved_hosts=access.approved_hosts)
    for logger in _LOGGERS:  # at DEBUG they log whole requests
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    return {
        "base_url": base_url,
        "api_key": access.api_key or "none",
        # The client itself backs off after connection errors, time-outs, 429 and 5xx (and 408, 409): as long as
        # Retry-After asks, up to the client's own maximum (two minutes in openai 3.52); beyond that it does not retry.
        "max_retries": access.retries,
        "timeout": openai.Timeout(access.deadline_s, connect=_CONNECT_TIMEOUT_S),
    }


@contextmanager
def _without_openai_environment() -> Iterator[None]:
    """Hide OPENAI_* variables from a client's constructor: it would take keys, organizations and headers from them."""
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OPENAI_")}
    try:
        yield
    finally:
        os.environ.update(hidden)


def is_passing(status: int) -> bool:
    """Return whether the same request may be answered later; else a status from 400 on is a refusal of the request."""
    return status in _PASSING_STATUSES or (status >= 500 and status != _NOT_IMPLEMENTED)


def error_for_all(status: int, *, endpoint: str, model: str, serves: str) -> ClinauditError | None:
    """Return the error for an HTTP status that every further request would meet too; None for any other status.

    `endpoint` says whose endpoint it is.
    """
    if 300 <= status < 400:
        return UnsafeError(
            f"{endpoint} redirects elsewhere (HTTP status {status}); clinaudit follows no redirect; "
            "give the address it leads to, approved with --phi-approved"
        )
    if status in (401, 403):
        return BadInputError(f"{endpoint} refuses the key (HTTP status {status}); give one that it accepts")
    if status == 404:
        return BadInputError(
            f"{endpoint} serves no {serves} for model {model} (HTTP status 404); "
            "check its URL (it often ends in /v1) and the model's name"
        )
    return None


def open_access(options: ServedOptions) -> tuple[ServedModel, Access]:
    """Return a model that a user names, and how it is accessed; reads its key."""
    key = None if options.key_file is None else read_key_file(options.key_file)
    return ServedModel(options.url, options.model), Access(options.approved_hosts, key)


def read_key_file(path: Path) -> str:
    """Return the key in a file, without the blanks around it; no message holds it.

    Raises `UnsafeError` for a file that its group or others can access, `BadInputError` for one that holds no key.
    """
    if not path.is_file():
        raise BadInputError(f"no such key file: {path.name}; give a file that holds the key alone")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UnsafeError(f"the key file {path.name} is open to other users of this machine; chmod 600 it")
    try:
        with path.open("rb") as file:
            key = file.read(_MAX_KEY_BYTES + 1).decode("ascii").strip()
    except ValueError:
        key = ""
    except PermissionError:
        raise BadInputError(f"the key file {path.name} cannot be read; make it readable to you") from None
    if not key or len(key) >= _MAX_KEY_BYTES or not key.isprintable() or " " in key:
        raise BadInputError(f"the key file {path.name} holds no key; it must hold the key alone, on one line")
    return key


class _PlainTransport(httpx2.HTTPTransport):
    """Passes on an answer's status, its body, and only the headers that are used."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if response.status_code >= 300:
            response.close()
            return _without_body(response)
        encoding = response.headers.get("content-encoding", "")
        return _plain(response, response.stream, **({"content-encoding": encoding} if encoding else {}))


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """As `_PlainTransport`, and stops an answer that grows too large; the caller's deadline bounds its time."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.status_code >= 300:
            await response.aclose()
            return _without_body(response)
        if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise AnswerTooLargeError
        return _plain(response, _BoundedStream(response.stream))


def _without_body(response: httpx2.Response) -> httpx2.Response:
    """Return an error as its status alone: its body may quote the question, be endless, or have an unknown encoding."""
    return _plain(response, httpx2.ByteStream(b""))


def _plain(response: httpx2.Response, stream: Any, **headers: str) -> httpx2.Response:
    read = {name: response.headers[name] for name in _HEADERS_READ if name in response.headers}
    return httpx2.Response(
        response.status_code,
        headers={"content-type": "application/json", **read, **headers},
        stream=stream,
        extensions=response.extensions,
    )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = _MAX_ANSWER_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self._stream:
            self._left -= len(block)
            if self._left < 0:
                raise AnswerTooLargeError
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()
