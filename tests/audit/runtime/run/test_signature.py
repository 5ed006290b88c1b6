"""The signature of a run: it holds for the manifest as signed, by the key that signed it, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs.site_keys import write_site_keys

from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import (
    check_signature,
    is_signed,
    remove_manifest,
    replace_files,
    sign_manifest,
    verify,
    write_manifest,
)
from clinaudit.errors import BadInputError, IncompleteError, IntegrityError, UnsafeError, UsageError


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
