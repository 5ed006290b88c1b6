"""The table of attacks: beside each row stand the rules on what it finds, and those of no other row."""

import pytest

from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, RuleStatus
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.attacks import attacks_table


def rule(metric: str, status: RuleStatus, rendering: str | None = None) -> DecidedRule:
    return DecidedRule.model_construct(metric=metric, status=status, rendering=rendering)


RULES = [
    rule("attributable_fraction", "pass"),
    rule("attributable_fraction", "pass", "facts"),
    rule("attributable_fraction", "fail", "samples"),
    rule("own", "inconclusive", "samples"),
    rule("own", "pass"),
    rule("hit_rate", "inconclusive", "chat"),
    rule("queries_needed", "fail"),
    rule("ordinary_text", "pass"),
]


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Continuation of what is known of a patient, six levels", "all 2 pass"),
        ("Identifiers, and whose they are", "all 1 pass"),
        ("Repeated questions, by the probabilities of the notes", "1 of 1 rule fail"),
        ("Repeated questions, answers drawn", "1 of 2 rules fail, 1 open"),
        ("The same questions in a chat", "1 open"),
        ("Ordinary tasks of a clinician", "all 1 pass"),
        ("Membership: whose notes were trained on", "–"),
    ],
)
def test_the_rules_of_a_row_are_those_on_what_it_finds(title: str, said: str) -> None:
    attacks = [Attack(name=name, status="run") for name in ATTACKS]
    decision = GateDecision.model_construct(rules=RULES)
    results = RunResults.model_construct(**dict(RunResults()) | {"attacks": attacks, "decision": decision})
    rows = {row[0]: row[3] for row in attacks_table(results).rows}
    assert rows[title] == said
