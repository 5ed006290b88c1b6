"""The page over many runs: each one's verdict and rules, its report a click away, and nothing changed is believed."""

import re

import pytest
from support.hostile_text import GROUPS, Tree, steers
from support.results.filled_published import VARIANTS, content, published

from clinaudit.reports.pages.index import IndexedRun, SkippedFolder, render_index
from clinaudit.reports.schema.results import ReportContent


def run_of(given: ReportContent, place: str = "ward") -> IndexedRun:
    return IndexedRun(place, f"{place}/report.html", given)


def named(model: str, date: str | None, place: str) -> IndexedRun:
    return run_of(ReportContent(published(), {"identity": {"model_name": model, "date": date}}), place)


def test_a_run_stands_with_its_name_verdict_policy_and_rules() -> None:
    page = render_index([run_of(content())], [])
    assert "1 run: 1 fail." in page
    assert '<a href="ward/report.html">Ward notes 1.5B' in page
    assert "St. Invented Hospital · 2026-11-20" in page
    assert "Policy: default" in page
    rows = re.findall(r'<tr><th scope="row">([^<]+)</th>(.*?)</tr>', page)
    own, *diagnoses = (subject for subject, _ in rows)
    assert "HIV" in diagnoses
    words = re.findall(r'class="hidden">([\w ]+)<', dict(rows)[own])
    assert words == ["passes", "passes", "cannot tell", "fails", "fails", "fails"]
    assert "<script" not in page


def test_the_newest_run_comes_first_and_one_without_a_date_last() -> None:
    runs = [named("B", None, "b"), named("A", "2025-01-02", "a"), named("C", "2026-01-02", "c"), named("A", None, "d")]
    page = render_index(runs, [])
    assert re.findall(r'href="(\w)/report.html"', page) == ["c", "a", "d", "b"]


def test_a_changed_run_is_named_and_nothing_in_it_is_believed() -> None:
    changed = IndexedRun("bad", None, content(VARIANTS["pass"]().results), changed="results.json is not what it was")
    page = render_index([changed], [SkippedFolder("half", "the audit has not finished")])
    assert "1 run: 1 changed since the audit." in page
    assert "results.json is not what it was" in page
    assert "href" not in page
    assert "Pass" not in page
    assert "<strong>half</strong>: the audit has not finished" in page


def test_a_subject_without_a_rule_at_a_tier_says_so() -> None:
    results = published()
    rules = [rule for rule in results.decision.rules if (rule.diagnosis, rule.tier) != ("hiv", "public")]
    decision = results.decision.model_copy(update={"rules": rules})
    page = render_index([run_of(content(results.model_copy(update={"decision": decision})))], [])
    row = re.search(r'<th scope="row">HIV</th>(.*?)</tr>', page)
    assert re.findall(r'class="hidden">([\w ]+)<', row[1])[:2] == ["no rule", "passes"]


def test_rules_without_a_tier_need_no_matrix() -> None:
    results = published()
    rule = results.decision.rules[0].model_copy(update={"tier": None})
    decision = results.decision.model_copy(update={"rules": [rule]})
    page = render_index([run_of(content(results.model_copy(update={"decision": decision})))], [])
    assert "<table" not in page
    assert "Fail" in page


def test_without_a_name_the_digest_stands() -> None:
    page = render_index([run_of(ReportContent(published(), {"digests": {"model": "ab" * 32}}))], [])
    assert "Model abababababab…" in page
    assert "Institution not given · Date not given" in page
    assert "No finished run was found." in render_index([], [])


@pytest.mark.parametrize("payloads", GROUPS)
def test_hostile_text_changes_no_element(payloads: tuple[str, ...]) -> None:
    def page_with(text: str) -> str:
        results = published()
        decision = results.decision.model_copy(update={"policy": text, "reason": text})
        shown = ReportContent(
            results.model_copy(update={"decision": decision}),
            {"identity": {"model_name": text[:100], "institution": text[:100]}, "digests": {"model": text}},
        )
        # A page each: the order of the runs follows from their names.
        return render_index([IndexedRun(text, "a/report.html", shown)], [SkippedFolder(text, text)]) + render_index(
            [IndexedRun(text, None, None, changed=text)], []
        )

    hostile = page_with(" ".join(payloads))
    assert Tree(hostile).shape == Tree(page_with("harmless")).shape
    assert not steers(hostile)
