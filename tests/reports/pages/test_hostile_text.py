"""Hostile text in every field of a run, a comparison, a certificate: what is parsed is what a harmless twin gives.

The free texts of the records are found by trying: a place whose string the schema lets be anything is free. So are the
texts of the table of estimates but its metric and its arm, and those of the run record.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from support.full_report import full_report
from support.hostile_text import GROUPS, PAYLOADS, Document, Place, Tree, find_free_places, leaves, steers, with_text
from support.runs.compared_pair import plant
from support.unlearning.bench_results import constant, write_bench_result

from clinaudit.audit.commands.main import run as command
from clinaudit.reports.estimates.frame import PLACE, Estimates
from clinaudit.reports.exports import run_json, verdict_junit
from clinaudit.reports.pages.certificate import comparison_json, render_certificate, render_comparison
from clinaudit.reports.pages.report import render_annex, render_report
from clinaudit.reports.schema.certificate import Certificate
from clinaudit.reports.schema.comparison import Comparison
from clinaudit.reports.schema.run_results import RunReport, RunResults
from clinaudit.reports.terminal import comparison_text, report_text

HARMLESS = " ".join(["harmless text"] * 10)
MODELS: tuple[Any, ...] = (RunResults, Comparison, Certificate)
MadeOf = Callable[[str], tuple[RunReport, Comparison, Certificate]]


@pytest.fixture(scope="module")
def whole() -> RunReport:
    """A report cut to eight rules: the same fields, in a tenth of the places."""
    report = full_report()
    verdict = report.results.verdict
    assert verdict is not None
    results = report.results.model_copy(update={"verdict": verdict.model_copy(update={"rules": verdict.rules[:8]})})
    return replace(report, results=results)


@pytest.fixture(scope="module")
def documents(whole: RunReport, tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """A run; a comparison with a certificate, cut to two patients and two tiers, all that may be said said."""
    root = tmp_path_factory.mktemp("hostile")
    planted = plant(root, leaking={"pt-train-00": 60}, stated=["pt-train-01"], settings_b={"--engine": "other"})
    (root / "ids").write_text("\n".join(planted.named))
    known = constant(0.2)
    roles = {"forget": planted.named, "retain": planted.train[5:], "never_trained": planted.held_out}
    write_bench_result(root / "bench", {"before": known, "after": known}, **roles)
    runs = [str(planted.a), str(planted.b)]
    given = {"--forgotten": root / "ids", "--out": root / "out", "--bench": root / "bench"}
    command(["compare", *runs, *(str(part) for option in given.items() for part in option)])
    comparison = json.loads((root / "out" / "compare.json").read_text(encoding="utf-8"))
    certificate = json.loads((root / "out" / "evidence" / "certificate.json").read_text(encoding="utf-8"))
    del certificate["patients"][2:]
    kinds = {one["metric"]: one for one in comparison["changes"]}
    comparison["changes"] = [{**one, "difference": {**one["difference"], "reason": "said"}} for one in kinds.values()]
    for check in [*comparison["forgetting"]["health"][:1], *certificate["health"][:1]]:
        check.update(passed=None, reason="too few")
    comparison["forgetting"]["reasons"] = certificate["reasons"] = ["said"]
    for patient in certificate["patients"]:
        patient["reasons"] = ["said"]
        for row in patient["figures"]:
            row["reason"] = "said"
    return [whole.results.model_dump(mode="json"), comparison, certificate]


@pytest.fixture(scope="module")
def places(documents: list[Document]) -> list[list[Place]]:
    """Where each takes free text; a metric is one of the registry."""
    found = [find_free_places(model, document) for model, document in zip(MODELS, documents, strict=True)]
    return [[place for place in found[0] if place[-1] != "metric"], *found[1:]]


@pytest.fixture(scope="module")
def made_of(whole: RunReport, documents: list[Document], places: list[list[Place]]) -> MadeOf:
    """All three with one text in every free place."""
    one_each = whole.estimates.frame.unique(["metric", "arm", "by"], keep="first", maintain_order=True)

    def make(text: str) -> tuple[RunReport, Comparison, Certificate]:
        of_each = zip(MODELS, documents, places, strict=True)
        results, comparison, certificate = (with_text(model, document, free, text) for model, document, free in of_each)
        table = one_each.with_columns(
            pl.when(pl.col(name) == "").then(pl.lit("")).otherwise(pl.lit(text)).alias(name)
            for name in (*PLACE, "reason")
            if name not in {"metric", "arm"}
        ).unique(PLACE, maintain_order=True)
        identity = dict.fromkeys(("model_name", "institution", "date", "intended_use"), text)
        record = {"clinaudit": text, "identity": identity, "digests": {"model": text}, text: [{text: text}]}
        return RunReport(results, Estimates(table), record), comparison, certificate

    return make


def pages_of(made: tuple[RunReport, Comparison, Certificate]) -> list[str]:
    report, comparison, certificate = made
    both = (report, replace(report, is_exact=True))
    pages = [render(of) for render in (render_report, render_annex) for of in both]
    return [*pages, render_comparison(comparison), render_certificate(certificate)]


@pytest.fixture(scope="module")
def harmless_shapes(made_of: MadeOf) -> list[list[tuple[str, ...]]]:
    return [Tree(page).shape for page in pages_of(made_of(HARMLESS))]


def test_free_places_were_found(places: list[list[Place]]) -> None:
    both = {"question", "group", "reason", "reasons"}
    wanted = (
        {"reason", "question", "policy", "warnings", "remarks", "action", "tier", "part", "cohorts", "judge"},
        both | {"conclusion", "warnings", "a", "b", "name", "allowed", "tier"},
        both | {"patient_id", "measure", "model"},
    )
    for found, names, least in zip(places, wanted, (80, 20, 20), strict=True):
        assert names <= {step for place in found for step in place}
        assert len(found) > least


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_the_pages_parse_as_their_harmless_twins(
    made_of: MadeOf, harmless_shapes: list[list[tuple[str, ...]]], group: tuple[str, ...]
) -> None:
    for page, shape in zip(pages_of(made_of(" ".join(group))), harmless_shapes, strict=True):
        assert Tree(page).shape == shape
        assert not steers(page)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_junit_terminal_and_json_are_not_steered_and_json_says_the_text_itself(made_of: MadeOf, payload: str) -> None:
    hostile, harmless = made_of(payload), made_of("harmless text")
    shapes = []
    for report, *_ in (hostile, harmless):
        assert report.results.verdict is not None
        tree = ElementTree.fromstring(verdict_junit(report.results.verdict))
        shapes.append([(element.tag, *element.attrib) for element in tree.iter()])
    assert shapes[0] == shapes[1]
    report, comparison, certificate = hostile
    assert not steers(report_text(report) + comparison_text(comparison))
    printed = {
        run_json(report): None,
        comparison_json(comparison): comparison,
        comparison_json(certificate): certificate,
    }
    for text, record in printed.items():
        assert not steers(text)
        assert payload in {step for place in leaves(json.loads(text)) for step in place} | set(_texts(json.loads(text)))
        assert record is None or type(record).model_validate_json(text) == record


def _texts(node: object) -> list[str]:
    if isinstance(node, dict):
        return [text for child in node.values() for text in _texts(child)]
    if isinstance(node, list):
        return [text for child in node for text in _texts(child)]
    return [node] if isinstance(node, str) else []


def test_hostile_settings_and_ids_of_a_run_reach_no_terminal_and_no_markup(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={"--engine": " ".join(PAYLOADS), "--training-log": PAYLOADS[-2]})
    ids = [text.replace("\n", " ") for text in PAYLOADS if len(text.splitlines()) == 1]
    (tmp_path / "ids").write_text("\n".join(ids), encoding="utf-8")
    arguments = ["compare", str(planted.a), str(planted.b), "--forgotten", str(tmp_path / "ids")]
    assert command([*arguments, "--out", str(tmp_path / "out")]) == 8
    assert not steers(capsys.readouterr().out)
    assert command([*arguments, "--json"]) == 8
    printed = capsys.readouterr().out
    assert not steers(printed)
    assert {row["b"] for row in json.loads(printed)["differences"]} > {" ".join(PAYLOADS), PAYLOADS[-2]}
    page = (tmp_path / "out" / "evidence" / "certificate.html").read_text(encoding="utf-8")
    assert not steers(page)
    assert not {name for name, *_ in Tree(page).shape} & {"script", "img", "iframe", "svg", "form"}


def test_a_refusal_that_names_a_hostile_setting_steers_no_terminal(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={f"--x{PAYLOADS[-2]}": PAYLOADS[-1], "--ngram": 20})
    assert command(["compare", str(planted.a), str(planted.b)]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error[BAD_INPUT]: the runs cannot be compared")
    assert not steers(error)
