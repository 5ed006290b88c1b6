"""Questions asked: refusals that settle nothing, answers that are kept, what asking takes, fences around notes."""

import json
import sqlite3
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import read_cases
from support.servers.fault_server import raw, says, status, verdict_of
from support.servers.served_judging import DEPRESSION, GOOD, PANEL, POSITIVE, SECRET, judge_at, judgements

from clinaudit.audit.measures.judge.labels import PatientHistory
from clinaudit.audit.measures.judge.served_judge import ask_about_history, ask_about_text
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.served.answer_cache import open_answer_cache
from clinaudit.audit.runtime.served.question import AskingEstimate, Usage, break_control_tokens, fence_marker
from clinaudit.errors import BadInputError, IncompleteError


@pytest.mark.parametrize("number", [400, 413, 422])
def test_a_question_that_is_refused_is_unjudged_where_others_are_answered(server, cache, number):
    server.faults[SECRET] = [status(number)]
    found = judgements(server, cache, [SECRET, "a depression", SECRET])
    assert [verdict.diagnosis_mentioned for verdict in found] == [None, True, None]
    assert found[1] == POSITIVE
    assert found[0].invalid_reason == f"refused by the server (HTTP status {number})"
    assert server.asked_about(SECRET) == 1


@pytest.mark.parametrize("count", [1, 200])
def test_a_server_that_refuses_every_question_stops_the_audit_and_nothing_is_settled(server, cache, count):
    server.always = status(400)
    with pytest.raises(BadInputError, match="answers no question"):
        judgements(server, cache, [f"depression {i}" for i in range(count)])
    assert len(server.seen) < 150
    server.always = None
    assert judgements(server, cache, ["depression 0"])[0] == POSITIVE


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
    assert judgements(server, cache, texts) == [POSITIVE] * 60


@pytest.mark.parametrize("count", [1, 40])
def test_refusals_left_over_are_unjudged_where_the_server_answers_a_question_about_nothing(server, cache, count):
    texts = [f"depression {i}" for i in range(count)]
    server.faults = {text: [status(400)] * 9 for text in texts}
    judgements(server, cache, ["fine"])
    found = judgements(server, cache, ["fine", *texts])
    assert [verdict.diagnosis_mentioned for verdict in found[1:]] == [None] * count
    # Asked about once each, and never with another note in their place.
    assert all(server.asked_about(text) == 1 for text in texts)
    probes = [body for _, body in server.seen if "There is no note" in body["messages"][-1]["content"]]
    # Each refusal is final only after one of them.
    assert len(probes) == count
    assert not any(text in json.dumps(probes) for text in texts)
    assert cache.usage().calls == len(server.seen) - count


def test_equal_questions_are_asked_once_and_remembered(server, cache):
    texts = ["depression", "fine", "depression", "fine", "depression"]
    first = judgements(server, cache, texts)
    assert len(server.seen) == 2
    assert judgements(server, cache, texts) == first
    assert len(server.seen) == 2
    # Another model, another seed or another diagnosis is another question.
    judgements(server, cache, ["fine"], seed=1)
    assert len(server.seen) == 3


def test_a_damaged_cache_is_asked_again(server, tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create()
    with open_answer_cache(run) as cache:
        judgements(server, cache, ["depression"])
    with sqlite3.connect(run.work / "judge.sqlite") as connection:
        connection.execute("""UPDATE answers SET record = REPLACE(record, 'positive', 'negative')""")
    connection.close()
    with open_answer_cache(run) as cache:
        assert judgements(server, cache, ["depression"])[0] == POSITIVE
    (run.work / "judge.sqlite").write_bytes(b"not a database at all" * 100)
    with open_answer_cache(run) as cache:
        assert judgements(server, cache, ["depression"])[0] == POSITIVE
        assert (run.work / "judge.sqlite").stat().st_mode & 0o077 == 0
    assert len(server.seen) == 3


def test_tokens_are_estimated_before_and_counted_over_all_runs(server, cache):
    estimates: list[AskingEstimate] = []
    judge = judge_at(server)
    server.faults["b"] = [says("no")]
    server.faults["c"] = [says(json.dumps(verdict_of("c")), usage=None)]
    judge.use_cache(cache, announce=estimates.append)
    for _ in range(2):
        list(judge.judge_many([(text, DEPRESSION) for text in "abc"]))
    assert cache.usage() == Usage(4, 300, 30, 1)
    (estimate,) = estimates
    assert estimate.questions == 3
    asked = [ask_about_text(text, DEPRESSION)[0] for text in "abc"]
    assert estimate.prompt_tokens == pytest.approx(sum(len(q.system + q.user) for q in asked) / 4, abs=6)
    assert estimate.most_answer_tokens == sum(q.max_answer_tokens for q in asked)


@given(st.lists(st.text(), max_size=4))
def test_a_marker_stands_in_none_of_the_texts(texts):
    marker = fence_marker(texts)
    assert not any(marker in text for text in texts)
    assert fence_marker(list(texts)) == marker


@pytest.mark.parametrize(("text", "sent"), read_cases("measure_cases.txt")["control signs"])
def test_what_ends_a_message_to_a_tokenizer_is_broken_in_a_note(text, sent):
    sent = sent or text
    assert break_control_tokens(text) == sent
    assert f"\n{sent}\n" in ask_about_text(text, DEPRESSION)[0].user
    history = PatientHistory([text], note_start=text, hpi=text, medications=[text])
    question = ask_about_history(history, PANEL)[0].user
    assert question.count(sent) == 4
    assert sent == text or text not in question


@given(
    st.lists(st.sampled_from(["<", ">", "|", "[", "]", "INST", "/", "~b", "s", " ", "e~"]), max_size=12).map("".join)
)
def test_nothing_that_is_broken_stands_in_what_is_sent(text):
    assert break_control_tokens(break_control_tokens(text)) == break_control_tokens(text)


def test_a_server_that_goes_silent_after_a_refusal_leaves_it_undone(server, cache):
    server.faults["depression"] = [status(400)]
    server.always = status(503)
    with pytest.raises(IncompleteError, match=r"1 question got no answer .*1 x HTTP status 503"):
        judgements(server, cache, ["depression"])
    server.always = None
    assert judgements(server, cache, ["depression"])[0] == POSITIVE


#: What a gateway may say in the place of every answer, with success.
PAGES = {
    "a page": raw(b"<html>back soon</html>"),
    "nothing": raw(b""),
    "an error with success": raw(b'{"error": {"message": "overloaded"}}'),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("count", [2, 60])
def test_pages_in_the_place_of_all_answers_settle_nothing(server, cache, name, count):
    texts = [f"{number} depression" for number in range(count)]
    assert judgements(server, cache, texts[:1])[0] == POSITIVE
    server.always = PAGES[name]
    with pytest.raises(IncompleteError, match="run the same command again") as caught:
        judgements(server, cache, texts)
    assert "depression" not in caught.value.render()
    server.always = None
    assert judgements(server, cache, texts) == [POSITIVE] * count


def test_another_model_behind_every_answer_stops_the_audit_and_nothing_is_settled(server, cache):
    texts = ["a depression", "b depression", "c depression"]
    server.always = says(GOOD, model="judge-2")
    with pytest.raises(BadInputError, match=r"another model answered: judge-2 instead of .*the full name"):
        judgements(server, cache, texts)
    server.always = None
    assert judgements(server, cache, texts) == [POSITIVE] * 3


def test_two_wrong_models_by_turns_stop_the_audit_and_settle_nothing(server, cache):
    wrong = cycle([says(GOOD, model="judge-2"), says(GOOD, model="judge-3")])
    server.always = lambda handler, body: next(wrong)(handler, body)
    with pytest.raises(BadInputError, match="another model answered"):
        judgements(server, cache, ["a depression"])
    server.always = None
    assert judgements(server, cache, ["a depression"]) == [POSITIVE]
