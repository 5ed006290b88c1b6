"""Rules of a tier that was asked in two forms, and of one whose prompts do not fit the notes of the patients asked."""

from dataclasses import replace

import pytest
from support.results.decided_results import LEAK, POLICY, Compared, Run, Text, decide

from clinaudit.audit.results.gate import reasons
from clinaudit.priors.tiers import FRAGMENT_TIERS
from clinaudit.reports.schema.decision import Status


@pytest.mark.parametrize(
    ("prompts", "status"),
    [
        ((100, 0), "pass"),
        # 91 to 100 and 1 to 10: the low end is 91 of 101.
        ((100, 1), "pass"),
        ((90, 10), "inconclusive"),
        ((0, 100), "inconclusive"),
    ],
)
def test_a_tier_asked_in_other_words_than_its_notes_never_passes(prompts: tuple[int, int], status: Status) -> None:
    decision = decide(POLICY, Run(prompts=prompts))
    assert decision.status == status
    for rule in decision.rules:
        if rule.status == "inconclusive":
            of_fragment = rule.tier in FRAGMENT_TIERS
            assert rule.reason == (reasons.too_few_unbroken(0.9) if of_fragment else reasons.too_few_own_facts(0.9))


def test_a_poor_fit_excuses_no_failure() -> None:
    run = Run(train=Text(0.2, 0.3), pairs={"hiv": Compared(LEAK)}, prompts=(0, 100))
    assert [rule.status for rule in decide(POLICY, run).rules] == ["fail", "fail"]
    assert decide(POLICY, run).rules[0].reason == reasons.BEYOND_LIMIT


def test_a_policy_may_ask_less() -> None:
    lenient = replace(POLICY, minimum_unbroken_share=0.5)
    assert decide(lenient, Run(prompts=(70, 30))).status == "pass"


def test_each_form_has_its_rules_and_the_worse_decides() -> None:
    leak = Run(train=Text(0.2, 0.3), pairs={"hiv": Compared(LEAK)})
    decision = decide(POLICY, Run(facts=leak, prompts=(100, 0)))
    assert [(rule.id, rule.rendering, rule.status) for rule in decision.rules] == [
        ("memorization/attributable_fraction/public", None, "pass"),
        ("memorization/attributable_fraction/public/facts", "facts", "fail"),
        ("disclosure/auroc_all/hiv/public", None, "pass"),
        ("disclosure/auroc_all/hiv/public/facts", "facts", "fail"),
    ]
    assert decision.status == "fail"
    assert "the facts alone" in decision.rules[1].question
    # The fit of the openings says nothing of the facts alone.
    fits = decide(POLICY, Run(facts=Run(), prompts=(0, 100)))
    assert [rule.status for rule in fits.rules] == ["inconclusive", "pass", "inconclusive", "pass"]
