"""One served model behind one approved address: JSON is sent, and JSON comes back, for every use of such a model.

Owns what keeps prompts, which are PHI, from going anywhere else (no proxy, no redirect, no key or address from the
environment, silent loggers), bounds on size, time and requests in flight, and which failures may pass. The `openai`
client sends and retries. Imported lazily.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

import httpx2
import openai
from anyio.from_thread import start_blocking_portal

from clinaudit.audit.runtime.served.access import Access, ServedModel, require_approved
from clinaudit.audit.runtime.served.question import read_json_object
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError

#: An answer of some thousand tokens is some tens of kilobytes; more than this is no answer.
_MAX_ANSWER_BYTES = 4 << 20
#: A connection is used once. On a kept connection, surplus bytes of a server (or a gateway) would be read as the answer
#: to the next question: another patient's. A new connection costs little beside an answer that takes seconds.
_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=0)
#: Worth asking again later, as internal errors (500 and above) are.
_PASSING_STATUSES = frozenset({402, 407, 408, 409, 421, 423, 425, 429})
#: The only headers that are used, beside the status. The others could only do harm: a cookie, an odd charset.
_HEADERS_READ = ("retry-after", "retry-after-ms", "x-should-retry")
#: Requests waiting besides those in flight, so that one slow answer does not leave the server idle.
_LOOK_AHEAD = 4
#: A server that fails this often in a row is down; no further request is sent.
_GIVE_UP_AFTER = 32
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that got no answer that can be used."""

    #: In fixed words.
    reason: str
    #: Whether the same request may be answered later.
    passes: bool = False
    #: The HTTP status of a refusal; 0 where there is none.
    status: int = 0


UNREADABLE: Final = Failed("unreadable answer")


class AnswerTooLargeError(openai.OpenAIError):
    """The server sent more than an answer can be, or sent it compressed, so that its size cannot be bounded."""


class Endpoint:
    """A served model, which errors call `name`, connected during a `run`; `UnsafeError` for a host not approved."""

    def __init__(self, model: ServedModel, access: Access, *, name: str) -> None:
        require_approved(model.base_url, approved_hosts=access.approved_hosts)
        self._model, self._access, self._name = model, access, name

    def run(
        self, work: Callable[[Item], Coroutine[Any, Any, Result]], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with the result of `work`, as soon as it is there; a bounded number is begun ahead.

        One run at a time. What ends it early, an error of `work` among it, ends what was begun.
        """
        remaining, begun = iter(items), dict[Future[Result], Item]()
        for logger in ("openai", "httpx2", "httpcore2"):  # at DEBUG they log whole requests
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        with start_blocking_portal() as portal:
            # The client's constructor would take keys, organizations and headers from the environment.
            hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("OPENAI_")}
            try:
                self._client = openai.AsyncOpenAI(
                    base_url=self._model.base_url,
                    api_key=self._access.api_key or "none",
                    # After connection errors, time-outs, 408, 409, 429 and 5xx the client waits as long as Retry-After
                    # asks, up to a maximum of its own (two minutes in openai 3.52), beyond which it does not retry.
                    max_retries=self._access.retries,
                    timeout=openai.Timeout(self._access.deadline_s, connect=10.0),
                    default_headers={"accept-encoding": "identity"},
                    http_client=openai.DefaultAsyncHttpxClient(
                        trust_env=False,
                        follow_redirects=False,
                        transport=_PlainTransport(trust_env=False, limits=_LIMITS),
                    ),
                )
            finally:
                os.environ.update(hidden)
            self._slots, self._failures_in_a_row = asyncio.Semaphore(self._access.concurrency), 0
            while True:
                for item in islice(remaining, self._access.concurrency * _LOOK_AHEAD - len(begun)):
                    begun[portal.start_task_soon(work, item)] = item
                if not begun:
                    return
                for future in wait(begun, return_when=FIRST_COMPLETED).done:
                    yield begun.pop(future), future.result()

    async def send(self, path: str, body: Mapping[str, object], *, serves: str) -> dict[str, Any] | Failed:
        """Send one request within a `run`, with the client's retries; return what came back, or why nothing did.

        Raises where every further request would fail, too; `IncompleteError` where too many in a row did. `serves`:
        what a server that knows no such address does not serve; empty where that is an answer in itself.
        """
        said = await self._send(path, body, serves)
        # Bodies that cannot be read are a gateway's, where they come in a row.
        is_down = isinstance(said, Failed) and (said.passes or said == UNREADABLE)
        self._failures_in_a_row = self._failures_in_a_row + 1 if is_down else 0
        if isinstance(said, Failed) and self._failures_in_a_row >= _GIVE_UP_AFTER:
            raise IncompleteError(
                f"{self._name} failed {_GIVE_UP_AFTER} times in a row (the last: {said.reason}); look at the server, "
                "then run the same command again"
            )
        return said

    async def _send(self, path: str, body: Mapping[str, object], serves: str) -> dict[str, Any] | Failed:
        try:
            async with self._slots, asyncio.timeout(self._access.deadline_s):
                response = await self._client.post(
                    path, body={"model": self._model.name, **body}, cast_to=httpx2.Response
                )
        except openai.APIStatusError as error:
            status = error.status_code
        except (TimeoutError, openai.APITimeoutError):
            return Failed("time-out", passes=True)
        except AnswerTooLargeError:
            return Failed("the answer is larger than any answer can be")
        except openai.APIConnectionError:
            return Failed("connection error", passes=True)
        except (openai.OpenAIError, ValueError, TypeError):
            return UNREADABLE
        else:
            return read_json_object(response.content) or UNREADABLE
        if status < 400:
            raise UnsafeError(
                f"{self._name} redirects elsewhere (HTTP status {status}); clinaudit follows no redirect; "
                "give the address it leads to, approved with --phi-approved"
            )
        if status in (401, 403):
            raise BadInputError(f"{self._name} refuses the key (HTTP status {status}); give one that it accepts")
        if status == 404 and serves:
            raise BadInputError(
                f"{self._name} serves no {serves} for model {self._model.name} (HTTP status 404); "
                "check its URL (it often ends in /v1) and the model's name"
            )
        # 501: not implemented.
        passes = status in _PASSING_STATUSES or (status >= 500 and status != 501)
        return Failed(f"HTTP status {status}", passes, status)


class _PlainTransport(httpx2.AsyncHTTPTransport):
    """Passes on an answer's status, the headers that are used, and its bounded body.

    Of an error only the status: its body may quote the question, be endless, or have an unknown encoding.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response, body = await super().handle_async_request(request), bytearray()
        try:
            if response.status_code < 300:
                if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
                    raise AnswerTooLargeError
                async for block in response.aiter_raw():
                    body += block
                    if len(body) > _MAX_ANSWER_BYTES:
                        raise AnswerTooLargeError
        finally:
            await response.aclose()
        read = {name: response.headers[name] for name in _HEADERS_READ if name in response.headers}
        return httpx2.Response(response.status_code, headers=read, content=bytes(body))
