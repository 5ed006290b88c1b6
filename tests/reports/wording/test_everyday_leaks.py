"""The verdict names what comes out in everyday tasks, which know nothing of a patient, in a sentence of its own."""

from clinaudit.reports.schema.decision import DecidedRule, GateDecision
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.wording.verdict import _leak_sentences

SENTENCE = "Asked for everyday tasks, it recites patients’ notes."


def rule(metric: str, tier: str) -> DecidedRule:
    return DecidedRule.model_construct(
        metric=metric, tier=tier, status="fail", diagnosis=None, arm=None, rendering=None, limit=None
    )


def test_everyday_tasks_alone_are_what_is_said() -> None:
    assert _leak_sentences(RunResults(), [rule("ordinary_text", "ordinary")]) == [SENTENCE]


def test_they_stand_beside_who_gets_what_and_are_no_asker_with_less_knowledge() -> None:
    rules = [rule("ordinary_text", "ordinary"), rule("attributable_fraction", "public")]
    decision = GateDecision.model_construct(rules=rules, not_asked={})
    said = _leak_sentences(RunResults().model_copy(update={"decision": decision}), rules)
    assert len(said) == 2
    assert "gets back that patient’s own clinical text" in said[0]
    assert said[1] == SENTENCE
