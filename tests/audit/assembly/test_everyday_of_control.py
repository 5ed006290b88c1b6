"""Which everyday tasks the control model is asked."""

from types import SimpleNamespace
from typing import Any

import pytest

from clinaudit.audit.assembly.everyday import FEWEST_NEVER_SEEN, plan_for_control
from clinaudit.audit.measures.ordinary.record import Question
from clinaudit.audit.runtime.model.engines.protocol import GenerationRequest
from clinaudit.priors.renderings import ProbedTiers


@pytest.mark.parametrize(
    ("never_seen", "asks_control", "is_asked"),
    [(0, True, True), (FEWEST_NEVER_SEEN - 1, True, True), (FEWEST_NEVER_SEEN, True, False), (0, False, False)],
)
def test_it_is_asked_all_where_it_stands_for_too_few_never_seen(
    never_seen: int, *, asks_control: bool, is_asked: bool
) -> None:
    corpus = SimpleNamespace(patient_ids=lambda split: ["p"] * (never_seen if split == "nontrain" else 500))
    inputs: Any = SimpleNamespace(corpus=corpus, probed=ProbedTiers(("public",), asks_control=asks_control))
    questions = [
        Question(
            "t", "letter", "text", draw, GenerationRequest(f"o{draw}", (3,), "Write.", 9, temperature=heat, seed=4)
        )
        for draw, heat in (("greedy", 0.0), ("sampled", 1.0))
    ]
    asked = plan_for_control(questions, inputs)
    assert len(asked) == 2 * is_asked
    for question, own in zip(asked, questions, strict=False):
        assert question.request.key == f"c{own.request.key}"
        assert (question.draw, question.request.seed, question.request.prompt) == (own.draw, 4, "Write.")
