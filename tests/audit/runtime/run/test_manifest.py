"""The manifest and its signature: every change of a finished run is seen, and by whom it is signed."""

import hashlib
import hmac
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs.site_keys import write_site_keys

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.runtime.run import manifest
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import (
    check_signature,
    is_half_replaced,
    is_signed,
    manifest_bytes,
    remove_manifest,
    replace_files,
    require_finished_run,
    sign_manifest,
    verify,
    write_manifest,
)
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError, UnsafeError, UsageError
from clinaudit.reports.schema.results import RunResults, to_json

FIRST = {"results.json": b"new", "evidence/results.json": b"newer", "evidence/strict/gate.json": b"made"}
SECOND = {"report.html": b"page", "evidence/report.html": b"exact page"}


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


def test_the_public_manifest_has_no_digest_of_the_evidence_but_a_keyed_one(tmp_path: Path) -> None:
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


def test_the_key_is_kept_when_the_run_is_made_again(tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    key, public = (run.evidence / "manifest.key").read_bytes(), (run.root / "manifest.json").read_bytes()
    remove_manifest(run)
    assert {path.name for path in run.evidence.glob("manifest*")} == {"manifest.key"}
    write_manifest(run)
    assert ((run.evidence / "manifest.key").read_bytes(), (run.root / "manifest.json").read_bytes()) == (key, public)


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
def test_every_change_of_the_evidence_is_seen(tmp_path: Path, name: str, change: bytes | None, what: str) -> None:
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


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    write, calls = manifest.write_atomically, iter(range(100))

    def fail(path: Path, content: bytes) -> None:
        if next(calls) == step:
            raise Killed
        write(path, content)

    monkeypatch.setattr(manifest, "write_atomically", fail)


# The public manifest, the evidence's, the public one; the files; the same three.
@pytest.mark.parametrize("first", range(3 + len(FIRST) + 3))
def test_a_replacement_killed_at_any_write_verifies_and_so_does_the_next_killed_at_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    for second in range(3 + len(SECOND) + 3):
        run = finished_run(tmp_path / f"{second}")
        (run.evidence / "strict").mkdir()
        for files, step in ((FIRST, first), (SECOND, second)):
            with monkeypatch.context() as patch:
                kill_at(patch, step)
                with pytest.raises(Killed):
                    replace_files(run, files)
            verify(run)
        if first or second:
            assert is_half_replaced(run)
            with pytest.raises(IncompleteError):
                manifest_bytes(run)
        replace_files(run, SECOND)
        assert not is_half_replaced(run)
        verify(run)
        assert {name: (run.root / name).read_bytes() for name in SECOND} == SECOND


def test_a_manifest_of_an_earlier_version_holds_is_told_of_and_is_written_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished_run(tmp_path / "run")
    for name in ("manifest.json", "manifest.key"):
        (run.evidence / name).unlink()
    digests = {name: hashlib.sha256(b"{}").hexdigest() for name in ("results.json", "evidence/results.json")}
    (run.root / "manifest.json").write_text(json.dumps({"sha256": digests}))
    assert run_command(["verify", str(run.root)]) == 0
    assert "of an earlier version of clinaudit: its digests confirm guesses of the evidence" in capsys.readouterr().err
    replace_files(run, {"results.json": to_json(RunResults()).encode()})
    assert verify(run) == 2
    assert json.loads((run.root / "manifest.json").read_text())["sha256"].keys() == {"results.json"}
    assert run_command(["verify", str(run.root)]) == 0
    assert capsys.readouterr().err == ""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.root / "results.json").write_text("{}")
    (run.evidence / "results.json").write_text("{}")
    write_manifest(run)
    return run


def test_a_signature_holds_for_its_key_alone_and_is_no_file_of_the_run(run: RunDirectory, tmp_path: Path) -> None:
    keys, others = write_site_keys(tmp_path), write_site_keys(tmp_path, "others")
    assert not is_signed(run)
    sign_manifest(run, keys.private)
    check_signature(run, keys.public)
    assert verify(run) == 2
    path = run.root / "manifest.sig"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(IntegrityError, match=r"no signature of this manifest by the key in others\.pub"):
        check_signature(run, others.public)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IntegrityError, match="no signature"):
        check_signature(run, keys.public)


def test_a_manifest_edited_by_hand_is_no_longer_the_signed_one(run: RunDirectory, tmp_path: Path) -> None:
    keys = write_site_keys(tmp_path)
    sign_manifest(run, keys.private)
    manifest = run.root / "manifest.json"
    manifest.write_text(manifest.read_text().replace(" ", "  ", 1))
    assert verify(run) == 2
    with pytest.raises(IntegrityError, match="no signature"):
        check_signature(run, keys.public)


def test_what_changes_the_run_removes_its_signature(run: RunDirectory, tmp_path: Path) -> None:
    keys = write_site_keys(tmp_path)
    for change in (
        lambda: replace_files(run, {"report.html": b"another"}),
        lambda: write_manifest(run, purged=True),
        lambda: remove_manifest(run),
    ):
        write_manifest(run)
        sign_manifest(run, keys.private)
        assert is_signed(run)
        change()
        assert not is_signed(run)
    write_manifest(run)
    with pytest.raises(IntegrityError, match="nobody signed this run"):
        check_signature(run, keys.public)


def test_half_replaced_files_are_not_signed(run: RunDirectory, tmp_path: Path, monkeypatch) -> None:
    from clinaudit.audit.runtime.run import manifest

    def stop(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    write = manifest.write_atomically
    monkeypatch.setattr(
        manifest, "write_atomically", lambda path, data: (write if path.name == "manifest.json" else stop)(path, data)
    )
    with pytest.raises(OSError, match="No space"):
        replace_files(run, {"report.html": b"another"})
    monkeypatch.undo()
    assert verify(run) == 3
    with pytest.raises(IncompleteError, match="clinaudit report"):
        sign_manifest(run, write_site_keys(tmp_path).private)
    assert not is_signed(run)


def test_which_keys_are_refused(run: RunDirectory, tmp_path: Path) -> None:
    keys = write_site_keys(tmp_path)
    locked = write_site_keys(tmp_path, "locked", passphrase=b"secret")
    with pytest.raises(BadInputError, match="no such key file: none"):
        sign_manifest(run, tmp_path / "none")
    with pytest.raises(BadInputError, match="locked with a passphrase"):
        sign_manifest(run, locked.private)
    keys.public.chmod(0o600)
    with pytest.raises(BadInputError, match=r"site\.pub holds no Ed25519 private key"):
        sign_manifest(run, keys.public)
    with pytest.raises(BadInputError, match=r"site\.pem holds no Ed25519 public key"):
        check_signature(run, keys.private)
    keys.private.chmod(0o640)
    with pytest.raises(UnsafeError, match="open to other users"):
        sign_manifest(run, keys.private)
    assert not is_signed(run)


def test_a_key_of_another_kind_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = tmp_path / "curve.pem"
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(BadInputError, match="no Ed25519 private key"):
        sign_manifest(run, path)


def test_without_the_library_it_is_said_how_to_get_it(run: RunDirectory, tmp_path: Path, monkeypatch) -> None:
    keys = write_site_keys(tmp_path)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for act, key in ((sign_manifest, keys.private), (check_signature, keys.public)):
        with pytest.raises(UsageError, match=r'pip install "clinaudit\[sign\]"'):
            act(run, key)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL is not installed")
def test_openssl_checks_it_too(run: RunDirectory, tmp_path: Path) -> None:
    keys = write_site_keys(tmp_path)
    sign_manifest(run, keys.private)
    check = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", keys.public, "-rawin"]
    files = ["-in", run.root / "manifest.json", "-sigfile", run.root / "manifest.sig"]
    assert subprocess.run([*check, *files], capture_output=True, check=False).returncode == 0
