"""The served-model engine against a real HTTP server on loopback that misbehaves on demand."""

import dataclasses
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationOutput, GenerationRequest
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError

SECRET = "Jane Roe, born 1 April 1970"


class Server(ThreadingHTTPServer):
    """Answers with the prompt in capitals, unless `faults` holds what to do for a prompt."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content_type = "application/json"
        self.faults: dict[str, list[object]] = {}
        self.seen: list[tuple[dict[str, str], dict[str, object]]] = []
        self.lock = threading.Lock()
        self.working = self.most_at_once = 0
        #: Words that prompt and answer may have together; what does not fit is refused, or cut.
        self.context = 10**6
        self.cuts = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.seen.append((dict(self.headers), body))
            self.server.working += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.working)
            faults = self.server.faults.get(body["prompt"], [])
            fault = faults.pop(0) if faults else None
        threading.Event().wait(0.01)
        with self.server.lock:
            self.server.working -= 1
        if fault == "hang":
            threading.Event().wait(1)
            self.close_connection = True
        elif fault == "drop":
            self.close_connection = True
        elif isinstance(fault, int):
            self.answer(fault, json.dumps({"error": {"message": body["prompt"]}}).encode())
        elif isinstance(fault, bytes):
            self.answer(200, fault)
        elif len(body["prompt"].split()) + body["max_tokens"] > self.server.context and not self.server.cuts:
            self.answer(400, json.dumps({"error": {"message": f"context length exceeded: {body['prompt']}"}}).encode())
        else:
            finish = "stop" if fault in (None, "twice") else fault
            choice = {"index": 0, "text": body["prompt"].upper(), "finish_reason": finish, "logprobs": None}
            document = {"id": "1", "object": "text_completion", "created": 0, "model": body["model"]}
            if self.server.cuts:
                read = min(len(body["prompt"].split()), self.server.context)
                document["usage"] = {"prompt_tokens": read, "completion_tokens": min(body["max_tokens"], 5)}
            for _ in range(2 if fault == "twice" else 1):
                self.answer(200, json.dumps({**document, "choices": [choice]}).encode())

    def answer(self, status: int, body: bytes):
        self.send_response(status)
        self.send_header("content-type", self.server.content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after-ms", "1")
        if 300 <= status < 400:
            self.send_header("location", self.server.url + "/completions")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def engine(server):
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=4, retries=2), context_length=100)
    yield engine
    engine.close()


def request(key: str, prompt: str) -> GenerationRequest:
    return GenerationRequest(key, (), prompt, 9)


def test_yields_text_and_asks_greedily(server, engine):
    outputs = {output.key: output for output in engine.generate([request("a", "x y"), request("b", "z")])}
    assert outputs == {"a": GenerationOutput("a", (), "stop", "X Y"), "b": GenerationOutput("b", (), "stop", "Z")}
    for _, body in server.seen:
        assert (body["model"], body["temperature"], body["max_tokens"], body["n"]) == ("tiny", 0.0, 9, 1)
    assert list(engine.generate([])) == []


def test_guarded_or_not_a_server_is_asked_the_same(server, engine):
    loop = " ".join(["no change"] * 30)
    whole, unguarded = (
        next(engine.generate([dataclasses.replace(request("a", loop), guarded=guarded)])) for guarded in (True, False)
    )
    assert whole == unguarded
    assert whole.text == loop.upper()
    (_, first), (_, second) = server.seen
    assert first == second


def test_keeps_the_servers_finish_reason(server, engine):
    server.faults["x"] = ["length"]
    assert [output.finish_reason for output in engine.generate([request("a", "x")])] == ["length"]


def test_no_more_at_once_than_allowed(server, engine):
    assert len(list(engine.generate([request(f"k{i}", f"p{i}") for i in range(40)]))) == 40
    assert 1 < server.most_at_once <= 4


@pytest.mark.parametrize("fault", ["drop", 429, 500, 503])
def test_passing_faults_are_tried_again(server, engine, fault):
    server.faults["x"] = [fault, fault]
    assert [output.text for output in engine.generate([request("a", "x")])] == ["X"]
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("fault", "tries", "reason"),
    [
        (503, 3, "HTTP status 503"),
        ("drop", 3, "connection error"),
        (400, 1, "HTTP status 400"),
        (b"{}", 1, "unreadable answer"),
        (b"not json", 1, "unreadable answer"),
        (b'{"choices": [{"text": 3, "finish_reason": "stop"}]}', 1, "unreadable answer"),
        (b'{"choices": [{"text": "x"}, {"text": "y"}]}', 1, "unreadable answer"),
        (b"[]", 1, "unreadable answer"),
        ("content_filter", 1, "cut by the server"),
    ],
)
def test_lasting_faults_are_raised_after_the_rest(server, engine, fault, tries, reason):
    server.faults[SECRET] = [fault] * 9
    stream = engine.generate([request("bad", SECRET), *(request(k, k) for k in "abc")])
    assert sorted(next(stream).key for _ in range(3)) == ["a", "b", "c"]
    with pytest.raises(IncompleteError, match=f"1 of 4 generations failed .*1 x {reason}") as caught:
        next(stream)
    assert sum(body["prompt"] == SECRET for _, body in server.seen) == tries
    assert SECRET not in caught.value.render()
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("status", "error"),
    [(301, UnsafeError), (307, UnsafeError), (401, BadInputError), (403, BadInputError), (404, BadInputError)],
)
def test_what_would_fail_for_all_stops_at_once(server, engine, status, error):
    server.faults = {f"p{i}": [status] for i in range(200)}
    with pytest.raises(error) as caught:
        list(engine.generate([request(f"k{i}", f"p{i}") for i in range(200)]))
    assert len(server.seen) < 200
    assert str(status) in caught.value.render()


def test_an_answer_sent_twice_is_not_the_next_prompts(server):
    prompts = [f"patient {number}" for number in range(12)]
    server.faults = {prompt: ["twice"] for prompt in prompts}
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=1, retries=2), context_length=100)
    outputs = {output.key: output.text for output in engine.generate([request(prompt, prompt) for prompt in prompts])}
    engine.close()
    assert outputs == {prompt: prompt.upper() for prompt in prompts}


@pytest.mark.parametrize("charset", ["hex", "zlib", "undefined"])
@pytest.mark.parametrize(("fault", "reason"), [(503, "HTTP status 503"), (b"\x00\x01zz", "unreadable answer")])
def test_a_charset_that_reads_nothing_is_no_crash(server, engine, charset, fault, reason):
    server.content_type = f"text/plain; charset={charset}"
    server.faults[SECRET] = [fault] * 9
    with pytest.raises(IncompleteError, match=f"1 x {reason}"):
        list(engine.generate([request("bad", SECRET)]))


def test_a_redirect_is_not_followed(server, engine):
    server.faults["x"] = [307]
    with pytest.raises(UnsafeError, match="follows no redirect"):
        list(engine.generate([request("a", "x")]))
    assert len(server.seen) == 1


def test_a_dead_server_is_incomplete(server):
    engine = OpenAIEngine(ServedModel("http://127.0.0.1:9/v1", "tiny"), Access(retries=0), context_length=100)
    with pytest.raises(IncompleteError, match="1 x connection error"):
        list(engine.generate([request("a", "x")]))
    engine.close()


def test_a_hanging_server_is_a_time_out(server):
    server.faults["x"] = ["hang"]
    engine = OpenAIEngine(ServedModel(server.url, "m"), Access(retries=0, deadline_s=0.2), context_length=100)
    with pytest.raises(IncompleteError, match="1 x time-out"):
        list(engine.generate([request("a", "x")]))
    engine.close()


def test_nothing_is_taken_from_the_environment(server, monkeypatch):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"OPENAI_{name}", "x-leak: env-leak")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(api_key="given", retries=0), context_length=100)
    assert [output.text for output in engine.generate([request("a", "x")])] == ["X"]
    engine.close()
    headers = {name.lower(): value for name, value in server.seen[0][0].items()}
    assert headers["authorization"] == "Bearer given"
    assert "env-leak" not in json.dumps(headers)


def test_no_log_holds_a_prompt(server, engine, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server.faults[SECRET] = [500, 400]
    with pytest.raises(IncompleteError):
        list(engine.generate([request("a", SECRET)]))
    captured = capfd.readouterr()
    assert SECRET not in caplog.text + captured.out + captured.err


def test_a_host_that_is_not_approved_is_refused_before_anything_is_sent():
    with pytest.raises(UnsafeError, match="--phi-approved"):
        OpenAIEngine(ServedModel("https://models.example.org/v1", "m"), Access(), context_length=100)


def test_identity_names_the_address_and_never_the_key(server):
    engine = OpenAIEngine(ServedModel(server.url, "tiny"), Access(api_key="hunter2"), context_length=100)
    identity = engine.identity()
    engine.close()
    assert (identity["engine"], identity["base_url"], identity["model"]) == ("openai", server.url, "tiny")
    assert "hunter2" not in json.dumps(identity)


def words(key: str, count: int) -> GenerationRequest:
    return GenerationRequest(key, tuple(range(count)), " ".join([SECRET.split()[0]] * count), 9)


def test_a_context_shorter_than_was_said_is_no_passing_fault(server, engine):
    server.context = 50
    assert [output.key for output in engine.generate([words("short", 41)])] == ["short"]
    with pytest.raises(BadInputError, match=r"shorter than --context-length said.*refuses 42 \+ 9 tokens") as caught:
        list(engine.generate([words("long", 42)]))
    assert "in a new --out, with the server's own --context-length" in caught.value.render()
    assert "Jane" not in caught.value.render()
    # It was asked about the length without any patient's text.
    assert {body["prompt"].split()[0] for _, body in server.seen[2:]} == {"the"}


def test_a_refusal_that_is_not_for_length_stays_one_of_that_prompt(server, engine):
    server.faults = {request.prompt: [400] for request in (words("a", 8), words("b", 9))}
    with pytest.raises(IncompleteError, match=r"2 of 2 generations failed .*2 x HTTP status 400"):
        list(engine.generate([words("b", 9), words("a", 8)]))
    neutral = [body for _, body in server.seen if body["prompt"].startswith(" the")]
    assert 1 <= len(neutral) <= 2


def test_a_server_that_refuses_everything_is_not_one_of_a_short_context(server, engine):
    server.context = 0
    with pytest.raises(IncompleteError, match="1 x HTTP status 400"):
        list(engine.generate([words("a", 8)]))


@pytest.mark.parametrize(
    ("context", "finish", "expected"),
    [
        (20, "stop", r"it read 20 tokens of a prompt of 40, and answered \(or --tokenizer is not this model's\)"),
        (100, "length", "it ended an answer after 5 of the 9 tokens asked for"),
        (100, "stop", None),
        (36, "stop", None),  # within a tenth: special tokens, another release of the tokenizer
    ],
)
def test_prompts_and_answers_that_a_server_cuts_in_silence_are_found_out(server, engine, context, finish, expected):
    server.cuts, server.context = True, context
    request = words("a", 40)
    server.faults[request.prompt] = [finish]
    if expected is None:
        assert [output.finish_reason for output in engine.generate([request])] == [finish]
        return
    with pytest.raises(BadInputError, match=expected):
        list(engine.generate([request]))
