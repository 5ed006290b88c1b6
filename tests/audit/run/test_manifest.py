"""The manifest: every change of a finished run is seen, and what is none is said."""

from pathlib import Path

import pytest

from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.manifest import require_finished_run, verify, write_manifest
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError


def finished_run(root: Path) -> RunDirectory:
    run = RunDirectory(root)
    run.create()
    (run.work / "state.sqlite").write_bytes(b"changes all the time")
    for name in ("results.json", "evidence/results.json"):
        (run.root / name).write_text("{}")
    write_manifest(run)
    return run


def test_manifest_sees_every_change(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    assert verify(run) == 2
    (run.work / "state.sqlite").write_bytes(b"changed")
    assert verify(run) == 2
    (run.root / "extra").write_text("")
    with pytest.raises(IntegrityError, match="extra is not in the manifest"):
        verify(run)
    (run.root / "extra").unlink()
    (run.root / "results.json").write_text("{ }")
    with pytest.raises(IntegrityError, match=r"results\.json is not what the audit wrote"):
        verify(run)
    assert verify(run, but=("results.json",)) == 1
    (run.root / "results.json").unlink()
    with pytest.raises(IntegrityError, match="missing"):
        verify(run)
    (run.root / "manifest.json").write_text("[]")
    with pytest.raises(IntegrityError, match="not a manifest"):
        verify(run)


def test_what_is_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such RUN"):
        require_finished_run(tmp_path / "none")
    with pytest.raises(BadInputError, match="not a run"):
        require_finished_run(tmp_path)
    run = finished_run(tmp_path / "run")
    (run.root / "manifest.json").unlink()
    with pytest.raises(IncompleteError, match="has not finished"):
        require_finished_run(run.root)
