"""A judge that takes no temperature or seed, asked three times: majorities, honest unjudged, nothing asked twice."""

import json

import pytest
from support.servers.fault_server import is_silent, status
from support.servers.reasoning_server import ReasoningModel, note_of, outcome_or_kind
from support.servers.served_judging import DEPRESSION, PANEL, POSITIVE, asked, judge_at, judgements

from clinaudit.audit.measures.judge.annotation import Annotation, PatientHistory
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.served_judge import join_annotations
from clinaudit.audit.runtime.served.answering_model import REASONING_TOKENS
from clinaudit.audit.runtime.served.question import AskingEstimate
from clinaudit.errors import BadInputError, IncompleteError

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


def test_a_seed_that_is_not_sent_changes_no_answer_that_was_kept(server, cache):
    server.always = ReasoningModel()
    first = judgements(server, cache, [note_of("ppn")], seed=1, **AS_THE_PROVIDER)
    assert judgements(server, cache, [note_of("ppn")], seed=2, **AS_THE_PROVIDER) == first
    assert len(server.seen) == 3


def test_a_model_that_takes_no_seed_is_told_from_one_that_answers_nothing(server, cache):
    server.always = ReasoningModel()
    with pytest.raises(BadInputError, match="--judge-decoding provider-default"):
        judgements(server, cache, [note_of("ppp", number) for number in range(50)])
    # Found out by questions without notes: of the others only what was begun meanwhile was sent.
    assert sum("case" in json.dumps(body) for _, body in server.seen) <= 16
    assert judgements(server, cache, [note_of("ppp")], **AS_THE_PROVIDER)[0].verdict == POSITIVE


def test_an_older_server_is_asked_with_max_tokens(server, cache):
    server.always = ReasoningModel(refuses=("max_completion_tokens",))
    found = judgements(server, cache, [note_of("ppp", number) for number in range(30)])
    assert {judgement.verdict for judgement in found} == {POSITIVE}
    assert cache.usage().calls == len(server.seen) == 30


def test_a_server_without_room_to_reason_is_told_what_it_must_take(server, cache):
    server.always = lambda handler, body: (
        status(400) if body["max_completion_tokens"] > REASONING_TOKENS else ReasoningModel()
    )(handler, body)
    with pytest.raises(BadInputError, match="with 25,000 tokens beside those of an answer"):
        judgements(server, cache, [note_of("ppp")], **AS_THE_PROVIDER)


def test_stopped_in_the_middle_and_run_again_asks_nothing_twice(server, cache):
    server.always = ReasoningModel()
    texts = [note_of(plan, number) for number, plan in enumerate(("ppn", "pno", "oxo", "nna", "rrp", "ssa"))]
    server.faults[texts[3]] = [is_silent] * 9
    with (
        asked(server, cache, texts, deadline_s=1.0, retries=0, **AS_THE_PROVIDER) as stream,
        pytest.raises(IncompleteError, match="questions got no answer"),
    ):
        list(stream)
    server.faults.clear()
    answered = {text: server.asked_about(text) for text in texts}
    found = judgements(server, cache, texts, **AS_THE_PROVIDER)
    assert [outcome_or_kind(judgement) for judgement in found] == [
        "positive",
        "no_majority",
        "not_mentioned",
        "negative",
        "refused",
        "without_span",
    ]
    # Asked again is what got no answer, each time of the three.
    assert {text: server.asked_about(text) - count for text, count in answered.items()} == {
        text: 3 if text == texts[3] else 0 for text in texts
    }
    assert cache.usage().calls == 3 + 3 + 4 + 3 + 5 + 5
    judgements(server, cache, texts, **AS_THE_PROVIDER)
    assert {text: server.asked_about(text) - count for text, count in answered.items()}[texts[3]] == 3


def test_all_three_answers_are_estimated_and_counted(server, cache):
    server.always = ReasoningModel()
    estimates: list[AskingEstimate] = []
    judge = judge_at(server, **AS_THE_PROVIDER)
    judge.use_cache(cache, announce=estimates.append)
    list(judge.judge_many([(note_of("ppp", number), DEPRESSION) for number in range(4)]))
    (estimate,) = estimates
    assert (estimate.questions, estimate.answers_each) == (12, 3)
    assert estimate.most_answer_tokens > 12 * REASONING_TOKENS
    assert estimate.describe().startswith("12 questions to ask (each question 3 times), about")
    assert cache.usage().calls == 12
    assert (cache.usage().prompt_tokens, cache.usage().completion_tokens) == (12 * 100, 12 * 10)


def annotated(*present: bool | None) -> list[Annotation]:
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


def test_notes_are_annotated_three_times_as_well(server, cache):
    server.always = ReasoningModel()
    judge = judge_at(server, **AS_THE_PROVIDER)
    judge.use_cache(cache)
    (rows,) = judge.annotate_many(lambda: [PatientHistory(["(f33.1)"], "", "", [])], PANEL)
    assert {row.diagnosis: row.present for row in rows}["depression"] is True
    assert len(server.seen) == 3
