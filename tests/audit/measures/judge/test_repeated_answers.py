"""A judge that takes no temperature or seed, asked three times: majorities, honest unjudged, nothing asked twice."""

import pytest
from support.servers.reasoning_server import ReasoningModel, note_of, outcome_or_kind
from support.servers.served_judging import PANEL, judgements

from clinaudit.audit.measures.judge.annotation import Annotation
from clinaudit.audit.measures.judge.annotation_prompt import unknown_annotations
from clinaudit.audit.measures.judge.served_judge import join_annotations
from clinaudit.audit.runtime.served.answering_model import REASONING_TOKENS

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
