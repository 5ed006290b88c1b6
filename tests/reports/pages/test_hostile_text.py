"""Hostile text in every field of a run that reaches an output: what is parsed is what a harmless twin gives.

The free texts of the results are found by trying: a place whose string the schema lets be anything is free. So are the
texts of the table of estimates but its metric and its arm, and those of the run record.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import polars as pl
import pytest
from support.full_report import full_report
from support.hostile_text import GROUPS, PAYLOADS, Document, Place, Tree, find_free_places, leaves, steers, with_text

from clinaudit.reports.estimates.frame import PLACE, Estimates
from clinaudit.reports.exports.verdict_files import run_json, verdict_junit
from clinaudit.reports.pages.annex import render_annex
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.terminal.verdict import report_text

HARMLESS = " ".join(["harmless text"] * 10)
RENDERED = {"report": render_report, "annex": render_annex}
MadeOf = Callable[[str], RunReport]


@pytest.fixture(scope="module")
def whole() -> RunReport:
    """A report cut to eight rules: the same fields, in a tenth of the places."""
    report = full_report()
    verdict = report.results.verdict
    assert verdict is not None
    results = report.results.model_copy(update={"verdict": verdict.model_copy(update={"rules": verdict.rules[:8]})})
    return replace(report, results=results)


@pytest.fixture(scope="module")
def places(whole: RunReport) -> list[Place]:
    document: Document = whole.results.model_dump(mode="json")
    # A metric is one of the registry.
    return [place for place in find_free_places(RunResults, document) if place[-1] != "metric"]


@pytest.fixture(scope="module")
def made_of(whole: RunReport, places: list[Place]) -> MadeOf:
    """The report with one text in every free place."""
    document = whole.results.model_dump(mode="json")
    one_each = whole.estimates.frame.unique(["metric", "arm", "by"], keep="first", maintain_order=True)

    def make(text: str) -> RunReport:
        table = one_each.with_columns(
            pl.when(pl.col(name) == "").then(pl.lit("")).otherwise(pl.lit(text)).alias(name)
            for name in (*PLACE, "reason")
            if name not in {"metric", "arm"}
        ).unique(PLACE, maintain_order=True)
        identity = dict.fromkeys(("model_name", "institution", "date", "intended_use"), text)
        record = {"clinaudit": text, "identity": identity, "digests": {"model": text}, text: [{text: text}]}
        return RunReport(with_text(RunResults, document, places, text), Estimates(table), record)

    return make


@pytest.fixture(scope="module")
def harmless_shapes(made_of: MadeOf) -> dict[str, list[tuple[str, ...]]]:
    return {name: Tree(render(made_of(HARMLESS))).shape for name, render in RENDERED.items()}


def test_free_places_were_found(places: list[Place]) -> None:
    assert {"reason", "question", "policy", "warnings", "remarks", "action", "tier", "part", "cohorts", "judge"} <= {
        step for place in places for step in place
    }
    assert len(places) > 80


@pytest.mark.parametrize("page", RENDERED)
@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_the_pages_parse_as_their_harmless_twins(
    made_of: MadeOf, harmless_shapes: dict[str, list[tuple[str, ...]]], group: tuple[str, ...], page: str
) -> None:
    for is_exact in (False, True):
        hostile, harmless = (
            RENDERED[page](replace(made_of(text), is_exact=is_exact)) for text in (" ".join(group), HARMLESS)
        )
        shape = Tree(harmless).shape if is_exact else harmless_shapes[page]
        assert Tree(hostile).shape == shape
        assert not steers(hostile)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_junit_terminal_and_json_are_not_steered(made_of: MadeOf, payload: str) -> None:
    hostile, harmless = made_of(payload), made_of("harmless text")
    parts = []
    for report in (hostile, harmless):
        assert report.results.verdict is not None
        tree = ElementTree.fromstring(verdict_junit(report.results.verdict))
        parts.append([(element.tag, *element.attrib) for element in tree.iter()])
    assert parts[0] == parts[1]
    assert not steers(report_text(hostile))
    printed = run_json(hostile)
    assert not steers(printed)
    assert payload in {step for place in leaves(json.loads(printed)) for step in place} | set(
        _texts(json.loads(printed))
    )


def _texts(node: object) -> list[str]:
    if isinstance(node, dict):
        return [text for child in node.values() for text in _texts(child)]
    if isinstance(node, list):
        return [text for child in node for text in _texts(child)]
    return [node] if isinstance(node, str) else []
