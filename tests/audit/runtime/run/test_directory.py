"""Where a command keeps files that must not outlive it."""

from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run as main
from clinaudit.audit.runtime.run.directory import RunDirectory, scratch_directory
from clinaudit.errors import UsageError


def test_the_scratch_directory_is_the_nearest_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(tmp_path / "runs" / "one")
    assert scratch_directory(run) == tmp_path
    (tmp_path / "runs").write_text("a file, not a directory")
    assert scratch_directory(run) == tmp_path
    (tmp_path / "runs").unlink()
    run.create()
    assert scratch_directory(run) == run.work
    monkeypatch.chdir(tmp_path)
    assert scratch_directory(RunDirectory(Path("new"))) == tmp_path


@pytest.mark.parametrize("name", ["results.json", "evidence/results.json", "evidence/work/state.sqlite"])
def test_a_directory_with_files_of_another_command_is_refused(tmp_path: Path, name: str) -> None:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.root / name).write_text("another's")
    with pytest.raises(UsageError, match="holds other things; name a new or an earlier benchmark's"):
        run.require_begun_by(run.work / "settings.json", what="benchmark")
    (run.work / "settings.json").write_text("{}")
    run.require_begun_by(run.work / "settings.json", what="benchmark")


def test_what_a_kill_left_before_the_first_file_is_no_other_command(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.require_begun_by(run.work / "settings.json", what="benchmark")
    run.create()
    run.lock.touch()
    left = run.work / ".settings.json.partial"
    left.write_text("{")
    run.require_begun_by(run.work / "settings.json", what="benchmark")
    assert left.read_text() == "{"
    # One file more, and it is somebody's.
    (run.work / "state.sqlite").touch()
    with pytest.raises(UsageError, match="holds other things"):
        run.require_begun_by(run.work / "settings.json", what="benchmark")


@pytest.mark.parametrize(
    "arguments", [["pii", "bench", "--samples", "1", "--systems", "rules"], ["unlearn", "build", "CORPUS"]]
)
def test_no_benchmark_is_made_in_the_run_of_an_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    corpus, audited = tmp_path / "corpus", RunDirectory(tmp_path / "run")
    corpus.mkdir()
    (corpus / "notes.jsonl").write_text('{"patient_id": "p", "note_id": "n", "text": "cc: cough"}\n')
    audited.create()
    state = audited.work / "state.sqlite"
    state.write_text("of the audit")
    given = [str(corpus) if one == "CORPUS" else one for one in arguments]
    assert main([*given, "--out", str(audited.root), "--quiet"]) == 2
    assert "holds other things" in capsys.readouterr().err
    assert [path for path in audited.root.rglob("*") if path.is_file()] == [state]
