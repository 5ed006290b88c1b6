"""Where a command keeps files that must not outlive it."""

from pathlib import Path

import pytest

from clinaudit.audit.run.directory import RunDirectory, scratch_directory


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
