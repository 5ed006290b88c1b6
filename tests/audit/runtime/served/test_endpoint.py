"""Every fault of a server on the way of an answer: the right one in the end, or undone and done on resume."""

import gzip
import threading
import time
from dataclasses import replace

import pytest
from support.servers.fault_server import (
    Fault,
    breaks_off,
    drops,
    fails,
    is_silent,
    says_twice,
    status,
    trickles,
    trickles_headers,
)
from support.servers.served_judging import POSITIVE, SECRET, asked, judgements

from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.audit.runtime.served.endpoint import Endpoint
from clinaudit.errors import BadInputError, IncompleteError, UnsafeError


@pytest.mark.parametrize(
    "fault", [drops, breaks_off, status(429, retry_after="0.01"), status(408), status(500), status(502), status(503)]
)
def test_passing_faults_end_in_the_right_verdict(server, cache, fault):
    server.faults[SECRET] = [fault, fault]
    assert judgements(server, cache, [SECRET]) == [POSITIVE]
    assert server.asked_about(SECRET) == 3


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_answer_sent_twice_is_not_the_next_questions(server, cache, concurrency):
    server.always = says_twice
    texts = ["plan: rest", "depression a", "knee pain", "depression b", "cough", "depression c"] * 3
    texts = [f"{text} {number}" for number, text in enumerate(texts)]
    found = judgements(server, cache, texts, concurrency=concurrency)
    assert found == [POSITIVE if "depression" in text else Verdict(False) for text in texts]
    # Not even asked again: no connection is used for a second question.
    assert len(server.seen) == len(texts)


LASTING: dict[str, tuple[Fault, str]] = {
    "silence": (is_silent, "time-out"),
    "a trickling body": (trickles, "time-out"),
    "trickling headers": (trickles_headers, "time-out"),
    "a retry-after beyond the deadline": (status(429, retry_after_ms="", retry_after="60"), "time-out"),
    "a retry-after beyond the client's own maximum": (
        status(429, retry_after_ms="", retry_after="3600"),
        "HTTP status 429",
    ),
    "503": (status(503), "HTTP status 503"),
    "429": (status(429), "HTTP status 429"),
    "dropped": (drops, "connection error"),
    "broken off": (breaks_off, "connection error"),
}


def give_deadline(monkeypatch, seconds):
    """Let the question about the secret have this deadline, and no other one: a slow machine is no fault of theirs."""
    send = Endpoint.send

    async def send_by_deadline(self, path, body, *, serves):
        deadline = seconds if SECRET in body["messages"][-1]["content"] else 300.0
        # Read once the request has its place among those in flight, which is at once.
        self._access = replace(self._access, deadline_s=deadline)
        return await send(self, path, body, serves=serves)

    monkeypatch.setattr(Endpoint, "send", send_by_deadline)


@pytest.mark.parametrize("name", LASTING)
def test_where_no_answer_comes_the_unit_is_undone_and_done_on_resume(server, cache, name, monkeypatch):
    fault, reason = LASTING[name]
    server.faults[SECRET] = [fault] * 9
    texts = ["a depression", SECRET, "b depression", "c"]
    with monkeypatch.context() as patched, asked(server, cache, texts, retries=1) as stream:
        # Only where the time-out is what is expected may there be one.
        give_deadline(patched, 0.5 if reason == "time-out" else 300.0)
        assert next(stream) == POSITIVE
        with pytest.raises(IncompleteError, match=f"1 question got no answer .*1 x {reason}") as caught:
            next(stream)
    assert SECRET not in caught.value.render()
    assert caught.value.__cause__ is None
    # What was answered is not asked again.
    server.faults.clear()
    before = len(server.seen)
    found = judgements(server, cache, texts)
    assert found == [POSITIVE, POSITIVE, POSITIVE, Verdict(False)]
    assert len(server.seen) == before + 1


@pytest.mark.parametrize(
    ("number", "error"),
    [(301, UnsafeError), (307, UnsafeError), (401, BadInputError), (403, BadInputError), (404, BadInputError)],
)
def test_what_would_fail_for_all_stops_at_once(server, cache, number, error):
    server.always = status(number, location=server.url + "/chat/completions")
    with pytest.raises(error, match=str(number)) as caught:
        judgements(server, cache, [f"{SECRET} {i}" for i in range(200)])
    assert len(server.seen) < 100
    assert SECRET not in caught.value.render()


ODD_HEADS: tuple[dict[str, str], ...] = (
    {"content_encoding": "gzip"},
    {"content_type": "text/plain; charset=hex"},
    {"content_type": "text/plain; charset=zlib"},
    {"content_type": "text/plain; charset=undefined"},
)
PACKED = gzip.compress(b"<html>sorry</html>", mtime=0)
BODIES = (PACKED, b" " * (5 << 20), b"\x00\x01zz")
STATUSES = {302: UnsafeError, 401: BadInputError, **dict.fromkeys((402, 421, 423, 502), IncompleteError)}


@pytest.mark.parametrize(
    ("number", "error", "body", "head"),
    [
        *((number, error, PACKED, ODD_HEADS[0]) for number, error in STATUSES.items()),
        # What comes with a status is dropped before the status is looked at.
        *((429, IncompleteError, body, head) for body in BODIES for head in ODD_HEADS),
    ],
    ids=lambda value: None if isinstance(value, int | type) else "",
)
def test_an_error_is_its_status_whatever_comes_with_it(server, cache, number, error, body, head):
    judgements(server, cache, ["a depression", "b"])
    server.always = fails(number, body, **head)
    with pytest.raises(error, match=str(number)):
        judgements(server, cache, [SECRET, "c depression"], retries=0)
    server.always = None
    assert judgements(server, cache, [SECRET, "c depression"]) == [POSITIVE] * 2


def test_a_dead_server_is_given_up(server, cache):
    server.always = drops
    with pytest.raises(IncompleteError, match="32 times in a row"):
        judgements(server, cache, [f"{SECRET} {i}" for i in range(500)], retries=0)
    assert len(server.seen) < 150


def test_a_stream_that_is_left_early_ends_in_good_order(server, cache):
    texts = [f"depression {number}" for number in range(50)]
    threads = threading.active_count()
    with asked(server, cache, texts) as stream:
        assert next(stream) == POSITIVE
    # What asked has ended with it: no question is sent any more, and none of its threads goes on.
    sent = len(server.seen)
    deadline = time.monotonic() + 60
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= threads
    assert len(server.seen) == sent
    assert judgements(server, cache, texts) == [POSITIVE] * 50
