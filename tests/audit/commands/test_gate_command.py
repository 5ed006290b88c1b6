"""`clinaudit gate`: what it prints, what it writes, and that the run stays as it was."""

import json
import stat
from pathlib import Path

import pytest
from support.results.filled_results import filled
from support.runs.finished_run import SECRET, make_finished_run

from clinaudit.audit.commands.main import run
from clinaudit.audit.run.directory import RunDirectory


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    return make_finished_run(tmp_path_factory.mktemp("gate") / "run")


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("policy", ["strict", "default", "research"])
def test_a_policy_that_ships_is_named(capsys, finished, policy) -> None:
    before = contents(finished.root)
    assert run(["gate", str(finished.root), "--policy", policy]) == 1
    assert capsys.readouterr().out.startswith(f"verdict: fail (policy {policy})")
    assert contents(finished.root) == before


def test_the_verdict_is_written_elsewhere_in_three_forms(capsys, finished, tmp_path) -> None:
    out = tmp_path / "verdict"
    assert run(["gate", str(finished.root), "--policy", "strict", "--out", str(out)]) == 1
    assert {path.name for path in out.iterdir()} == {"gate.json", "junit.xml", "gate.sarif"}
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    decision = json.loads((out / "gate.json").read_text())
    assert (decision["policy"], decision["status"]) == ("strict", "fail")
    sarif = json.loads((out / "gate.sarif").read_text())
    assert sarif["runs"][0]["properties"] == {"policy": "strict", "status": "fail"}
    assert "clinaudit policy strict" in (out / "junit.xml").read_text()
    assert not [path for path in out.iterdir() if SECRET in path.read_text()]
    capsys.readouterr()
    assert run(["gate", str(finished.root), "--policy", "strict", "--json"]) == 1
    assert capsys.readouterr().out == (out / "gate.json").read_text()


def test_figures_are_written_as_they_are_published(tmp_path) -> None:
    results = filled(cell=30)
    few = results.memorization["public"]["train"].model_copy(update={"attributable_patients": 5})
    memorization = {**results.memorization, "public": {**results.memorization["public"], "train": few}}
    finished = make_finished_run(tmp_path / "run", results.model_copy(update={"memorization": memorization}))
    assert run(["gate", str(finished.root), "--quiet", "--out", str(tmp_path / "out")]) == 1
    rules = {rule["id"]: rule["observed"] for rule in json.loads((tmp_path / "out" / "gate.json").read_text())["rules"]}
    observed = rules["memorization/attributable_fraction/public"]
    assert (observed["value"], observed["n"], observed["reason"]) == (None, None, "fewer than 11 patients")
    assert rules["memorization/attributable_fraction/encounter"]["value"] is not None


def test_quiet_says_nothing(capsys, finished) -> None:
    assert run(["gate", str(finished.root), "--quiet"]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("inside", ["", "verdict", "evidence"])
def test_it_does_not_write_into_the_run(capsys, finished, inside) -> None:
    assert run(["gate", str(finished.root), "--out", str(finished.root / inside)]) == 2
    assert "names a directory of RUN" in capsys.readouterr().err
    assert run(["verify", str(finished.root)]) == 0


def test_a_file_in_the_place_of_the_folder_is_refused(capsys, finished, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    assert run(["gate", str(finished.root), "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("error[USAGE]")
