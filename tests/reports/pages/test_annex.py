"""The annex: its parts, its words of this run, and that nothing of the evidence is in the published one."""

import re
from collections.abc import Sequence

from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report

from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.pages.annex import render_annex
from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.schema.verdict import Rule, Verdict
from clinaudit.reports.tables.run_facts import attacks_table


def of(results: RunResults, rows: Sequence[Row] = ()) -> RunReport:
    return RunReport(results, Estimates(as_estimates(rows)), {})


def test_every_section_of_the_registry_has_a_part_and_only_the_exact_one_leads_to_the_texts() -> None:
    estimates = Estimates(invented_estimates())
    published, exact = (render_annex(invented_report(estimates, is_exact=of)) for of in (False, True))
    ids = re.findall(r' id="([^"]+)"', published)
    assert {"own-text", "diagnoses", "cohorts", "the-judge", "methods", "glossary"} <= set(ids)
    assert "evidence.html" not in published
    assert 'href="evidence.html#tier=public&amp;arm=train&amp;form=text"' in exact


def test_attacks_are_listed_with_the_rules_about_them() -> None:
    def rule(status: str, **place: str) -> Rule:
        fixed = {"id": "r", "kind": "own", "question": "q", "limit": 0.1, "reason": ""}
        return Rule.model_validate({**fixed, **place, "status": status})

    rules = [
        rule("fail", metric="attributable_fraction", form="text"),
        rule("pass", metric="attributable_fraction", form="text"),
        rule("inconclusive", metric="attributable_fraction", form="chat"),
        rule("pass", metric="own_identifiers", form="drawn"),
    ]
    attacks = [Attack(name=name, status="not run" if name == "poisoning" else "run") for name in ATTACKS]
    verdict = Verdict(status="fail", policy="default", reason="", rules=rules)
    table = attacks_table(RunResults(verdict=verdict, attacks=attacks, release="api"))
    fared = {row[0]: row[3] for row in table.rows}
    assert fared["Continuation of what is known of a patient, six levels"] == "1 failed, 1 passed"
    assert fared["The same questions in a chat"] == "1 undecided"
    assert fared["Drawn answers about a patient"] == "1 passed"
    assert fared["Identifiers, and whose they are"] == "–"
    assert table.rows[-1][1] == "not run"
    assert "asked from outside" in table.note
