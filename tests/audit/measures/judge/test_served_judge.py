"""Verdicts of the served judge: in order, majorities of three, and none of an answer that cannot be used."""

import gzip

import pytest
from support.servers import fault_server
from support.servers.fault_server import MODEL, Fault, Meeting, floods, raw, says
from support.servers.reasoning_server import ReasoningModel, note_of, outcome_or_kind
from support.servers.served_judging import GOOD, PANEL, POSITIVE, SECRET, changed, judgements

from clinaudit.audit.measures.judge.annotation import Annotation
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.served_judge import join_annotations
from clinaudit.audit.measures.judge.verdict import Verdict
from clinaudit.audit.measures.judge.verdict_prompt import VERDICT_SCHEMA
from clinaudit.audit.runtime.served.answering_model import REASONING_TOKENS


def test_judges_in_order_and_asks_as_the_contract_says(server, cache):
    texts = [f"note {number} {'depression' if number % 3 else 'fine'}" for number in range(40)]
    server.always = meeting = Meeting(4)
    found = judgements(server, cache, texts, api_key="hunter2", seed=7)
    assert [judgement.verdict for judgement in found] == [
        POSITIVE if "depression" in text else Verdict(False, None) for text in texts
    ]
    assert {(judgement.judge, judgement.attempts, judgement.invalid_reason) for judgement in found} == {
        ("openai", 1, None)
    }
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
    assert (once.verdict, once.attempts, once.invalid_reason) == (POSITIVE, 2, None)
    assert (twice.verdict, twice.attempts) == (None, 2)
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
    ],
)
def test_a_thought_before_the_object_is_taken_off_and_said_once(server, cache, said, capsys):
    server.always = says(said)
    found = judgements(server, cache, [SECRET, "b depression", "c depression"])
    assert [(judgement.verdict, judgement.attempts) for judgement in found] == [(POSITIVE, 1)] * 3
    assert capsys.readouterr().err.count("a thought (<think>) stands before answers") == 1


def test_a_fence_around_the_object_is_taken_off(server, cache):
    server.faults["a depression"] = [says(f"```json\n{GOOD}\n```")]
    server.faults["b depression"] = [says(f"\n```\n{GOOD}\n```  \n")]
    found = judgements(server, cache, ["a depression", "b depression"])
    assert [(judgement.verdict, judgement.attempts) for judgement in found] == [(POSITIVE, 1)] * 2


AS_THE_PROVIDER = {"decoding": "provider-default"}
#: Three answers (letters of the server's plan), and the class that counts, or why there is none.
CASES = """
ppp positive       nnn negative       aaa ambiguous      ooo not_mentioned
ppn positive       pnp positive       npp positive       ppa positive
ppo positive       poo not_mentioned  oop not_mentioned  ono not_mentioned
nna negative       nno negative       aao ambiguous      aoa ambiguous
ppx positive       xpp positive       pse positive       spe positive
nnr negative       rnn negative       nxn negative       nfn negative
aas ambiguous      saa ambiguous      oox not_mentioned  roo not_mentioned
oos not_mentioned  obo not_mentioned  eee positive       epn positive
pna no_majority    pno no_majority    aon no_majority    opa no_majority
nap no_majority    noa no_majority    pnx no_majority    pxo no_majority
xao no_majority    rpn no_majority    nra no_majority    osp no_majority
spa no_majority    oen no_majority    prr refused        rfp refused
orr refused        bbo refused        rrr refused        bff refused
nss without_span   sos without_span   sss without_span   axx unusable
xox unusable       xxx unusable       rsx unusable       rrx refused
"""
TABLE = [tuple(CASES.split()[place : place + 2]) for place in range(0, len(CASES.split()), 2)]


def test_what_two_of_three_usable_answers_share_counts_in_sixty_cases(server, cache):
    server.always = ReasoningModel()
    assert len(TABLE) == 60
    texts = [note_of(plan, number) for number, (plan, _) in enumerate(TABLE)]
    found = judgements(server, cache, texts, **AS_THE_PROVIDER)
    assert [(plan, outcome_or_kind(judgement)) for (plan, _), judgement in zip(TABLE, found, strict=True)] == TABLE
    for (plan, _), judgement in zip(TABLE, found, strict=True):
        usable = sum(letter in "pnaoe" for letter in plan)
        assert len(judgement.answers) - judgement.answers.count("unjudged") == usable, plan
        # What cannot be used is asked for once more.
        assert judgement.attempts == 3 + (3 - usable), plan


def test_the_request_has_neither_temperature_nor_seed_and_room_to_reason(server, cache):
    server.always = ReasoningModel()
    judgements(server, cache, [note_of("ppp")], seed=7, **AS_THE_PROVIDER)
    assert len(server.seen) == 3
    for _, body in server.seen:
        assert not {"temperature", "seed", "max_tokens"} & set(body)
        assert body["max_completion_tokens"] > REASONING_TOKENS


def annotated(*present):
    """An answer that says so of the panel's first diagnosis, and of the others that they are absent."""
    rows = unknown_annotations(PANEL)
    first = Annotation(PANEL[0].id, present[0], False, False, (), (), (f"span {len(present)}",), (), ())
    return [first, *(Annotation(row.diagnosis, False, False, False, (), (), (), (), ()) for row in rows[1:])]


@pytest.mark.parametrize(
    ("answers", "present"),
    [
        ((True, True, False), True),
        ((False, True, False), False),
        ((None, True, None), None),
        ((True, "none", True), True),
        ((True, "none", "none"), None),
        ((True, False, None), None),
        (("none", "none", "none"), None),
    ],
)
def test_labels_are_what_two_answers_share(answers, present):
    rows = join_annotations([None if answer == "none" else annotated(answer) for answer in answers], PANEL)
    assert [row.diagnosis for row in rows] == [diagnosis.id for diagnosis in PANEL]
    assert rows[0].present is present
    usable = sum(answer != "none" for answer in answers)
    assert {row.present for row in rows[1:]} == {False if usable > 1 else None}
