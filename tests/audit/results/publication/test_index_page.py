"""`clinaudit index`: which folders count as runs, and that no run that was changed is left out in silence."""

import json
from pathlib import Path

import pytest
from support.results.filled_published import published

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.reports.schema.results import to_json


def make_run(root: Path, name: str = "Scribe 3") -> RunDirectory:
    root.parent.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(root)
    run.create()
    (root / "results.json").write_text(to_json(published()))
    (root / "run.json").write_text(json.dumps({"identity": {"model_name": name}, "clinaudit": "test"}))
    (root / "report.html").write_text("<p>report</p>")
    (run.evidence / "results.json").write_text("the name of a patient")
    write_manifest(run)
    return run


def index(folder: Path) -> int:
    return run_command(["index", str(folder)])


def test_every_finished_run_is_shown_with_a_link_to_its_report(tmp_path: Path, capsys) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "deep" / "er" / "b #1?", "Scribe 4")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text("{}")
    assert index(tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == ["2 runs shown, 0 skipped", f"index: {tmp_path / 'index.html'}"]
    page = tmp_path / "index.html"
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text()
    assert 'href="a/report.html"' in text
    assert 'href="deep/er/b%20%231%3F/report.html"' in text
    assert "the name of a patient" not in text
    # Once more: the page is its own.
    assert index(tmp_path) == 0


@pytest.mark.parametrize("changed", ["results.json", "report.html", "manifest.json", "evidence/results.json"])
def test_a_changed_run_is_shown_as_changed(tmp_path: Path, capsys, changed: str) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "b", "Scribe 4")
    (tmp_path / "b" / changed).write_text("[]")
    assert index(tmp_path) == 0
    captured = capsys.readouterr()
    assert "2 runs shown, 0 skipped" in captured.out
    assert captured.err.startswith("changed since the audit: b: ")
    text = (tmp_path / "index.html").read_text()
    assert "1 changed since the audit and 1 fail." in text
    assert "Scribe 4" not in text
    assert 'href="b/' not in text


def test_what_is_no_finished_run_is_counted_and_named(tmp_path: Path, capsys) -> None:
    RunDirectory(tmp_path / "unfinished").create()
    make_run(tmp_path / "stripped")
    (tmp_path / "stripped" / "manifest.json").unlink()
    half_purged = make_run(tmp_path / "half")
    write_manifest(half_purged, purged=True)
    older = make_run(tmp_path / "older")
    (older.root / "results.json").write_text('{"schema_version": "1.0"}')
    write_manifest(older)
    assert index(tmp_path) == 0
    captured = capsys.readouterr()
    assert "0 runs shown, 4 skipped" in captured.out
    skipped = dict(line.removeprefix("skipped: ").split(": ", 1) for line in captured.err.splitlines())
    assert skipped == {
        "half": "its purge was stopped; run `clinaudit purge` again",
        "older": "another version of clinaudit wrote its results; audit it again to show it here",
        "stripped": "the audit has not finished, or its manifest was removed",
        "unfinished": "the audit has not finished, or its manifest was removed",
    }
    text = (tmp_path / "index.html").read_text()
    assert all(f"<strong>{place}</strong>" in text for place in skipped)


def test_links_are_not_followed(tmp_path: Path, capsys) -> None:
    outside = make_run(tmp_path / "outside" / "run")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link").symlink_to(outside.root)
    (folder / "up").symlink_to(folder)
    assert index(folder) == 0
    assert "0 runs shown, 0 skipped" in capsys.readouterr().out


def test_a_run_is_never_written_into(tmp_path: Path, capsys) -> None:
    run = make_run(tmp_path / "a")
    for folder in (run.root, run.evidence):
        assert index(folder) == 2
        assert "DIR is a run or lies in one" in capsys.readouterr().err
        assert not (folder / "index.html").exists()


def test_a_page_of_somebody_else_is_kept(tmp_path: Path, capsys) -> None:
    (tmp_path / "index.html").write_text("<title>Our ward</title>")
    assert index(tmp_path) == 6
    assert (tmp_path / "index.html").read_text() == "<title>Our ward</title>"
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").symlink_to(tmp_path / "elsewhere")
    assert index(tmp_path) == 6
    assert index(tmp_path / "none") == 3
    assert "no such DIR: none" in capsys.readouterr().err
