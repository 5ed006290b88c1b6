"""Files that somebody damaged, and a verdict that its own rules contradict: an error of integrity, no crash."""

import json
from pathlib import Path

import pytest
from support.runs.finished_run import make_finished_run, remember_pages

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.publication.published_files import read_published, read_record
from clinaudit.audit.runtime.console.streams import say
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.errors import IntegrityError


@pytest.fixture(autouse=True)
def _pages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_pages(monkeypatch)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_results_that_cannot_be_read_are_an_error_of_integrity(tmp_path: Path, content: bytes | None) -> None:
    finished = make_finished_run(tmp_path / "run")
    for name, read in (("results.json", read_published), ("run.json", read_record)):
        (finished.root / name).unlink()
        if content is not None:
            (finished.root / name).write_bytes(content)
        with pytest.raises(IntegrityError, match=name):
            read(finished)


def test_a_verdict_that_its_rules_contradict_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished = make_finished_run(tmp_path / "run")
    path = finished.root / "results.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert run(["gate", str(finished.root), "--quiet"]) == 1
    document["decision"]["status"] = "pass"
    path.write_text(json.dumps(document), encoding="utf-8")
    write_manifest(finished)
    capsys.readouterr()
    assert run(["gate", str(finished.root), "--quiet"]) == 7
    assert "its own rules" in capsys.readouterr().err


def test_signs_that_a_terminal_lacks_change_no_exit_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="latin-1") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        say("✗ 41–50")
    assert (tmp_path / "out").read_bytes() == b"? 41?50\n"
