"""`clinaudit compare`: what it prints and writes, and what keeps runs from being compared."""

import json
from pathlib import Path

import pytest
from support.runs.compared_pair import Planted, plant

from clinaudit.audit.commands.main import run as command

TIER = "encounter"


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return plant(tmp_path)


def test_compare_prints_and_writes_aggregates_alone(planted: Planted, tmp_path: Path, capsys) -> None:
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Memorization, B − A" in printed.out
    assert max(map(len, printed.out.splitlines()[:20])) <= 100
    page, document = (
        (out / "compare.html").read_text(encoding="utf-8"),
        (out / "compare.json").read_text(encoding="utf-8"),
    )
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not (out / "evidence").exists()
    figures = json.loads(document)
    assert figures["basis"] == "paired"
    assert figures["memorization"][TIER]["train"]["pairs"] == len(planted.train)
    assert figures["memorization"][TIER]["train"]["hit_rate"]["difference"]["value"] is None  # few were named
    for text in (printed.out, page, document):
        assert 'behind": {' not in text
        assert not [patient for patient in planted.patients if patient in text]


def test_compare_as_json_is_the_file(planted: Planted, tmp_path: Path, capsys) -> None:
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(out), "--json"]) == 0
    assert capsys.readouterr().out == (out / "compare.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value"),
    [("--ngram", 20), ("--tokenizer", "f" * 64), ("--seed", 1), ("--tier", ["encounter"]), ("CORPUS", "other")],
)
def test_runs_with_other_settings_are_refused_and_the_settings_named(tmp_path: Path, capsys, name: str, value) -> None:
    planted = plant(tmp_path, settings_b={name: value})
    assert command(["compare", str(planted.a), str(planted.b)]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error[BAD_INPUT]: the runs cannot be compared, they differ in {name}")
    assert ("--allow-different-corpus" in error) == (name == "CORPUS")


def test_another_corpus_is_compared_when_allowed_and_said(tmp_path: Path, capsys) -> None:
    planted = plant(tmp_path, settings_b={"CORPUS": "other"})
    assert command(["compare", str(planted.a), str(planted.b), "--allow-different-corpus"]) == 0
    assert "The corpora differ" in capsys.readouterr().out


def test_a_purged_run_is_compared_by_what_it_published(planted: Planted, capsys) -> None:
    assert command(["purge", str(planted.b), "--yes"]) == 0
    capsys.readouterr()
    assert command(["compare", str(planted.a), str(planted.b), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["basis"] == "published"
    assert figures["memorization"][TIER]["nontrain"]["hits"] is None
    assert any("purged" in warning for warning in figures["warnings"])


def test_a_run_that_was_changed_is_not_compared(planted: Planted, capsys) -> None:
    (planted.b / "results.json").write_text("{}", encoding="utf-8")
    assert command(["compare", str(planted.a), str(planted.b)]) == 7


def test_a_comparison_is_never_written_into_a_run(planted: Planted, capsys) -> None:
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(planted.b / "evidence")]) == 2
    assert command(["verify", str(planted.b)]) == 0
