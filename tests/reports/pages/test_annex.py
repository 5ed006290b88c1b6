"""The annex: its parts, its words of this run, and that nothing of the evidence is in the published one."""

import re
from collections.abc import Sequence

from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report

from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates, at
from clinaudit.reports.pages.annex import render_annex
from clinaudit.reports.schema.attacks import ATTACKS, Attack
from clinaudit.reports.schema.run_results import CohortFacts, CorpusFacts, RunReport, RunResults, Settings, TrainingLoss
from clinaudit.reports.schema.verdict import Rule, Verdict
from clinaudit.reports.tables.run_facts import attacks_table, provenance_table
from clinaudit.reports.wording.annex import judge_sentence, methods, trained_sentence


def of(results: RunResults, rows: Sequence[Row] = ()) -> RunReport:
    return RunReport(results, Estimates(as_estimates(rows)), {})


def test_every_section_of_the_registry_has_a_part_and_the_page_holds_together() -> None:
    report = invented_report(Estimates(invented_estimates()))
    page = render_annex(report)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    for section in ("own-text", "diagnoses", "cohorts", "the-judge", "methods", "glossary"):
        assert section in ids
    assert "evidence.html" not in page
    assert "PHI" not in page


def test_the_exact_annex_is_marked_and_leads_to_the_texts() -> None:
    page = render_annex(invented_report(Estimates(invented_estimates()), is_exact=True))
    assert "Contains PHI" in page
    assert 'href="evidence.html#tier=public&amp;arm=train&amp;form=text"' in page


def test_no_text_of_the_site_is_read_as_markup() -> None:
    results = RunResults(cohorts={"x": CohortFacts(status="unavailable", reason="<script>\x1b")})
    page = render_annex(of(results, [at("cohort_sets", diagnosis="<b>")._replace(value=3.0)]))
    assert "<script>" not in page
    assert "<b>" not in page
    assert "\x1b" not in page


def test_methods_say_what_this_run_did() -> None:
    rows = [at("patients", arm="train")._replace(value=27000.0)]
    for tier, asked in (("public", 90.0), ("encounter", 200.0)):
        rows.append(at("patients", form="text", tier=tier, arm="train")._replace(value=asked))
    settings = Settings(match_tokens=25, forms=["text", "drawn"], seed=7)
    held_out = CorpusFacts(counterfactual=True, labels="table")
    said = dict(methods(of(RunResults(settings=settings, corpus=held_out), rows)))
    assert "Of 27,000 patients trained on in all, 90 to 200, by tier, were asked about." in said["Who is asked about"]
    assert "the seed 7" in said["Who is asked about"]
    assert "as plain text that it continues and drawn again" in said["How is asked"]
    assert "25 or more in a row" in said["Own text"]
    assert said["Chance"].startswith("What patients never seen show")
    nobody = held_out.model_copy(update={"counterfactual": False})
    by_control = of(RunResults(settings=settings.model_copy(update={"control": True}), corpus=nobody))
    assert "the control model shows" in dict(methods(by_control))["Chance"]
    assert "figures hold what chance gives" in dict(methods(of(RunResults(corpus=nobody))))["Chance"]
    assert trained_sentence(Estimates(as_estimates([]))) == ""
    assert not any("{" in words for words in said.values())


def test_the_judges_errors_stand_beside_the_diagnoses() -> None:
    rows = [
        at(f"judge_{of}")._replace(value=v, low=v - 0.01, high=v + 0.01)
        for of, v in (("sensitivity", 0.93), ("specificity", 0.98))
    ]
    report = of(RunResults(judge="lexicon", judge_labels="site"), [*rows, at("auroc", diagnosis="hiv")])
    sentence = judge_sentence(report)
    assert "labelled texts of the site it finds 93% (92 to 94) and rightly clears 98% (97 to 99)" in sentence
    assert render_annex(report).count(sentence) == 3
    assert judge_sentence(of(RunResults())) == ""


def test_attacks_are_listed_with_the_rules_about_them() -> None:
    def rule(status: str, **place: str) -> Rule:
        fixed = {"id": "r", "kind": "text", "question": "q", "limit": 0.1, "reason": ""}
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


def test_provenance_and_training_have_a_place() -> None:
    results = RunResults(training=[TrainingLoss(epoch=1, train_loss=2.0, validation_loss=None, perplexity=None)])
    page = render_annex(RunReport(results, Estimates(as_estimates([])), {"versions": {"torch": "2"}}))
    assert "versions.torch" in page
    assert "2.0000" in page
    flat = provenance_table({"a": {"b": [1, 2], "c": None}, "d": True, "e": []})
    assert flat.rows == (("a.b", "1, 2"), ("a.c", "not given"), ("d", "true"), ("e", "none"))
