"""What closes open rules, joined over rules."""

from itertools import permutations

from clinaudit.reports.schema.verdict import Rule
from clinaudit.reports.wording.first_screen import by_action


def open_rule(action: str) -> Rule:
    return Rule.model_construct(status="inconclusive", action=action, reason="")


def test_actions_that_differ_in_a_number_are_one_whatever_their_order() -> None:
    rules = [
        open_rule("Audit more patients: about 100 trained on."),
        open_rule("Audit more patients: about 100 trained on, and as many never seen."),
        open_rule("Audit more patients: about 50 trained on."),
    ]
    for order in permutations(rules):
        ((action, of),) = by_action(order)
        assert action == "Audit more patients: about 50 to 100 trained on, and as many never seen."
        assert of == list(order)
