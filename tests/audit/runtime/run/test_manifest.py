"""The manifest: every change of a finished run is seen, and a replacement killed at any write still verifies."""

import hashlib
import hmac
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


def test_the_public_manifest_has_no_digest_of_the_evidence_but_a_keyed_one(tmp_path):
    run = finished_run(tmp_path / "run")
    public = json.loads((run.root / "manifest.json").read_text())
    key, inside = ((run.evidence / name).read_bytes() for name in ("manifest.key", "manifest.json"))
    assert public["sha256"].keys() == {"results.json"}
    assert public["hmac_sha256"] == {"evidence/manifest.json": hmac.new(key, inside, "sha256").hexdigest()}
    assert json.loads(inside)["sha256"] == {"evidence/results.json": hashlib.sha256(b"{}").hexdigest()}
    assert len(key) == 32
    assert (run.evidence / "manifest.key").stat().st_mode & 0o777 == 0o600
    # The same evidence of another run has another digest.
    other = json.loads((finished_run(tmp_path / "other").root / "manifest.json").read_text())
    assert other["hmac_sha256"] != public["hmac_sha256"]


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("evidence/results.json", b"{ }", "evidence/results.json is not what the audit wrote"),
        ("evidence/extra.csv", b"", "evidence/extra.csv is not in the manifest"),
        ("evidence/results.json", None, "evidence/results.json is in the manifest but missing"),
        ("evidence/manifest.json", b'{"sha256": {}}', "evidence/manifest.json or its key is not what the audit wrote"),
        ("evidence/manifest.json", None, "evidence/manifest.json is missing"),
        ("evidence/manifest.key", b"k" * 32, "evidence/manifest.json or its key is not what the audit wrote"),
        ("evidence/manifest.key", None, "evidence/manifest.key is missing"),
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
    public = json.loads((run.root / "manifest.json").read_text())
    return any(" " in digests for digests in (public["sha256"] | public["hmac_sha256"]).values())


# The public manifest, the evidence's, the public one; the files; the same three.
@pytest.mark.parametrize("first", range(3 + len(FIRST) + 3))
def test_a_replacement_killed_at_any_write_verifies_and_so_does_the_next_killed_at_any(tmp_path, monkeypatch, first):
    for second in range(3 + len(SECOND) + 3):
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
