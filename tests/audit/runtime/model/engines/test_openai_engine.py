"""The served-model engine against a server that misbehaves on demand; the way there: `tests/audit/runtime/served`."""

import json

import pytest
from support.servers.fault_server import asked_in, drops, raw, says, status

from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.audit.runtime.run.store import GenerationOutput
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError

SECRET = "Jane Roe, born 1 April 1970"
#: How greedy decoding is said in full.
GREEDY = {"temperature": 0.0, "n": 1, "top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0} | {
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
    "min_p": 0.0,
    "top_k": 1,
}


def of_context(words, *, cuts=False, finish="stop"):
    """A server in which prompt and answer may have so many words together: it refuses, or cuts, what does not fit."""

    def answer(handler, body):
        read = len(asked_in(body).split())
        if read + body["max_tokens"] > words and not cuts:
            return status(400)(handler, body)
        usage = {"prompt_tokens": min(read, words), "completion_tokens": min(body["max_tokens"], 5)} if cuts else None
        return handler.say(body, asked_in(body).upper(), finish=finish, usage=usage)

    return answer


@pytest.fixture
def engine(server):
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=4, retries=2), context_length=100)
    yield engine
    engine.close()


def request(key, prompt):
    return GenerationRequest(key, (), prompt, 9)


def test_yields_text_and_asks_greedily(server, engine):
    outputs = {output.key: output for output in engine.generate([request("a", "x y"), request("b", "z")])}
    assert outputs == {"a": GenerationOutput("a", (), "stop", "X Y"), "b": GenerationOutput("b", (), "stop", "Z")}
    assert all(
        {**body, "prompt": ""} == {"model": "tiny", "prompt": "", "max_tokens": 9, **GREEDY} for body in server.asked
    )
    assert list(engine.generate([])) == []


@pytest.mark.parametrize(
    ("fault", "tries", "reason"),
    [
        (status(503), 3, "HTTP status 503"),
        (drops, 3, "connection error"),
        (says("x", finish="abort"), 1, "broken off by the server, abort"),
        (status(400), 1, "HTTP status 400"),
        # Asked for once more: a gateway's page may have stood in its place.
        (raw(b"{}"), 2, "unreadable answer"),
        (raw(b'{"choices": [{"text": 3, "finish_reason": "stop"}]}'), 2, "unreadable answer"),
        (raw(b'{"choices": [{"text": "x"}, {"text": "y"}]}'), 2, "unreadable answer"),
        (says("x", finish="content_filter"), 1, "text withheld by a filter of the server, content_filter: switch"),
        (says("x", finish="tool_calls"), 1, "a tool called instead of text, tool_calls: serve"),
        (says("x", finish="stopped_because"), 1, "ended by a word that is not known here, stopped_because: neither"),
        (says("x", finish=f"{SECRET} ended"), 1, "ended by a word that is not known here, a word that is not shown"),
    ],
)
def test_lasting_faults_are_raised_after_the_rest(server, engine, fault, tries, reason):
    server.faults[SECRET] = [fault] * 9
    stream = engine.generate([request("bad", SECRET), *(request(k, k) for k in "abc")])
    assert sorted(next(stream).key for _ in range(3)) == ["a", "b", "c"]
    passes = reason in ("HTTP status 503", "connection error", "broken off by the server, abort")
    error = IncompleteError if passes else BadInputError
    with pytest.raises(error, match=f"1 of 4 generations failed .*1 x {reason}") as caught:
        next(stream)
    # What lasts is not asked for by the same command.
    assert ("run the same command again" in caught.value.render()) == passes
    assert "what was answered is kept" in caught.value.render()
    assert sum(body["prompt"] == SECRET for _, body in server.seen) == tries
    assert SECRET not in caught.value.render()
    assert caught.value.__cause__ is None


def test_identity_names_the_address_and_never_the_key(server):
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(api_key="hunter2"), context_length=100)
    identity = engine.identity()
    engine.close()
    assert (identity["engine"], identity["base_url"], identity["model"]) == ("openai", server.url, "tiny")
    assert "hunter2" not in json.dumps(identity)


def words(key, count):
    return GenerationRequest(key, tuple(range(count)), " ".join([SECRET.split()[0]] * count), 9)


def test_a_context_shorter_than_was_said_is_no_passing_fault(server, engine):
    server.always = of_context(50)
    assert [output.key for output in engine.generate([words("short", 41)])] == ["short"]
    with pytest.raises(BadInputError, match=r"shorter than --context-length said.*refuses 92 \+ 9 tokens") as caught:
        list(engine.generate([words("long", 100)]))
    assert "in a new --out, with the server's own --context-length" in caught.value.render()
    assert "Jane" not in caught.value.render()
    # It was asked about the length without any patient's text.
    assert "Jane" not in server.asked[-1]["prompt"]


@pytest.mark.parametrize(
    ("context", "finish", "expected"),
    [
        (20, "stop", r"it read 20 tokens of a neutral text of 40 \(or --tokenizer is not this model's\)"),
        (100, "length", "it ended an answer after 5 of the 9 tokens asked for"),
        (100, "stop", None),
        (44, "stop", None),  # within a tenth: special tokens, another release of the tokenizer
    ],
)
def test_prompts_and_answers_that_a_server_cuts_in_silence_are_found_out(server, engine, context, finish, expected):
    server.always = of_context(context, cuts=True, finish=finish)
    request = words("a", 48)
    if expected is None:
        assert [output.finish_reason for output in engine.generate([request])] == [finish]
        return
    with pytest.raises(BadInputError, match=expected):
        list(engine.generate([request]))


def chat(*, tokens=9):
    messages = (("system", "You assist."), ("user", SECRET))
    return GenerationRequest("k", tuple(range(tokens)), "as a template writes it", 9, messages=messages)


def test_messages_are_sent_and_not_the_rendered_prompt(server, engine):
    server.always = says("plan: rest")
    assert list(engine.generate([chat()])) == [GenerationOutput("k", (), "stop", "plan: rest")]
    (body,) = server.asked
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "You assist."}, {"role": "user", "content": SECRET}],
        "max_tokens": 9,
        **GREEDY,
    }


def test_a_server_that_refuses_everything_is_not_one_of_a_short_context(server, engine):
    server.always = of_context(0)
    with pytest.raises(BadInputError, match=r"does not answer a short neutral text.*\(HTTP status 400\)"):
        list(engine.generate([words("a", 8)]))
    assert server.asked == []
