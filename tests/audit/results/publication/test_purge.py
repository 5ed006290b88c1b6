"""`clinaudit purge`: nothing of the evidence stays, everything else works, and a kill at any point is made good."""

import json
import os
import shutil
from pathlib import Path

import pytest
from support.runs.finished_run import SECRET, make_finished_run, remember_pages

from clinaudit.audit.commands.main import run
from clinaudit.audit.results.publication.published_files import PUBLISHED
from clinaudit.audit.results.publication.purge import prepare_purge
from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock
from clinaudit.audit.runtime.run.manifest import refuse_purged, remove_manifest
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.errors import UsageError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_finished_run(tmp_path_factory.mktemp("made") / "run").root


@pytest.fixture
def finished(made, tmp_path, monkeypatch):
    remember_pages(monkeypatch)
    shutil.copytree(made, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def purge(target, *options):
    return run(["purge", str(target.root), "--yes", *options])


def names(root):
    return {str(path.relative_to(root)) for path in root.rglob("*")}


AGGREGATES = {*PUBLISHED, "manifest.json"}
#: Two tables, the exact estimates and both pages, the state, one cached file, the manifest and its key.
REMOVED = 8


def test_it_leaves_the_aggregates_and_says_how_much_went(capsys, finished):
    before = {name: (finished.root / name).read_bytes() for name in AGGREGATES - {"manifest.json"}}
    # The lock is no evidence.
    sizes = [p.lstat().st_size for p in finished.evidence.rglob("*") if p.is_file() and p != finished.lock]
    assert len(sizes) == REMOVED
    assert purge(finished) == 0
    assert names(finished.root) == AGGREGATES
    assert {name: (finished.root / name).read_bytes() for name in before} == before
    out = capsys.readouterr().out
    assert out.startswith(f"purged: {REMOVED} files ({sum(sizes) / 1e3:.1f} kB) removed")
    assert "may keep the blocks" in out
    assert SECRET not in out


def test_a_purged_run_is_reported_shown_verified_and_judged(capsys, finished):
    purge(finished)
    capsys.readouterr()
    before = (finished.root / "report.html").read_bytes()
    for _ in range(2):
        assert run(["verify", str(finished.root)]) == 0
        assert run(["show", str(finished.root)]) == 0
        assert run(["report", str(finished.root)]) == 0
        assert (finished.root / "report.html").read_bytes() == before
    capsys.readouterr()
    assert run(["gate", str(finished.root), "--json"]) in (1, 8)
    assert json.loads(capsys.readouterr().out) == json.loads((finished.root / "gate.json").read_text())
    assert purge(finished) == 0
    assert capsys.readouterr().out == "nothing to remove: this run was purged before\n"


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize("report_between", [False, True])
def test_killed_before_any_change_it_is_finished_by_the_same_command(
    made, tmp_path, monkeypatch, capsys, report_between
):
    real = {name: getattr(os, name) for name in ("unlink", "rmdir", "replace")}
    for killed_at in range(40):
        target = RunDirectory(tmp_path / str(killed_at))
        shutil.copytree(made, target.root)
        calls = 0

        def count(name, *arguments, killed_at=killed_at):
            nonlocal calls
            if calls == killed_at:
                raise Killed
            calls += 1
            real[name](*arguments)

        def unlink(path, missing_ok=False, count=count):
            if path.exists() or not missing_ok:
                count("unlink", path)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", unlink)
            patch.setattr(Path, "rmdir", lambda path: count("rmdir", path))
            patch.setattr(Path, "replace", lambda path, other: count("replace", path, other))
            try:
                with prepare_purge(target.root, unfinished=False) as planned:
                    planned.carry_out()
                break
            except Killed:
                pass
        begun = killed_at > 0
        if target.evidence.exists():
            # Before the first change the run is whole; after it every command sends the reader back to this one.
            for command in ("verify", "show", "report", "gate") if report_between else ():
                status = run([command, str(target.root)])
                assert status == 4 if begun else status != 4, command
                assert not begun or "run `clinaudit purge` again" in capsys.readouterr().err
        assert purge(target) == 0
        assert names(target.root) == AGGREGATES
        assert run(["verify", str(target.root)]) == 0
    assert killed_at == 1 + REMOVED + 1 + 4, "the manifest; the files and the lock; four folders"


def test_a_run_that_is_written_to_is_refused(capsys, finished):
    before = names(finished.root)
    with hold_lock(finished):
        assert purge(finished) == 6
    assert "another command" in capsys.readouterr().err
    assert names(finished.root) == before
    assert purge(finished) == 0


def test_an_audit_cannot_go_on_with_it_even_half_way(finished):
    refuse_purged(finished)
    with prepare_purge(finished.root, unfinished=False) as planned:
        planned.carry_out()
    with pytest.raises(UsageError, match="was purged"):
        refuse_purged(finished)
    with pytest.raises(UsageError), open_store(finished):
        pass
    assert not finished.evidence.exists()


@pytest.mark.parametrize("others", [set(), {"mine.txt"}])
def test_an_unfinished_run_has_nothing_to_keep_but_what_is_not_of_it(capsys, finished, others):
    assert purge(finished, "--unfinished") == 2
    assert run(["verify", str(finished.root)]) == 0
    remove_manifest(finished)
    assert purge(finished) == 4
    assert "--unfinished" in capsys.readouterr().err
    assert (finished.evidence / "priors.parquet").is_file()
    # It was refused, and the lock is free.
    with hold_lock(finished):
        pass
    for name in others:
        (finished.root / name).write_text("x")
    assert purge(finished, "--unfinished") == 0
    assert names(finished.root) == others
    assert finished.root.exists() is bool(others)


def test_a_changed_report_is_not_blessed_and_nothing_is_removed(capsys, finished):
    (finished.root / "results.json").write_text("{}")
    assert purge(finished) == 7
    assert (finished.evidence / "priors.parquet").is_file()


def test_damaged_evidence_and_links_go_and_what_links_lead_to_stays(capsys, finished, tmp_path):
    (finished.evidence / "priors.parquet").write_text("damaged")
    (finished.evidence / "more.txt").write_text(SECRET)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("kept")
    (finished.evidence / "folder").symlink_to(tmp_path / "elsewhere")
    (finished.work / "file").symlink_to(tmp_path / "elsewhere" / "file")
    assert purge(finished) == 0
    # Who moved a table to another disk thinks that it is gone.
    assert "\n2 links among them: what they led to stays; remove it by hand" in capsys.readouterr().out
    assert (tmp_path / "elsewhere" / "file").read_text() == "kept"
    assert names(finished.root) == AGGREGATES


@pytest.mark.parametrize("folder", ["evidence", "evidence/work"])
def test_evidence_that_lies_elsewhere_is_refused(capsys, finished, tmp_path, folder):
    (finished.root / folder).rename(tmp_path / "elsewhere")
    (finished.root / folder).symlink_to(tmp_path / "elsewhere")
    assert purge(finished) == 5
    assert capsys.readouterr().err.count("\n") == 1
    assert any((tmp_path / "elsewhere").iterdir())


def test_evidence_removed_by_hand_is_written_off(finished):
    shutil.rmtree(finished.evidence)
    assert run(["verify", str(finished.root)]) == 7
    assert purge(finished) == 0
    assert run(["verify", str(finished.root)]) == 0
