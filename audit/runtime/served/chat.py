"""Chat completions of a served model: many questions at a time, each with one deadline, answered in order.

Owns the event loop (in a thread of its own), the limit on questions in flight, the deadline over a call with all its
retries, and what counts as a reply, a refusal or a failure. Knows nothing of what is asked. Questions are PHI: no
message and no log holds them.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import openai

from clinaudit.audit.runtime.served.access import Access, EndpointWords, RequestForm, ServedModel
from clinaudit.audit.runtime.served.client import AnswerTooLargeError, error_for_all, is_passing, open_async_client
from clinaudit.audit.runtime.served.question import (
    REFUSED_BY_MODEL,
    REFUSED_BY_SERVER,
    Question,
    Usage,
    count_usage,
    read_json_object,
)
from clinaudit.audit.runtime.served.reply import find_ending, other_model, plain_word, thought_of
from clinaudit.errors import IncompleteError

#: A server that fails this often in a row is down; no further question is sent.
_GIVE_UP_AFTER = 32
#: Questions waiting besides those in flight, so that one slow answer does not leave the server idle.
_LOOK_AHEAD = 4
#: Far above the characters per token of any tokenizer over a whole answer.
_MOST_CHARS_PER_TOKEN = 32
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's reply, whether or not it can be used."""

    #: The model's text; None with a problem.
    content: str | None
    #: Why there is no text to read; None with a text.
    problem: str | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server understood, and will never answer this question, or not in this form."""

    reason: str
    #: How many refusals of this endpoint came before this one.
    number: int


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came; one may come later."""

    reason: str


class ChatEndpoint:
    """One model behind one address; `close` it."""

    def __init__(self, model: ServedModel, access: Access, *, form: RequestForm, words: EndpointWords) -> None:
        """Prepare the client; sends nothing. Raises `UnsafeError` for a host neither loopback nor approved."""
        self._client = open_async_client(model.base_url, access)
        self._model = model.name
        self._access = access
        #: What errors call it.
        self.words = words
        #: How requests are formed from now on.
        self.form = form
        #: Questions refused so far.
        self.refusals = 0
        self._failures_in_a_row = 0
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(access.concurrency)
        self._thread = threading.Thread(target=self._loop.run_forever, name="questions", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the connections and end the thread."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _shut(self) -> None:
        # `run_in_order` cancelled the tasks that were begun; wait until each has ended and released what it holds.
        while begun := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(begun)
        await self._client.close()

    def run_in_order(
        self, work: Callable[[Item], Coroutine[Any, Any, Result]], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with the result of `work`, in order; a bounded number is begun ahead of the one awaited."""
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        remaining = iter(items)
        try:
            while True:
                while len(waiting) < self._access.concurrency * _LOOK_AHEAD:
                    try:
                        item = next(remaining)
                    except StopIteration:
                        break
                    waiting.append((item, asyncio.run_coroutine_threadsafe(work(item), self._loop)))
                if not waiting:
                    return
                item, future = waiting[0]
                result = future.result()
                waiting.popleft()
                yield item, result
        finally:
            for _, future in waiting:
                future.cancel()

    async def ask(self, question: Question, *, form: RequestForm | None = None) -> Reply | Refusal | Failure:
        """Ask once, with the client's retries, in the endpoint's form or another one.

        Raises where every further question would fail too.
        """
        async with self._slots:
            said = await self._ask(question, form or self.form)
        if not isinstance(said, Failure):
            self._failures_in_a_row = 0
            return said
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= _GIVE_UP_AFTER:
            raise IncompleteError(
                f"{self.words.name} failed {_GIVE_UP_AFTER} times in a row (the last: {said.reason}); look at the "
                "server, then run the same command again"
            )
        return said

    async def _ask(self, question: Question, form: RequestForm) -> Reply | Refusal | Failure:
        try:
            async with asyncio.timeout(self._access.deadline_s):
                raw = await self._client.chat.completions.with_raw_response.create(
                    model=self._model,
                    messages=[
                        {"role": "system", "content": question.system},
                        {"role": "user", "content": question.user},
                    ],
                    n=1,
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": question.schema_name, "strict": True, "schema": dict(question.schema)},
                    },
                    extra_body=form.parameters(question.max_answer_tokens),
                )
                return self._read(raw.content, question)
        except openai.APIStatusError as error:
            status = error.status_code
            fatal = error_for_all(status, endpoint=self.words.name, model=self._model, serves="chat completions")
            if fatal is not None:
                raise fatal from None
            if is_passing(status):
                return Failure(f"HTTP status {status}")
            self.refusals += 1
            return Refusal(f"{REFUSED_BY_SERVER} (HTTP status {status})", self.refusals - 1)
        except (TimeoutError, openai.APITimeoutError):
            return Failure("time-out")
        except AnswerTooLargeError:
            return Reply(None, "the answer is larger than any answer can be", Usage(1, uncounted_calls=1))
        except openai.APIConnectionError:
            return Failure("connection error")
        except (openai.OpenAIError, ValueError, TypeError):
            return Reply(None, "the server's answer cannot be read", Usage(1, uncounted_calls=1))

    def _read(self, body: bytes, question: Question) -> Reply:
        """Return the one message of the server's answer; every field is validated before it is used."""
        envelope = read_json_object(body)
        if envelope is None:
            return Reply(None, "the server's answer is not one JSON object", Usage(1, uncounted_calls=1))
        usage = count_usage(envelope.get("usage"))
        other = other_model(self._model, envelope.get("model"))
        if other is not None:
            return Reply(None, other, usage)
        choices = envelope.get("choices")
        if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
            return Reply(None, "the server's answer does not hold one choice", usage)
        word, message = choices[0].get("finish_reason"), choices[0].get("message")
        message = message if isinstance(message, dict) else {"content": ()}
        ending, content = find_ending(word), message.get("content", "")
        if ending == "filtered" or message.get("refusal"):
            return Reply(None, REFUSED_BY_MODEL, usage)
        if ending == "tool" or message.get("tool_calls"):
            return Reply(None, "the model called a tool instead of answering", usage)
        if ending is None and word is not None:
            return Reply(
                None, f"the server ended the answer by a word that is not known here: {plain_word(word)}", usage
            )
        if ending != "stop":
            return Reply(None, "the answer was cut off", usage)
        if content is None or (isinstance(content, str) and not content.strip()):
            return Reply(
                None, "the model thought and gave no answer" if thought_of(message) else REFUSED_BY_MODEL, usage
            )
        if not isinstance(content, str):
            return Reply(None, "the model gave no answer", usage)
        if len(content) > question.max_answer_tokens * _MOST_CHARS_PER_TOKEN:
            return Reply(None, "the answer is longer than was asked for", usage)
        return Reply(content, None, usage)
