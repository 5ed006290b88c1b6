"""A server on loopback that judges by one rule, or gives a text back in capitals; on demand it commits every fault."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "judge-1"
#: What stands between two equal marker lines of a question.
FENCED = re.compile(r"^(=====NOTE [0-9a-f]{24}=====)\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)

#: In what is said: the id of the question that is answered.
QUESTION_ID = "THE-ID"
ASKED = re.compile(r'"question"(?:: |, which is )"(Q[0-9a-f]{8})"')

#: How the text begins by which a served MODEL is tried.
NEUTRAL = "Seven grey chairs"

Fault = Callable[["Handler", dict[str, Any]], None]


def verdict_of(text: str) -> dict[str, Any]:
    """The rule: "depression" in a note is the patient's."""
    found = "depression" in text
    verdict = {"diagnosis_mentioned": found, "patient_has_diagnosis": "positive" if found else None}
    spans = {"diagnosis_spans": ["depression"] if found else [], "symptom_spans": [], "medication_spans": []}
    return {"question": QUESTION_ID, **verdict, **spans, "evidence_spans": []}


#: What states a diagnosis to the annotating rule.
STATED = {
    "anxiety": r"\(f41", "depression": r"\(f3[23]", "abortion": r"elective abortion", "bipolar": r"\(f31",
    "ptsd": r"\(f43", "hiv": r"\(z21|\(b20",
}  # fmt: skip


def annotations_of(history: str, ids: list[str]) -> dict[str, Any]:
    """The rule over a history: present where a code of it stands."""
    nothing = {"in_note_start": False, "in_hpi": False, "diagnosis_spans": [], "symptom_spans": []}
    nothing |= {"medication_spans": [], "medications_to_remove": []}
    stated = {name: re.search(STATED[name], history) for name in ids}
    entries = {
        name: {**nothing, "present": found is not None, "icd10_spans": [found[0]] if found else []}
        for name, found in stated.items()
    }
    return {"question": QUESTION_ID, "diagnoses": entries}


class Server(ThreadingHTTPServer):
    """Answers well, unless `faults` holds something for the note asked about, or `always` is set."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults: dict[str, list[Fault]] = {}
        self.always: Fault | None = None
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what these tests are about."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests, without those that try a form of request by a neutral text."""
        with self.lock:
            return [body for _, body in self.seen if not asked_in(body).startswith(NEUTRAL)]

    def asked_about(self, note: str) -> int:
        with self.lock:
            return sum(first_note(body) == note for _, body in self.seen)


def first_note(body: dict[str, Any]) -> str:
    """The first note of a question; the question itself, or the text to go on with, where it holds none."""
    asked = asked_in(body)
    found = FENCED.search(asked)
    return found[2] if found else asked


def asked_in(body: dict[str, Any]) -> str:
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        note = first_note(body)
        with self.server.lock:
            self.server.seen.append((dict(self.headers), body))
            waiting = self.server.faults.get(note, [])
            fault = waiting.pop(0) if waiting else self.server.always
        try:
            if fault is not None:
                fault(self, body)
            else:
                threading.Event().wait(0.005)
                self.answer(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, body: dict[str, Any]) -> None:
        """Say what is right."""
        is_chat = "prompt" not in body
        self.say(body, json.dumps(self.answer_to(body, first_note(body))) if is_chat else body["prompt"].upper())

    def answer_to(self, body: dict[str, Any], note: str) -> dict[str, Any]:
        schema = body["response_format"]["json_schema"]
        if schema["name"] == "annotations":
            return annotations_of(note, list(schema["schema"]["properties"]["diagnoses"]["properties"]))
        # Asked about another diagnosis, the rule finds nothing: "depression" is no name of that one.
        asked = body["messages"][-1]["content"]
        return verdict_of(note if asked.startswith("The diagnosis in question: major depress") else "")

    def say(self, body: dict[str, Any], content: object, *, finish: str = "stop", **envelope: object) -> None:
        said = {"text": content} if "prompt" in body else {"message": {"role": "assistant", "content": content}}
        document = {
            "id": "1",
            "object": "text_completion" if "prompt" in body else "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, **said, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            **envelope,
        }
        asked = ASKED.search(asked_in(body))
        self.send(200, json.dumps(document).replace(QUESTION_ID, asked[1] if asked else "").encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        given = {"content_type": "application/json", "content_length": str(len(body)), **headers}
        for name, value in given.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Meeting:
    """Lets questions wait until there are so many, and counts how many wait at once.

    None waits any more when it is answered: the client asks again only then, however slow this process is.
    """

    def __init__(self, number: int) -> None:
        self.most = self._waiting = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(number, timeout=60)

    def __call__(self, handler: Handler, body: dict[str, Any]) -> None:
        with self._lock:
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        self._barrier.wait()
        # For one more than are allowed.
        threading.Event().wait(0.005)
        with self._lock:
            self._waiting -= 1
        handler.answer(body)


def status(number: int, **headers: str) -> Fault:
    """An error whose message quotes the question, as some servers do."""

    def fault(handler: Handler, body: dict[str, Any]) -> None:
        message = {"error": {"message": asked_in(body)}}
        handler.send(number, json.dumps(message).encode(), **{"retry_after_ms": "1", **headers})

    return fault


def says(content: object, *, finish: str = "stop", **envelope: object) -> Fault:
    return lambda handler, body: handler.say(body, content, finish=finish, **envelope)


def says_twice(handler: Handler, body: dict[str, Any]) -> None:
    """The right answer, and once more: what a connection that is used again would give to the next question."""
    for _ in range(2):
        handler.answer(body)


def fails(number: int, body: bytes, **headers: str) -> Fault:
    """An error with a body and a head of its own."""
    return lambda handler, _body: handler.send(number, body, **headers)


def raw(body: bytes, **headers: str) -> Fault:
    return lambda handler, _body: handler.send(200, body, **headers)


def drops(handler: Handler, body: dict[str, Any]) -> None:
    handler.close_connection = True


def is_silent(handler: Handler, body: dict[str, Any]) -> None:
    handler.server.stopping.wait(20)
    handler.close_connection = True


def breaks_off(handler: Handler, body: dict[str, Any]) -> None:
    """Fewer bytes than announced."""
    handler.send_response(200)
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"model": ')
    handler.close_connection = True


def _endless(block: bytes, pause_s: float, *, headers_too: bool = False) -> Fault:
    def fault(handler: Handler, body: dict[str, Any]) -> None:
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        if not headers_too:
            handler.end_headers()
        else:
            handler.flush_headers()
        while not handler.server.stopping.wait(pause_s):
            handler.wfile.write(block)
            handler.wfile.flush()

    return fault


trickles = _endless(b" ", 0.02)
trickles_headers = _endless(b"x", 0.02, headers_too=True)
floods = _endless(b" " * (1 << 18), 0.0)


@contextmanager
def running() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()
