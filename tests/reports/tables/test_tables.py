"""Tables: every row of the table of estimates stands in one cell; a rule reads its own rows, and its chance."""

import dataclasses
import re

from support.compared_results import compared
from support.invented_estimates import invented_estimates

from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates, at
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.certificate import AnswerCheck
from clinaudit.reports.schema.run_results import Rule, RunResults, Verdict
from clinaudit.reports.tables.comparison import change_tables, health_table
from clinaudit.reports.tables.estimates import EstimateTable, estimate_tables, evidence_address
from clinaudit.reports.tables.run_facts import attacks_table, guards_table
from clinaudit.reports.wording.rule_rows import rule_rows


def shown(*rows: Row) -> list[EstimateTable]:
    return estimate_tables(Estimates(as_estimates(rows)))


def test_every_figure_is_shown_once_and_under_a_name_of_its_own() -> None:
    table = invented_estimates(forms=("text", "chat"))
    found = estimate_tables(Estimates(table))
    assert len({each.id for each in found}) == len(found)
    filled = [cell for each in found for _, cells in each.rows for cell in cells if cell.text]
    assert len(filled) == table.height
    for each in found:
        assert len({heads for heads, _ in each.rows}) == len(each.rows)
        assert {len(cells) for _, cells in each.rows} == {len(each.heads)}
        assert {len(heads) for heads, _ in each.rows} == {len(each.row_heads)}


def test_a_hidden_count_reads_as_its_bound() -> None:
    hidden = {"low": 0.0, "high": 0.08, "of_low": 130, "of_high": 130}
    few = Row("hit_rate", "text", "public", "train", **hidden, count_low=1, count_high=10)
    many = few._replace(arm="nontrain", low=0.92, high=1.0, count_low=120, count_high=129)
    (table,) = shown(few, many)
    assert [(cell.text, cell.detail) for cell in table.rows[0][1]] == [
        ("<8.5% (0 to 8)", "<11 of 130"),
        (">91% (92 to 100)", ">119 of 130"),
    ]


def test_a_figure_leads_to_its_texts_and_only_in_the_exact_report() -> None:
    row = at("auroc", form="chat", tier="public", arm="train", diagnosis="hiv")._replace(value=0.5)
    other = row._replace(tier="encounter")
    assert evidence_address(row) == "#tier=public&arm=train&form=chat&diagnosis=hiv"
    assert evidence_address(row._replace(diagnosis="mean")) == "#tier=public&arm=train&form=chat"
    for arm in ("control", "train-nontrain", ""):
        assert evidence_address(row._replace(arm=arm)) == ""
    table = as_estimates([row, other])
    (inside,), (outside,) = (estimate_tables(Estimates(table), is_exact=exact) for exact in (True, False))
    assert inside.rows[0][1][0].link == evidence_address(row)
    assert outside.rows[0][1][0].link == ""
    assert dataclasses.replace(inside.rows[0][1][0], link="") == outside.rows[0][1][0]


def test_a_figure_that_is_not_there_is_a_dash_and_its_reason_stands_above_the_table_once() -> None:
    few, none = "a count of 1 to 10 patients is a part of it", "there was nothing to count"
    rows = [
        at("hit_rate", tier="public", arm=arm)._replace(reason=reason)
        for arm, reason in (("train", few), ("nontrain", none))
    ]
    (table,) = shown(*rows, at("hit_rate", tier="encounter", arm="train")._replace(reason=few))
    assert [[cell.text for cell in cells] for _, cells in table.rows] == [["– [1]", "– [2]"], ["– [1]", ""]]
    assert table.note.endswith("[1] A count of 1 to 10 patients is a part of it. [2] There was nothing to count.")
    (lone,) = shown(at("everyday_patients")._replace(reason=none))
    assert lone.rows[0][1][0].text == "– [1]"
    assert "[1] There" in lone.rows[0][0][1]


def test_the_published_table_shows_no_count_of_one_to_ten() -> None:
    found = estimate_tables(Estimates(publish(invented_estimates(forms=("text", "chat")))))
    texts = [text for each in found for _, cells in each.rows for cell in cells for text in (cell.text, cell.detail)]
    counts = [int(text.split()[0]) for text in texts if re.fullmatch(r"\d+ of [\d,]+", text)]
    assert len(counts) > 100
    assert not {*range(1, 11)} & {*counts}
    assert any(text.startswith("<11 of ") for text in texts)
    # A dash says why.
    assert "–" not in texts
    assert any(text.startswith(">") for text in texts)


def test_a_guard_shows_its_worst_place() -> None:
    rows = [
        at("long_answers", form="text", tier=tier, arm="train")._replace(value=value)
        for tier, value in (("public", 0.97), ("encounter", 0.62), ("encounter_cc", 0.93))
    ]
    rows += [at("refused", form="chat", tier="public", arm=arm)._replace(value=0.01) for arm in ("train", "nontrain")]
    rows.append(at("refused", form="chat", tier="encounter", arm="nontrain")._replace(value=0.3))
    # Guards read no answers of the control.
    rows.append(at("refused", form="chat", tier="encounter", arm="control")._replace(value=0.9))
    table = guards_table(Estimates(as_estimates(rows)))
    assert [row[1:4] for row in table.rows] == [
        ("at least 90%", "62%", "Appointment reminder, trained on"),
        ("at most 20%", "30%", "Appointment reminder, in a chat, never seen"),
    ]


def a_rule(metric: str, **fields: str) -> Rule:
    return Rule(id=metric, kind="own", question="?", metric=metric, limit=0.05, status="pass", reason="", **fields)


OWN, OTHERS = "attributable_fraction", "other_identifiers"


def read(rule: Rule, rows: list[Row]) -> list[float | None]:
    """Return the figures of a rule: its own, in a pool, of chance, beyond chance."""
    found = rule_rows(rule, Estimates(as_estimates(rows)))
    return [row and row.value for row in (found.figure, found.pooled, found.chance, found.beyond)]


def test_a_rule_reads_its_figure_its_chance_and_what_goes_beyond() -> None:
    place = {"form": "text", "tier": "public"}
    by_arm = {"train": 0.2, "control": 0.05, "train-control": 0.15}
    rows = [at(OWN, **place, arm=arm)._replace(value=value) for arm, value in by_arm.items()]
    rule = a_rule(OWN, **place, arm="train", chance_metric=OWN, chance_arm="control")
    assert read(rule, rows) == [0.2, None, 0.05, 0.15]
    # Where chance was not known, none is shown beside the figure.
    assert read(a_rule(OWN, **place, arm="train"), rows) == [0.2, None, None, None]
    # Others' data are compared in equal pools.
    place["arm"] = "nontrain"
    in_pools = {OTHERS: 0.4, f"{OTHERS}_sampled": 0.1, f"{OTHERS}_chance": 0.02}
    rows = [at(metric, **place)._replace(value=value) for metric, value in in_pools.items()]
    rule = a_rule(OTHERS, **place, chance_metric=f"{OTHERS}_chance", chance_arm="nontrain")
    assert read(rule, rows) == [0.4, 0.1, 0.02, None]


def test_every_change_stands_in_one_table() -> None:
    for exact in (False, True):
        content = compared(exact=exact)
        rows = [
            row
            for direction in ((1, -1), (0,), (None,))
            for table in change_tables(content, direction=direction)
            for row in table.rows
        ]
        assert len(rows) == len(content.changes)


def check(a: float | None, b: float | None, *, passed: bool | None, reason: str | None = None) -> AnswerCheck:
    return AnswerCheck(group="forget", question="q", allowed="half", a=a, b=b, limit=None, passed=passed, reason=reason)


def test_why_a_question_failed_or_was_not_asked_stands_with_its_figures() -> None:
    checks = [
        check(0.9, 0.8, passed=True),
        check(0.9, None, passed=False, reason="too little text"),
        check(0.25, 0.75, passed=None, reason="too short before"),
        check(None, 0.5, passed=None, reason="too short before"),
    ]
    assert [row[2:4] + row[5:] for row in health_table(checks).rows] == [
        ("0.9", "0.8", "✓ yes"),
        ("0.9", "too little text", "✗ no"),
        ("0.25", "0.75", "? too short before"),
        ("too short before", "0.5", "? too short before"),
    ]


def test_attacks_are_listed_with_the_rules_about_them() -> None:
    rules = [
        a_rule(metric, form=form).model_copy(update={"status": status})
        for status, metric, form in (
            ("fail", "attributable_fraction", "text"),
            ("pass", "attributable_fraction", "text"),
            ("inconclusive", "attributable_fraction", "chat"),
            ("pass", "own_identifiers", "drawn"),
        )
    ]
    attacks = [Attack(name=name, status="not run" if name == "poisoning" else "run") for name in ATTACKS]
    verdict = Verdict(status="fail", policy="default", reason="", rules=rules)
    table = attacks_table(RunResults(verdict=verdict, attacks=attacks, release="api"))
    fared = dict(zip(ATTACKS, (row[3] for row in table.rows), strict=True))
    assert fared == dict.fromkeys(ATTACKS, "–") | {
        "continuation": "1 failed, 1 passed",
        "chat": "1 undecided",
        "sampling": "1 passed",
    }
    assert [row[1] for row in table.rows] == [attack.status for attack in attacks]
    assert "asked from outside" in table.note
