"""The manifest: every change of a finished run is seen, and a replacement killed at any write still verifies."""

import hashlib
import json

import pytest

from clinaudit.audit.runtime.run import manifest
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import matches_manifest, replace_files, verify, write_manifest
from clinaudit.errors import IntegrityError

FIRST = {"results.json": b"new", "evidence/results.json": b"newer", "evidence/strict/gate.json": b"made"}
SECOND = {"report.html": b"page", "evidence/report.html": b"exact page"}


def finished_run(root):
    run = RunDirectory(root)
    run.create()
    (run.work / "state.sqlite").write_bytes(b"changes all the time")
    for name in ("results.json", "evidence/results.json"):
        (run.root / name).write_text("{}")
    write_manifest(run)
    return run


def test_manifest_sees_every_change(tmp_path):
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


def test_the_public_manifest_has_no_digest_of_the_evidence(tmp_path):
    run = finished_run(tmp_path / "run")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert json.loads((run.root / "manifest.json").read_text()) == {"sha256": {"results.json": digest}}
    inside = json.loads((run.evidence / "manifest.json").read_text())
    assert inside == {"sha256": {"evidence/results.json": digest, "results.json": digest}}


def test_the_published_files_of_another_run_are_seen(tmp_path):
    run = finished_run(tmp_path / "run")
    (run.root / "results.json").write_bytes(b"of another run")
    other = hashlib.sha256(b"of another run").hexdigest()
    (run.root / "manifest.json").write_text(json.dumps({"sha256": {"results.json": other}}))
    assert verify(run, evidence=False) == 1
    with pytest.raises(IntegrityError, match=r"^results\.json is not what the audit wrote"):
        verify(run)


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("evidence/results.json", b"{ }", "evidence/results.json is not what the audit wrote"),
        ("evidence/extra.csv", b"", "evidence/extra.csv is not in the manifest"),
        ("evidence/results.json", None, "evidence/results.json is in the manifest but missing"),
        ("evidence/manifest.json", b'{"sha256": {}}', "evidence/results.json is not in the manifest"),
        ("evidence/manifest.json", b"[]", "evidence/manifest.json is not a manifest"),
        ("evidence/manifest.json", None, "evidence/manifest.json is missing"),
    ],
)
def test_every_change_of_the_evidence_is_seen(tmp_path, name, change, what):
    run = finished_run(tmp_path / "run")
    if change is None:
        (run.root / name).unlink()
    else:
        (run.root / name).write_bytes(change)
    with pytest.raises(IntegrityError, match=what):
        verify(run)
    # A purge, which removes the evidence, need not believe it.
    assert verify(run, evidence=False) == 1


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def kill_at(monkeypatch, step):
    write, calls = manifest.write_atomically, iter(range(100))

    def fail(path, content):
        if next(calls) == step:
            raise Killed
        write(path, content)

    monkeypatch.setattr(manifest, "write_atomically", fail)


def is_replacing(run):
    """Whether some file has two digests."""
    manifests = (json.loads((folder / "manifest.json").read_text()) for folder in (run.root, run.evidence))
    return any(" " in digests for manifest in manifests for digests in manifest["sha256"].values())


# Both manifests; the files; both again.
@pytest.mark.parametrize("first", range(2 + len(FIRST) + 2))
def test_a_replacement_killed_at_any_write_verifies_and_so_does_the_next_killed_at_any(tmp_path, monkeypatch, first):
    for second in range(2 + len(SECOND) + 2):
        run = finished_run(tmp_path / f"{second}")
        (run.evidence / "strict").mkdir()
        for files, step in ((FIRST, first), (SECOND, second)):
            with monkeypatch.context() as patch:
                kill_at(patch, step)
                with pytest.raises(Killed):
                    replace_files(run, files)
            verify(run)
            assert matches_manifest(run, "results.json")
        assert is_replacing(run) is bool(first or second)
        replace_files(run, SECOND)
        assert not is_replacing(run)
        verify(run)
        assert {name: (run.root / name).read_bytes() for name in SECOND} == SECOND
