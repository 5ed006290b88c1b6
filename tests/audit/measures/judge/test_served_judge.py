"""Verdicts of the served judge: in order, and none of an answer that cannot be used."""

import gzip
from dataclasses import replace

import pytest
from support.servers import fault_server
from support.servers.fault_server import MODEL, Fault, Meeting, floods, raw, says
from support.servers.served_judging import GOOD, POSITIVE, SECRET, changed, judgements

from clinaudit.audit.measures.judge.served_judge import VERDICT_SCHEMA
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.audit.runtime.served.answering_model import REASONING_TOKENS


def test_judges_in_order_and_asks_as_the_contract_says(server, cache):
    texts = [f"note {number} {'depression' if number % 3 else 'fine'}" for number in range(40)]
    server.always = meeting = Meeting(4)
    found = judgements(server, cache, texts, api_key="hunter2", seed=7)
    assert found == [POSITIVE if "depression" in text else Verdict(False) for text in texts]
    assert {(verdict.attempts, verdict.invalid_reason) for verdict in found} == {(1, None)}
    assert meeting.most == 4
    headers, body = server.seen[0]
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == "Bearer hunter2"
    assert (body["model"], body["temperature"], body["seed"], body["n"]) == (MODEL, 0.0, 7, 1)
    assert body["response_format"]["json_schema"]["schema"] == VERDICT_SCHEMA
    assert body["response_format"]["json_schema"]["strict"] is True


INVALID: dict[str, tuple[Fault, str]] = {
    "prose": (says("The patient has depression."), "not one JSON object"),
    "empty": (says(""), "refused"),
    "blank": (says(" \n"), "refused"),
    "truncated": (says(GOOD[:-9]), "not one JSON object"),
    "a name twice": (says(GOOD[:-1] + ', "diagnosis_mentioned": true}'), "not one JSON object"),
    "NaN": (says(changed(symptom_spans=float("nan"))), "not one JSON object"),
    "deep": (says("[" * 30_000), "not one JSON object"),
    "bool as number": (says(changed(diagnosis_mentioned=1)), "schema"),
    "an answer to another question": (says(changed(question="Q00000000")), "does not repeat the id"),
    "an invented span": (says(changed(diagnosis_spans=["major depression"])), "not in the text"),
    "a lone surrogate": (says(GOOD.replace('"depression"', '"\\ud800"')), "not in the text"),
    "cut off": (says(GOOD, finish="length"), "cut off"),
    "filtered": (says(GOOD, finish="content_filter"), "refused"),
    "no finish": (says(GOOD, choices=[{"index": 0, "message": {"content": GOOD}}]), "cut off"),
    "tool call": (says(GOOD, finish="tool_calls"), "called a tool instead of answering"),
    "tool call that ends by stop": (
        says("", choices=[{"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "stop"}]),
        "called a tool instead of answering",
    ),
    "a word of its own": (says(GOOD, finish="because"), "a word that is not known here"),
    "a note for a word": (says(GOOD, finish=SECRET), "a word that is not shown"),
    "another model": (says(GOOD, model="judge-2"), f"another model answered: judge-2 instead of {MODEL}"),
    "a dated name": (says(GOOD, model=f"{MODEL}-2024-08-06"), f"answered: {MODEL}-2024-08-06 instead of {MODEL}"),
    "a note for a name": (says(GOOD, model=SECRET), "another model answered: a name that is not shown instead"),
    "no model": (says(GOOD, model=None), "another model answered: a name that is not shown instead"),
    "a thought apart and no answer": (
        says("", choices=[{"message": {"content": "", "reasoning": "Let me see."}, "finish_reason": "stop"}]),
        "thought and gave no answer",
    ),
    "a thought without an end": (says(f"<think>Let me see.\n{GOOD}"), "a thought (<think>) without an end"),
    "two thoughts": (says(f"<think>a</think>b</think>{GOOD}"), "not one JSON object"),
    "two choices": (
        says(GOOD, choices=[{"message": {"content": GOOD}, "finish_reason": "stop"}] * 2),
        "does not hold one choice",
    ),
    "no choice": (says(GOOD, choices=[]), "does not hold one choice"),
    "content null": (says(None), "refused"),
    "content in parts": (says([{"type": "text", "text": GOOD}]), "gave no answer"),
    "refusal": (
        says("", choices=[{"message": {"content": GOOD, "refusal": "I cannot"}, "finish_reason": "stop"}]),
        "refused",
    ),
    "empty and cut off": (says("", finish="length"), "cut off"),
    "no message": (says("", choices=[{"message": None, "finish_reason": "stop"}]), "gave no answer"),
    "not JSON": (raw(b"<html>busy</html>"), "unreadable answer"),
    "not UTF-8": (raw(b'{"model": "\xff\xfe"}'), "unreadable answer"),
    "an event stream": (raw(b"data: {}\n\ndata: [DONE]\n\n"), "unreadable answer"),
    "an endless body": (floods, "larger than any answer"),
    "compressed": (raw(gzip.compress(b" " * 10_000_000), content_encoding="gzip"), "larger than any answer"),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_unusable_answer_is_asked_for_again_once_then_unjudged(server, cache, name):
    fault, reason = INVALID[name]
    server.faults["once depression"] = [fault]
    server.faults["twice depression"] = [fault, fault]
    once, twice = judgements(server, cache, ["once depression", "twice depression"])
    assert once == replace(POSITIVE, attempts=2)
    assert twice == Verdict(None, attempts=2, invalid_reason=twice.invalid_reason)
    assert reason in (twice.invalid_reason or "")
    assert server.asked_about("twice depression") == 2
    # The second time the model is told why.
    last = next(body for _, body in reversed(server.seen) if fault_server.first_note(body) == "twice depression")
    assert "could not be used" in last["messages"][-1]["content"]


@pytest.mark.parametrize(
    "said",
    [
        f"<think>\nLet me see: {{}}.\n</think>\n\n{GOOD}",
        f"Let me see.</think>{GOOD}",
        f"<thinking>Hm.</thinking>\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```",
        f"\n```\n{GOOD}\n```  \n",
    ],
)
def test_a_thought_before_the_object_and_a_fence_around_it_are_taken_off_and_a_thought_is_said(
    server, cache, said, capsys
):
    server.always = says(said)
    found = judgements(server, cache, [SECRET, "b depression", "c depression"])
    assert found == [POSITIVE] * 3
    assert capsys.readouterr().err.count("a thought (<think>) stands before answers") == ("think" in said)


def test_as_the_provider_decodes_neither_temperature_nor_seed_is_sent_and_there_is_room_to_reason(server, cache):
    judgements(server, cache, [SECRET], seed=7, decoding="provider-default")
    ((_, body),) = server.seen
    assert not {"temperature", "seed", "max_tokens"} & set(body)
    assert body["max_completion_tokens"] > REASONING_TOKENS
    # What was answered stands, whatever the seed.
    judgements(server, cache, [SECRET], seed=8, decoding="provider-default")
    assert len(server.seen) == 1
