"""A served model asked in a chat: what is sent, refusals of the server, and answers that were begun."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.servers import fault_server
from support.servers.fault_server import Fault, Handler, Server

from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError

SECRET = "Jane Roe"
Message = dict[str, Any]


def answers_by(rule: Callable[[dict[str, Any]], tuple[int, Message]]) -> Fault:
    """From the body of a request to the status and the message of the answer."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        assert handler.path == "/v1/chat/completions"
        status, message = rule(body)
        if status == 200:
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
            handler.say(body, None, choices=[choice], usage=None)
        else:
            handler.send(status, json.dumps({"error": {"message": SECRET}}).encode())

    return answer


@pytest.fixture
def server() -> Iterator[Server]:
    with fault_server.running() as server:
        server.always = answers_by(lambda _: (200, {"content": "plan: rest"}))
        yield server


@pytest.fixture
def engine(server: Server) -> Iterator[OpenAIEngine]:
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=1, retries=0), context_length=1000)
    yield engine
    engine.close()


def request(*, opening: str | None = None, tokens: int = 9) -> GenerationRequest:
    messages = (("system", "You assist."), ("user", SECRET), *([] if opening is None else [("assistant", opening)]))
    return GenerationRequest("k", tuple(range(tokens)), "as a template writes it", 9, messages=messages)


def test_messages_are_sent_and_not_the_rendered_prompt(server: Server, engine: OpenAIEngine) -> None:
    assert list(engine.generate([request()])) == [GenerationOutput("k", (), "stop", "plan: rest")]
    ((_, body),) = server.seen
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
    server.always = answers_by(
        lambda body: (400, {}) if "continue_final_message" in body else (200, {"content": "the"})
    )
    with pytest.raises(BadInputError, match=r"does not go on with an answer that was begun .*--chat-request") as caught:
        list(engine.generate([request(opening="hpi:")]))
    assert SECRET not in caught.value.message
    # What was asked to find that out holds nothing of a patient.
    assert all(SECRET not in json.dumps(body) for _, body in server.seen[1:])


def test_a_server_without_a_chat_is_asked_as_text(server: Server, engine: OpenAIEngine) -> None:
    server.always = answers_by(lambda _: (404, {}))
    with pytest.raises(BadInputError, match=r"serves no chat completions \(--prompt-form text asks for none\)"):
        list(engine.generate([request()]))


def test_a_context_that_is_too_short_is_found_in_a_chat(server: Server, engine: OpenAIEngine) -> None:
    def rule(body: dict[str, Any]) -> tuple[int, Message]:
        words = sum(len(message["content"].split()) for message in body["messages"])
        return (400, {}) if words > 100 or SECRET in json.dumps(body) else (200, {"content": "the"})

    server.always = answers_by(rule)
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
    server.always = answers_by(lambda _: (200, message))
    assert next(engine.generate([request()])).text == text


def test_an_answer_without_text_is_none(server: Server, engine: OpenAIEngine) -> None:
    server.always = answers_by(lambda _: (200, {"content": None}))
    with pytest.raises(IncompleteError, match="1 x unreadable answer"):
        list(engine.generate([request()]))
