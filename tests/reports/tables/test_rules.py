"""The matrix of rules, their anchors, and the rules grouped by the reason they share."""

import pytest
from support.results.filled_published import BETTER, BROKEN, KEPT, NO_ADVANTAGE, PROVENANCE, SHORT, published

from clinaudit.reports.schema.decision import DecidedRule, GateDecision, Limit, RuleStatus
from clinaudit.reports.schema.identity import Identity, read_identity
from clinaudit.reports.schema.memorization import CopiedPieces
from clinaudit.reports.schema.numbers import ShownEstimate
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.institution import breach_factors_table, next_step_sentences, next_steps, subject_table
from clinaudit.reports.tables.rules import asker_rules, rule_groups, rule_matrix


def decision() -> GateDecision:
    found = published().decision
    assert found is not None
    return found


def rule(identifier: str, status: RuleStatus = "pass", **fields: object) -> DecidedRule:
    given: dict[str, object] = {
        "id": identifier,
        "question": "Is it?",
        "metric": "hit_rate",
        "tier": "encounter",
        "limit": Limit(max=0.05),
        "status": status,
        "observed": ShownEstimate(low=0.0, high=0.02),
        "reason": "",
        **fields,
    }
    return DecidedRule.model_validate(given)


def deciding(*rules: DecidedRule) -> GateDecision:
    return GateDecision(status="pass", policy="default", reason="", rules=list(rules))


def results(*rules: DecidedRule) -> RunResults:
    return RunResults(decision=deciding(*rules))


def test_tiers_go_down_and_diagnoses_across_each_cell_with_its_rule() -> None:
    matrix = rule_matrix(decision())
    assert matrix is not None
    assert matrix.columns[:2] == ("Own text", "Others’ text")
    assert "Recorded abortion" in matrix.columns
    signs = ["".join(cell.sign if cell else " " for cell in row.cells) for row in matrix.rows]
    assert signs == ["✓" * 8, "✓" * 8, "?✓" + "?" * 6, *["✗✓" + "✗" * 6] * 3]
    cell = matrix.rows[3].cells[matrix.columns.index("HIV")]
    assert cell is not None
    assert (cell.words, cell.part) == ("fails", "")


def test_a_cell_of_several_rules_shows_the_worst_and_how_many_are_as_bad_and_one_of_none_is_empty() -> None:
    matrix = rule_matrix(
        deciding(
            rule("a", "pass"),
            rule("b", "fail"),
            rule("c", "inconclusive"),
            rule("d", "pass", diagnosis="hiv", tier="public", metric="auroc_all"),
            rule("e", "inconclusive", tier="public_name"),
            rule("f", "inconclusive", tier="public_name"),
            rule("g", "pass", tier="public_name"),
            rule("h", "pass", tier="public_name_meds"),
            rule("i", "pass", tier="public_name_meds"),
        )
    )
    assert matrix is not None
    signs = [[cell and (cell.sign, cell.part) for cell in row.cells] for row in matrix.rows]
    assert signs == [
        [None, ("✓", "")],
        [("?", "2 of 3 rules open"), None],
        [("✓", ""), None],
        [("✗", "1 of 3 rules fail"), None],
    ]


def test_other_patients_text_is_a_column_and_either_arm_can_fail_it() -> None:
    matrix = rule_matrix(
        deciding(
            rule("a", "pass"),
            rule("b", "pass", metric="other_patient_fraction", arm="train"),
            rule("c", "fail", metric="other_patient_fraction", arm="nontrain"),
        )
    )
    assert matrix is not None
    assert matrix.columns == ("Own text", "Others’ text")
    (row,) = matrix.rows
    assert [(cell and cell.sign, cell and cell.part) for cell in row.cells] == [("✓", ""), ("✗", "1 of 2 rules fail")]


def test_without_rules_of_a_tier_there_is_no_matrix() -> None:
    assert rule_matrix(None) is None
    assert rule_matrix(deciding(rule("disclosure/auroc_all", "inconclusive", tier=None))) is None


def test_a_row_leads_to_the_rules_of_its_tier_all_of_them() -> None:
    matrix = rule_matrix(decision())
    askers = asker_rules(published())
    assert matrix is not None
    assert [(row.anchor, row.title) for row in matrix.rows][3] == ("rules-4", "Appointment reminder")
    assert [row.anchor for row in matrix.rows] == [asker.anchor for asker in askers]
    assert askers[3].title == "Appointment reminder"
    lines = [line for group in askers[3].groups for line in group.rules]
    expected = [one.question for one in decision().rules if one.tier == "encounter"]
    assert sorted(line.question for line in lines) == sorted(expected)
    assert [group.status for group in askers[3].groups] == ["fail", "fail", "pass"]


def test_a_rule_of_no_tier_is_anybodys_and_comes_last() -> None:
    hostile = '"><b>'
    askers = asker_rules(results(rule("disclosure/auroc_all", tier=None), rule("a", tier=hostile)))
    assert [(asker.anchor, asker.title) for asker in askers] == [("rules-1", hostile), ("rules-2", "Anyone")]
    assert asker_rules(RunResults()) == []


def test_rules_of_one_status_and_reason_are_one_group_failed_first() -> None:
    groups = rule_groups(published())
    assert [(group.status, group.number, group.reason) for group in groups] == [
        ("fail", 18, BETTER),
        ("fail", 3, BROKEN),
        ("inconclusive", 7, SHORT),
        ("pass", 14, KEPT),
        ("pass", 12, NO_ADVANTAGE),
    ]
    assert [group.title for group in groups[:3]] == ["18 rules fail", "3 rules fail", "7 rules cannot be decided"]
    assert groups[0].where == "6 diagnoses · Appointment reminder, + chief complaint, + history"
    assert groups[3].where.startswith("Own text and others’ text · Public facts, + name")
    assert groups[2].where == "Own text and 6 diagnoses · + medications"
    assert rule_groups(RunResults()) == []


def test_one_rule_is_one_rule() -> None:
    (group,) = rule_groups(results(rule("a", "fail", diagnosis="abortion", metric="auroc_all")))
    assert group.title == "1 rule fails"
    assert group.where == "A recorded abortion · Appointment reminder"


def test_a_rule_shows_its_limit_and_what_was_observed() -> None:
    (group,) = rule_groups(results(rule("a", observed=ShownEstimate(low=0.004, high=0.031))))
    (line,) = group.rules
    assert line.limit == "≤ 5%"
    assert line.observed == "0–4%"
    assert line.settled == ""


def test_open_rules_say_with_how_many_patients_they_would_be_decided() -> None:
    few = Limit(max=0.05, patients=72)
    group, *_ = rule_groups(
        results(
            rule("a", "inconclusive", limit=few),
            rule("b", "inconclusive", metric="auroc_all", diagnosis="hiv", limit=Limit(max=0.25, patients=108)),
            rule("c", "inconclusive", metric="auroc_all", diagnosis="hiv", limit=Limit(max=0.0)),
        )
    )
    assert [line.settled for line in group.rules] == [
        "72 patients",
        "108 in each group",
        "a number that this audit cannot tell",
    ]
    assert group.settled == "108 in each group, 72 patients, for some a number that this audit cannot tell"


@pytest.mark.parametrize(
    ("copies", "advice"),
    [
        ({"1": 0.99, "2": 0.01}, "Mitigate (de-identify notes"),
        ({"1": 0.8, "2": 0.2}, "Mitigate (remove copied-forward text, de-identify notes"),
        ({"1": None, "2": None}, "Mitigate (de-identify notes"),
        ({}, "Mitigate (de-identify notes"),
    ],
)
def test_only_copied_text_that_is_seen_is_to_be_removed(copies: dict[str, float | None], advice: str) -> None:
    results = published()
    train = results.memorization["encounter"]["train"].model_copy(
        update={"copy_forward": [CopiedPieces(notes=notes, share=share) for notes, share in copies.items()]}
    )
    results = results.model_copy(update={"memorization": {"encounter": {"train": train}}})
    assert any(step.startswith(advice) for step in next_step_sentences(results))


@pytest.mark.parametrize("status", ["pass", "fail", "incomplete", "inconclusive"])
def test_every_verdict_has_two_to_four_steps_each_a_sentence(status: str) -> None:
    results = published()
    assert results.decision is not None
    results = results.model_copy(update={"decision": results.decision.model_copy(update={"status": status})})
    steps = next_step_sentences(results)
    assert 2 <= len(steps) <= 4
    assert all(step.endswith(".") and "{" not in step for step in steps)
    assert all(step.target for step in next_steps(results) if step.link)


def test_a_pass_alone_never_advises_to_close_the_model() -> None:
    advice = {
        True: "Do not deploy or share the model or its files.",
        False: "Until then treat the model as one that may leak.",
    }
    assert advice[True] in next_step_sentences(published())
    assert advice[True] not in next_step_sentences(published(leaks_from=6, short_at=None))
    assert advice[False] in next_step_sentences(RunResults())


def test_the_first_factor_gives_the_share_and_who_asks() -> None:
    assert "70%, for someone who holds an appointment reminder" in breach_factors_table(published()).rows[0][1]
    assert "not measured" in breach_factors_table(RunResults()).rows[0][1]
    assert len(breach_factors_table(published()).rows) == 4


def test_what_is_signed_is_prefilled_with_what_is_known() -> None:
    rows = {row[0]: row[1] for row in subject_table(published(), read_identity(PROVENANCE), "abababababab…").rows}
    assert rows["Institution"] == "St. Invented Hospital"
    assert rows["Model"] == "Ward notes 1.5B (digest abababababab…)"
    assert rows["Verdict"] == "Fail: this model recites patients’ notes and reveals diagnoses"
    assert rows["Policy"] == (
        "default: fails for 3 of 6 kinds of asker; 1 could not be decided, 2 passed (21 of 54 rules fail, 7 undecided,"
        " 26 pass)"
    )
    assert rows["Purpose of the model"] == ""
    blank = {row[0]: row[1] for row in subject_table(RunResults(), Identity(), None).rows}
    assert (blank["Model"], blank["Policy"]) == ("", "none")
