"""The benchmark of unlearning with --report --write: the tables of finished work, with the intervals of today."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.unlearning.many_patients import AFTER, BEFORE, BENCH, FORGOTTEN, MAKING, RETAINED

from clinaudit.audit.unlearning.metrics.score_document import describe_scores
from clinaudit.reports.schema.unlearning_scores import Figure

SPLIT = MAKING.split.name


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def document(benchmark: Any) -> dict[str, Any]:
    """What was written when all intervals were the safe ones, and no change to the baseline."""
    named = {"baseline": BEFORE, f"rmu {SPLIT}": AFTER}
    scores = {
        name: [replace(one, model=name, em=one.rouge_l, reasons={}) for one in own] for name, own in named.items()
    }
    held = json.loads(
        describe_scores(
            scores, BENCH, replace(MAKING, before="baseline", made_with={"es": "rules", "cs": "words"})
        ).text()
    )
    for model in held["models"].values():
        model.pop("change", None)
        _age(model)
    held["models"][f"rmu {SPLIT}"]["collapse"] = {"collapsed": None, "checks": []}
    return dict(held)


def _age(held: Any) -> None:
    if isinstance(held, dict):
        if held.pop("method", None) == "bootstrap":
            held["interval"] = held.pop("bounds")
        for own in held.values():
            _age(own)


def test_means_stay_and_intervals_are_made_anew(benchmark: Any, document: dict[str, Any]) -> None:
    again = benchmark("unlearning_results").describe_again(document)
    before, after = (
        held["models"][f"rmu {SPLIT}"]["mu_without_em"]["retain"]["factual"]["train"] for held in (document, again)
    )
    assert after["value"] == before["value"]
    assert after["bounds"] == pytest.approx(before["interval"])
    assert after["method"] == "bootstrap"
    assert 3 * (after["interval"][1] - after["interval"][0]) < before["interval"][1] - before["interval"][0]
    assert again["models"][f"rmu {SPLIT}"]["collapse"] == {"collapsed": None, "checks": []}
    for name in ("bench", "split", "form", "seed", "made_with", "patients", "items", "question_count"):
        assert again[name] == document[name], name
    # What is written today is what is made anew of it.
    assert benchmark("unlearning_results").describe_again(again) == again
    roles = {name: one["role"] for name, one in again["patients"].items()}
    assert roles == dict.fromkeys(FORGOTTEN, "forget") | dict.fromkeys(RETAINED, "retain")


def test_the_page_gets_the_tables_of_finished_work(
    benchmark: Any, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    program = benchmark("unlearning")
    evidence = tmp_path / "work" / "result" / "evidence"
    evidence.mkdir(parents=True)
    (evidence / f"scores-{SPLIT.replace(':', '-')}.json").write_text(json.dumps(document), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{program.BEGIN}\n\nold\n\n{program.END}\n\nAfter\n", encoding="utf-8")
    monkeypatch.setattr(program, "PAGE", page)
    options = ["--folder", str(tmp_path / "work"), "--report", "--write", "--percents", SPLIT.partition(":")[2]]
    monkeypatch.setattr(sys, "argv", ["unlearning", *options, "--category", "cancer"])
    program.main()
    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("# Before", "After")
    assert "old" not in lines
    assert any(line.startswith("Written on ") and "finished work" in line for line in lines)
    again = benchmark("unlearning_results").describe_again(document)["models"]
    own = benchmark("unlearning_tables").models_of({"models": again}, SPLIT)

    def cell(name: str, *place: str) -> str:
        held: Any = own[name]
        for key in place:
            held = held[key]
        found = Figure.model_validate(held)
        low, high = (f"{end:.2f}".replace("-", "−") for end in (found.confidence_low, found.confidence_high))
        begin, end = "[]" if found.method == "bootstrap" else "()"
        return f"{found.value:.2f}".replace("-", "−") + f" {begin}{low}, {high}{end}"

    of_many = cell("rmu", "mu", "retain", "factual", "train")
    of_few = cell("rmu", "afe", "forget", "factual", "train")
    row = next(line for line in lines if line.startswith("|  | rmu | "))
    assert "[" in of_many
    assert "(" in of_few
    assert row.endswith(f"| {of_many} |")
    assert f"| {of_few} |" in row
    changed = lines[lines.index("### Before and after") :]
    paired = cell("rmu", "change", "mu", "retain", "factual", "train")
    assert any(line.startswith(f"| {SPLIT} | rmu | ") and f"| {paired} |" in line for line in changed)
    assert capsys.readouterr().out.splitlines()[0] in lines
