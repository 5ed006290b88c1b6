"""The table of attacks: what was run, and what the rules about each attack decided."""

from clinaudit.audit.results.ranges.attacks import list_attacks
from clinaudit.reports.schema.attacks import ATTACKS, MembershipResults
from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit, RuleStatus
from clinaudit.reports.schema.numbers import ShownEstimate, exactly
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.attacks import attacks_table


def rule(metric: str, status: RuleStatus, rendering: str | None = None) -> DecidedRule:
    limit = Limit(max=0.05)
    observed = ShownEstimate(value=0.0)
    return DecidedRule(
        id=metric,
        question="",
        metric=metric,
        rendering=rendering,
        limit=limit,
        status=status,
        observed=observed,
        reason="",
    )


def results_of(*rules: DecidedRule) -> RunResults:
    decision = GateDecision(status="fail", policy="", reason="", rules=list(rules))
    results = RunResults(decision=decision)
    return results.model_copy(update={"attacks": list_attacks(results, release="api"), "release": "api"})


def test_each_rule_is_counted_with_the_attack_that_it_is_about_and_with_no_other() -> None:
    results = results_of(
        rule("attributable_fraction", "pass"),
        rule("memorized_fraction", "pass", "chat"),
        rule("attributable_fraction", "inconclusive", "chat"),
        rule("auroc_all", "fail", "chat"),
        rule("own", "inconclusive"),
        rule("queries_needed", "fail"),
        rule("queries_needed", "pass"),
        rule("ordinary_text", "pass"),
    )
    found = dict(zip(ATTACKS, [row[3] for row in attacks_table(results).rows], strict=True))
    assert {name: said for name, said in found.items() if said != "–"} == {
        "continuation": "all 1 pass",
        "chat": "1 of 3 rules fail, 1 open",
        "identifiers": "1 open",
        "queries_needed": "1 of 2 rules fail",
        "ordinary_use": "all 1 pass",
    }


def test_what_measured_nothing_was_not_run() -> None:
    none = ShownEstimate(reason="too few")
    figures = dict.fromkeys(("auroc", "found_at_10", "found_at_1", "p_value"), none)
    few = MembershipResults(
        score="loss", is_interpretable=None, differ_in=[], never_seen=exactly(3), trained={}, **figures
    )
    for membership, status in ((few, "not run"), (few.model_copy(update={"is_interpretable": False}), "run")):
        listed = list_attacks(RunResults(membership=membership), release=None)
        assert next(attack.status for attack in listed if attack.name == "membership") == status


def test_what_was_not_run_says_so_and_the_note_says_how_the_model_gets_out() -> None:
    table = attacks_table(results_of())
    statuses = dict(zip(ATTACKS, [row[1] for row in table.rows], strict=True))
    assert {name for name, status in statuses.items() if status == "not applicable"} == {"fine_tuning", "gradients"}
    assert {status for name, status in statuses.items() if name not in ("fine_tuning", "gradients")} == {"not run"}
    assert "asked from outside" in table.note
    assert attacks_table(RunResults()).rows == ()
