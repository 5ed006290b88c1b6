"""Questions that a server refuses: settled only where it answers others that were asked later."""

import json

import pytest
from support.servers.fault_server import says, status
from support.servers.served_judging import GOOD, POSITIVE, SECRET, judgements

from clinaudit.errors import BadInputError, IncompleteError


@pytest.mark.parametrize("number", [400, 413, 422])
def test_a_question_that_is_refused_is_unjudged_where_others_are_answered(server, cache, number):
    server.faults[SECRET] = [status(number)]
    found = judgements(server, cache, [SECRET, "a depression", SECRET])
    assert [judgement.verdict for judgement in found] == [None, POSITIVE, None]
    assert found[0].invalid_reason == f"refused by the server (HTTP status {number})"
    assert server.asked_about(SECRET) == 1


@pytest.mark.parametrize("count", [1, 200])
def test_a_server_that_refuses_every_question_stops_the_audit_and_nothing_is_settled(server, cache, count):
    server.always = status(400)
    with pytest.raises(BadInputError, match="answers no question"):
        judgements(server, cache, [f"depression {i}" for i in range(count)])
    assert len(server.seen) < 150
    server.always = None
    assert judgements(server, cache, ["depression 0"])[0].verdict == POSITIVE


def test_a_server_that_refuses_everything_since_settles_nothing_of_a_resumed_run(server, cache):
    texts = [f"depression {i}" for i in range(21)]
    judgements(server, cache, texts[:1])
    server.always = status(400)
    with pytest.raises(BadInputError, match="answers no question"):
        judgements(server, cache, texts)
    server.always = None
    assert [judgement.verdict for judgement in judgements(server, cache, texts)] == [POSITIVE] * 21


@pytest.mark.parametrize("answers", [1, 30])
def test_a_server_that_refuses_everything_from_some_question_on_settles_none_of_those(server, cache, answers):
    texts = [f"depression {i}" for i in range(60)]

    def stops_answering(handler, body):
        if len(server.seen) <= answers:
            return handler.say(body, GOOD)
        return status(400)(handler, body)

    server.always = stops_answering
    with pytest.raises(BadInputError, match="answers no question"):
        judgements(server, cache, texts)
    server.always = None
    assert [judgement.verdict for judgement in judgements(server, cache, texts)] == [POSITIVE] * 60


def test_a_second_answer_that_is_refused_is_settled_only_where_the_server_answers_others(server, cache):
    server.faults["depression"] = [says("no")]
    server.always = status(400)
    with pytest.raises(BadInputError, match="answers no question"):
        judgements(server, cache, ["depression"])
    server.always = None
    server.faults["depression"] = [says("no"), status(400)]
    (found,) = judgements(server, cache, ["depression"])
    assert (found.verdict, found.attempts) == (None, 2)
    assert "HTTP status 400" in (found.invalid_reason or "")


@pytest.mark.parametrize("count", [1, 40])
def test_refusals_left_over_are_unjudged_where_the_server_answers_a_question_about_nothing(server, cache, count):
    texts = [f"depression {i}" for i in range(count)]
    server.faults = {text: [status(400)] * 9 for text in texts}
    judgements(server, cache, ["fine"])
    found = judgements(server, cache, ["fine", *texts])
    assert [judgement.verdict for judgement in found[1:]] == [None] * count
    # Asked about once each, and never with another note in their place.
    assert all(server.asked_about(text) == 1 for text in texts)
    probes = [body for _, body in server.seen if "There is no note" in body["messages"][-1]["content"]]
    # One tells that the form of the request is not at fault.
    assert 1 <= len(probes) <= 2 + count // 16
    assert not any(text in json.dumps(probes) for text in texts)
    assert cache.usage().calls == len(server.seen) - count


def test_a_server_that_goes_silent_after_a_refusal_leaves_it_undone(server, cache):
    server.faults["depression"] = [status(400)]
    server.always = status(503)
    with pytest.raises(IncompleteError, match="refuses questions, then does not answer"):
        judgements(server, cache, ["depression"])
    server.always = None
    assert judgements(server, cache, ["depression"])[0].verdict == POSITIVE
