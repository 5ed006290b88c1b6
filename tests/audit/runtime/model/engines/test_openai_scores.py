"""Scores and samples of a served model, from a server on loopback that scores by a rule, and does not on demand."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from support.servers import fault_server
from support.servers.fault_server import fails, raw, status

from clinaudit.audit.runtime.model.engines.openai_engine import OpenAIEngine
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest, NoScoresError, ScoreRequest
from clinaudit.audit.runtime.run.store import TokenScores
from clinaudit.audit.runtime.served.access import Access, ServedModel
from clinaudit.errors import BadInputError, IncompleteError

#: The ids of a patient's text: all are above those of a neutral one.
PATIENT = 1000


def text(key, tokens, *, first=1):
    return ScoreRequest(key, tuple(range(PATIENT, PATIENT + tokens)), first)


def log_prob(token):
    return -0.125 - (token % 8)


def scoring(change=lambda _, numbers: numbers, *, least=0, named="token_id:{}"):
    """A server that scores a prompt of token ids by the rule, changed; it refuses to write less than `least` tokens.

    `named` is how it names each token that it scored.
    """

    def answer(handler, body):
        if not body.get("echo"):
            return handler.say(body, "the")
        if body["max_tokens"] < least:
            return status(400)(handler, body)
        numbers: list[Any] = [None, *map(log_prob, body["prompt"][1:]), *[-1.0] * body["max_tokens"]]
        said = change(body, numbers)
        tokens = [*map(named.format, body["prompt"]), "new"]
        logprobs = None if said is None else {"token_logprobs": said, "tokens": tokens}
        choice = {"index": 0, "text": "echo", "finish_reason": "length", "logprobs": logprobs}
        return handler.send(200, json.dumps({"choices": [choice]}).encode())

    return answer


def unless_scored(fault):
    """A server that answers texts, and with the fault where it is to score one."""
    return lambda handler, asked: fault(handler, asked) if asked.get("echo") else handler.say(asked, "the")


def only_of(body, fault, otherwise):
    """What holds for the one prompt alone."""
    return lambda handler, asked: (fault if asked["prompt"] == body else otherwise)(handler, asked)


@pytest.fixture(autouse=True)
def _scores(server):
    server.always = scoring()


@pytest.fixture
def engine(server):
    return OpenAIEngine(ServedModel(server.url, "tiny"), Access(concurrency=4, retries=1), context_length=100)


def expected(request):
    return [log_prob(token) for token in request.token_ids[request.first :]]


@pytest.mark.parametrize("least", [0, 1])
def test_texts_are_scored_from_the_token_asked_for(least, server, engine):
    server.always = scoring(least=least)
    requests = [text("a", 9), text("b", 2), text("c", 99, first=40)]
    scores: dict[str, TokenScores] = {one.key: one for one in engine.score(requests)}
    assert {key: one.log_probs.tolist() for key, one in scores.items()} == {one.key: expected(one) for one in requests}
    assert all(one.log_probs.dtype == np.float32 and one.means is one.deviations is None for one in scores.values())
    first, *others = [body for _, body in server.seen]
    # No patient's text before it is known that the server scores any.
    assert max(first["prompt"]) < PATIENT
    assert [max(body["prompt"]) >= PATIENT for body in others] == [False] * (least + 1) + [True] * 3
    assert others[-1] == {**first, "prompt": others[-1]["prompt"], "max_tokens": least}
    assert first == {
        "model": "tiny",
        "prompt": first["prompt"],
        "max_tokens": 0,
        "temperature": 1.0,
        "n": 1,
        "echo": True,
        "logprobs": 1,
        "return_tokens_as_token_ids": True,
    }


def test_nothing_is_asked_for_no_texts(server, engine):
    assert list(engine.score([])) == []
    with pytest.raises(ValueError, match="more than 99 tokens"):
        list(engine.score([text("a", 100)]))
    assert server.seen == []


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (scoring(lambda *_: None), "no log-probabilities"),
        (fault_server.says("as if nothing had been asked"), "no log-probabilities"),
        (unless_scored(raw(b"{}")), "no log-probabilities"),
        (unless_scored(raw(b"not json")), "no log-probabilities"),
        (scoring(lambda _, numbers: [None, *numbers]), "another number of tokens"),
        # One that leaves out the first token: its new one would pass for the last.
        (scoring(lambda _, numbers: numbers[1:]), "another number of tokens"),
        (scoring(lambda _, numbers: numbers[:2]), "another number of tokens"),
        (scoring(lambda _, numbers: [None, None, *numbers[2:]]), "are none"),
        (scoring(lambda _, numbers: [None, 0.9, *numbers[2:]]), "are none"),
        (scoring(lambda _, numbers: [None, "-1", *numbers[2:]]), "are none"),
        # No JSON.
        (scoring(lambda _, numbers: [None, float("nan"), *numbers[2:]]), "no log-probabilities"),
        # The right number of numbers, of tokens that nobody asked about, or that may be any.
        (scoring(named="token_id:1{}"), "does not say, by their ids"),
        (scoring(named="word"), "does not say, by their ids"),
        (scoring(least=2), "refuses to score a prompt"),
        (status(404), "refuses to score a prompt"),
        (status(501), "refuses to score a prompt"),
    ],
)
def test_a_server_that_scores_nothing_is_found_out_without_a_patients_text(fault, why, server, engine):
    server.always = fault
    with pytest.raises(NoScoresError, match=f"^the server of tiny gives no scores: .*{why}"):
        list(engine.score([text("a", 9), text("b", 5)]))
    assert 2 <= len(server.seen) <= 4
    # Besides ids a neutral text, where an answer cannot be read.
    assert all(body["prompt"] == " the" or max(body["prompt"]) < PATIENT for _, body in server.seen)


@pytest.mark.parametrize(
    ("fault", "error", "reason"),
    [
        (status(503), IncompleteError, "HTTP status 503"),
        (status(404), BadInputError, "HTTP status 404"),
        (fails(200, b"not json"), BadInputError, "unreadable answer"),
    ],
)
def test_what_fails_for_one_text_is_raised_after_the_rest(fault, error, reason, server, engine):
    requests = [text("bad", 50), text("a", 9), text("b", 5)]
    server.always = only_of(list(requests[0].token_ids), fault, scoring())
    stream = engine.score(requests)
    assert sorted(next(stream).key for _ in range(2)) == ["a", "b"]
    with pytest.raises(error, match=f"1 of 3 texts failed at the served model .1 x {reason}") as caught:
        next(stream)
    assert str(PATIENT) not in str(caught.value)


@pytest.mark.parametrize("messages", [(), (("user", "x"),)])
def test_a_sample_is_asked_for_with_its_seed(messages, server, engine):
    server.always = None
    greedy = GenerationRequest("a", (3,), "x", 9, messages=messages)
    drawn = dataclasses.replace(greedy, key="b", temperature=0.7, seed=12)
    if messages:
        choice = {"message": {"role": "assistant", "content": "y"}, "finish_reason": "stop"}
        server.always = raw(json.dumps({"choices": [choice]}).encode())
    for request in (greedy, drawn):
        assert next(engine.generate([request])).key == request.key
    first, second = server.asked
    assert (first["temperature"], first["top_k"]) == (0.0, 1)
    assert "seed" not in first
    # A server fills in what is not said from the model's own defaults.
    assert second == {**first, "temperature": 0.7, "top_k": -1, "seed": 12}


def test_one_text_without_scores_ends_all(server, engine):
    requests = [text("bad", 50), text("a", 9)]
    server.always = only_of(list(requests[0].token_ids), scoring(lambda *_: None), scoring())
    with pytest.raises(NoScoresError, match="no log-probabilities"):
        list(engine.score(requests))


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"{}"])
@pytest.mark.parametrize("is_known_to_score", [False, True])
def test_a_page_in_the_place_of_every_answer_takes_no_score_away(server, engine, body, is_known_to_score):
    def only_neutral(handler, asked):
        is_neutral = max(asked["prompt"]) < PATIENT if asked.get("echo") else False
        return (scoring() if is_neutral else raw(body))(handler, asked)

    server.always = only_neutral if is_known_to_score else raw(body)
    with pytest.raises(IncompleteError, match="run the same command again"):
        list(engine.score([text("a", 9)]))
