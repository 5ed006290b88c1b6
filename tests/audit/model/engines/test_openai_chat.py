"""A served model asked in a chat: what is sent, refusals of the server, and answers that were begun."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from clinaudit.audit.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError

SECRET = "Jane Roe"
Message = dict[str, Any]
#: From the body of a request to the status and the message of the answer.
Rule = Callable[[dict[str, Any]], tuple[int, Message]]


class Server(ThreadingHTTPServer):
    """Answers by a rule, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.rule: Rule = lambda _: (200, {"content": "plan: rest"})
        self.seen: list[tuple[str, dict[str, Any]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((self.path, body))
        status, message = self.server.rule(body)
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice]}
        content = json.dumps(answer if status == 200 else {"error": {"message": SECRET}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def engine(server: Server) -> Iterator[OpenAIEngine]:
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    engine = OpenAIEngine(ServedModel(address, "tiny"), Access(concurrency=1, retries=0), context_length=1000)
    yield engine
    engine.close()


def request(*, opening: str | None = None, tokens: int = 9) -> GenerationRequest:
    messages = (("system", "You assist."), ("user", SECRET), *([] if opening is None else [("assistant", opening)]))
    return GenerationRequest("k", tuple(range(tokens)), "as a template writes it", 9, messages=messages)


def test_messages_are_sent_and_not_the_rendered_prompt(server: Server, engine: OpenAIEngine) -> None:
    assert list(engine.generate([request()])) == [GenerationOutput("k", (), "stop", "plan: rest")]
    ((path, body),) = server.seen
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "You assist."}, {"role": "user", "content": SECRET}],
        "max_tokens": 9,
        "temperature": 0.0,
        "n": 1,
    }


def test_an_answer_that_was_begun_is_gone_on_with(server: Server, engine: OpenAIEngine) -> None:
    assert next(engine.generate([request(opening="hpi:")])).text == "plan: rest"
    body = server.seen[0][1]
    assert body["messages"][-1] == {"role": "assistant", "content": "hpi:"}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)


def test_a_server_that_does_not_go_on_with_answers_is_said_to(server: Server, engine: OpenAIEngine) -> None:
    server.rule = lambda body: (400, {}) if "continue_final_message" in body else (200, {"content": "the"})
    with pytest.raises(BadInputError, match=r"does not go on with an answer that was begun .*--chat-request") as caught:
        list(engine.generate([request(opening="hpi:")]))
    assert SECRET not in caught.value.message
    # What was asked to find that out holds nothing of a patient.
    assert all(SECRET not in json.dumps(body) for _, body in server.seen[1:])


def test_a_server_without_a_chat_is_asked_as_text(server: Server, engine: OpenAIEngine) -> None:
    server.rule = lambda _: (404, {})
    with pytest.raises(BadInputError, match=r"serves no chat completions \(--prompt-form text asks for none\)"):
        list(engine.generate([request()]))


def test_a_context_that_is_too_short_is_found_in_a_chat(server: Server, engine: OpenAIEngine) -> None:
    def rule(body: dict[str, Any]) -> tuple[int, Message]:
        words = sum(len(message["content"].split()) for message in body["messages"])
        return (400, {}) if words > 100 or SECRET in json.dumps(body) else (200, {"content": "the"})

    server.rule = rule
    with pytest.raises(BadInputError, match="shorter than --context-length said"):
        list(engine.generate([request(tokens=500)]))
    # A short one is refused for something else.
    with pytest.raises(IncompleteError, match="1 x HTTP status 400"):
        list(engine.generate([request()]))


@pytest.mark.parametrize(
    ("message", "text"),
    [({"content": None, "refusal": "I can't help with that."}, "I can't help with that."), ({"content": ""}, "")],
)
def test_what_counts_as_the_answer(message: Message, text: str, server: Server, engine: OpenAIEngine) -> None:
    server.rule = lambda _: (200, message)
    assert next(engine.generate([request()])).text == text


def test_an_answer_without_text_is_none(server: Server, engine: OpenAIEngine) -> None:
    server.rule = lambda _: (200, {"content": None})
    with pytest.raises(IncompleteError, match="1 x unreadable answer"):
        list(engine.generate([request()]))
