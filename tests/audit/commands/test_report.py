"""`clinaudit report`: the identity that it sets, what it renders on request, and that all of it agrees."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from support.runs.finished_run import make_finished_run

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.reports.exports.paper import FILE_NAMES, FOLDER


@pytest.fixture
def finished(tmp_path: Path) -> RunDirectory:
    return make_finished_run(tmp_path / "run")


def report(run: RunDirectory, *options: str) -> int:
    return run_command(["report", str(run.root), *options])


def identity_of(run: RunDirectory) -> dict[str, str | None]:
    return json.loads((run.root / "run.json").read_text())["identity"]


def test_the_identity_is_kept_and_the_last_given_wins(finished: RunDirectory) -> None:
    assert report(finished, "--model-name", "Scribe 3", "--date", "2026-11-22") == 0
    assert identity_of(finished) == {"model_name": "Scribe 3", "institution": None, "date": "2026-11-22"}
    assert report(finished, "--model-name", "Scribe 4", "--institution", "St. Anne") == 0
    expected = {"model_name": "Scribe 4", "institution": "St. Anne", "date": "2026-11-22"}
    assert identity_of(finished) == expected
    assert report(finished) == 0
    assert identity_of(finished) == expected
    for page in (finished.root / "report.html", finished.evidence / "report.html"):
        assert "Scribe 4" in page.read_text()
        assert "Scribe 3" not in page.read_text()
    assert run_command(["verify", str(finished.root)]) == 0


def test_a_model_card_made_before_takes_the_new_name_too(finished: RunDirectory, capsys) -> None:
    card = finished.root / "model-card.yaml"
    assert report(finished, "--model-card") == 0
    assert f"report: {card}" in capsys.readouterr().out
    assert yaml.safe_load(card.read_text())["AppliedModelCard"]["BasicInfo"]["ModelName"] is None
    assert report(finished, "--model-name", "Scribe 3") == 0
    assert yaml.safe_load(card.read_text())["AppliedModelCard"]["BasicInfo"]["ModelName"] == "Scribe 3"
    assert run_command(["verify", str(finished.root)]) == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [("--model-name", ""), ("--institution", "two\nlines"), ("--date", "2026-13-01"), ("--date", "today")],
)
def test_a_value_that_no_field_takes_changes_nothing(finished: RunDirectory, capsys, option: str, value: str) -> None:
    before = (finished.root / "run.json").read_bytes()
    assert report(finished, option, value) == 2
    assert capsys.readouterr().err.startswith("error[USAGE]: ")
    assert (finished.root / "run.json").read_bytes() == before


def test_the_exact_report_is_asked_for_where_there_is_evidence(finished: RunDirectory, capsys) -> None:
    assert report(finished, "--exact") == 0
    assert f"exact report (PHI): {finished.evidence / 'report.html'}" in capsys.readouterr().out
    assert run_command(["purge", str(finished.root), "--yes"]) == 0
    capsys.readouterr()
    assert report(finished, "--exact") == 3
    assert "it was purged" in capsys.readouterr().err
    assert report(finished, "--model-name", "Scribe 3") == 0
    assert not finished.evidence.exists()
    assert run_command(["verify", str(finished.root)]) == 0


def test_the_paper_s_tables_are_written_again_also_where_a_run_never_had_them(finished: RunDirectory) -> None:
    before = {path: path.read_bytes() for path in finished.root.rglob("paper/*.csv")}
    assert len(before) == 2 * len(FILE_NAMES)
    for folder in (finished.root / FOLDER, finished.evidence / FOLDER):
        shutil.rmtree(folder)
    write_manifest(finished)
    assert report(finished) == 0
    assert {path: path.read_bytes() for path in finished.root.rglob("paper/*.csv")} == before
    (finished.root / FILE_NAMES[0]).write_text("arm\nedited\n")
    assert run_command(["verify", str(finished.root)]) == 7
    assert report(finished) == 0
    assert run_command(["verify", str(finished.root)]) == 0
    assert {path.stat().st_mode & 0o777 for path in before} == {0o600}
    assert (finished.root / FOLDER).stat().st_mode & 0o777 == 0o700
