"""The matrix of rules, their anchors, and the rules grouped by the reason they share."""

from support.results.filled_published import BETTER, BROKEN, KEPT, NO_ADVANTAGE, SHORT, published

from clinaudit.reports.schema.decision import Limit, PublishedDecision, PublishedRule, RuleStatus
from clinaudit.reports.schema.numbers import PublishedEstimate
from clinaudit.reports.tables.rules import rule_anchors, rule_groups, rule_matrix


def decision() -> PublishedDecision:
    found = published().decision
    assert found is not None
    return found


def rule(identifier: str, status: RuleStatus = "pass", **fields: object) -> PublishedRule:
    given: dict[str, object] = {
        "id": identifier,
        "question": "Is it?",
        "metric": "hit_rate",
        "tier": "encounter",
        "limit": Limit(max=0.05),
        "status": status,
        "observed": PublishedEstimate(low=0.0, high=0.02),
        "reason": "",
        **fields,
    }
    return PublishedRule.model_validate(given)


def deciding(*rules: PublishedRule) -> PublishedDecision:
    return PublishedDecision(status="pass", policy="default", reason="", rules=list(rules))


def test_tiers_go_down_and_diagnoses_across_each_cell_with_its_rule() -> None:
    matrix = rule_matrix(decision())
    assert matrix is not None
    assert matrix.columns[:2] == ("Own notes repeated", "Others’ notes")
    assert "Recorded abortion" in matrix.columns
    signs = ["".join(cell.sign if cell else " " for cell in row.cells) for row in matrix.rows]
    assert signs == ["✓" * 8, "✓" * 8, "?✓" + "?" * 6, *["✗✓" + "✗" * 6] * 3]
    cell = matrix.rows[3].cells[matrix.columns.index("HIV")]
    assert cell is not None
    assert (cell.words, cell.anchor) == ("fails", "rule-disclosure-auroc_all-hiv-encounter")


def test_a_cell_of_several_rules_shows_the_worst_and_one_of_none_is_empty() -> None:
    matrix = rule_matrix(
        deciding(
            rule("a", "pass"),
            rule("b", "fail"),
            rule("c", "inconclusive"),
            rule("d", "pass", diagnosis="hiv", tier="public", metric="auroc_all"),
        )
    )
    assert matrix is not None
    public, encounter = matrix.rows
    assert [cell and cell.anchor for cell in public.cells] == [None, "rule-d"]
    assert [cell and cell.anchor for cell in encounter.cells] == ["rule-b", None]


def test_other_patients_text_is_a_column_and_either_arm_can_fail_it() -> None:
    matrix = rule_matrix(
        deciding(
            rule("a", "pass"),
            rule("b", "pass", metric="other_patient_fraction", arm="train"),
            rule("c", "fail", metric="other_patient_fraction", arm="nontrain"),
        )
    )
    assert matrix is not None
    assert matrix.columns == ("Own notes repeated", "Others’ notes")
    (row,) = matrix.rows
    assert [(cell and cell.sign, cell and cell.anchor) for cell in row.cells] == [("✓", "rule-a"), ("✗", "rule-c")]


def test_without_rules_of_a_tier_there_is_no_matrix() -> None:
    assert rule_matrix(None) is None
    assert rule_matrix(deciding(rule("disclosure/auroc_all", "inconclusive", tier=None))) is None


def test_anchors_are_distinct_and_hold_no_sign_of_markup() -> None:
    anchors = rule_anchors(deciding(rule("x/y"), rule("x/y"), rule('"><b>'), rule("x-y"), rule("x y")))
    assert anchors == ["rule-x-y", "rule-x-y--2", "rule-b", "rule-x-y--3", "rule-x-y--4"]


def test_rules_of_one_status_and_reason_are_one_group_failed_first() -> None:
    groups = rule_groups(decision())
    assert [(group.status, group.number, group.reason) for group in groups] == [
        ("fail", 18, BETTER),
        ("fail", 3, BROKEN),
        ("inconclusive", 7, SHORT),
        ("pass", 14, KEPT),
        ("pass", 12, NO_ADVANTAGE),
    ]
    assert [group.title for group in groups[:3]] == ["18 rules fail", "3 rules fail", "7 rules cannot be decided"]
    assert groups[0].where == "6 diagnoses · Appointment reminder, + chief complaint, + history"
    assert groups[3].where.startswith("Own notes repeated and others’ notes · Public facts, + name")
    assert groups[2].where == "Own notes repeated and 6 diagnoses · + medications"
    assert {line.anchor for group in groups for line in group.rules} == set(rule_anchors(decision()))
    assert rule_groups(None) == []


def test_one_rule_is_one_rule() -> None:
    (group,) = rule_groups(deciding(rule("a", "fail", diagnosis="abortion", metric="auroc_all")))
    assert group.title == "1 rule fails"
    assert group.where == "A recorded abortion · Appointment reminder"


def test_a_rule_shows_its_limit_and_what_was_observed() -> None:
    (group,) = rule_groups(deciding(rule("a", observed=PublishedEstimate(low=0.004, high=0.031))))
    (line,) = group.rules
    assert line.limit == "≤ 5%"
    assert line.observed == "0–4%"
    assert line.asker == "Appointment reminder"
