"""The benchmark of unlearning with --report --write: the tables of finished work."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.unlearning.many_patients import AFTER, BEFORE, BENCH, MAKING

from clinaudit.audit.unlearning.metrics.score_document import describe_scores
from clinaudit.reports.schema.unlearning_scores import Figure

SPLIT = MAKING.split.name


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def document(benchmark: Any) -> dict[str, Any]:
    named = {"baseline": BEFORE, f"rmu {SPLIT}": AFTER}
    scores = {
        name: [replace(one, model=name, em=one.rouge_l, reasons={}) for one in own] for name, own in named.items()
    }
    held = json.loads(
        describe_scores(
            scores, BENCH, replace(MAKING, before="baseline", made_with={"es": "rules", "cs": "words"})
        ).text()
    )
    held["models"][f"rmu {SPLIT}"]["collapse"] = {"collapsed": None, "checks": []}
    return dict(held)


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
    own = benchmark("unlearning_tables").models_of(document, SPLIT)

    def cell(name: str, *place: str) -> str:
        held: Any = own[name]
        for key in place:
            held = held[key]
        found = Figure.model_validate(held)
        low, high = (f"{end:.2f}".replace("-", "−") for end in (found.low, found.high))
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
