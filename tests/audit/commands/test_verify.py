"""`clinaudit verify`: the count of files, one digest of the run, and whose signature it bears."""

import hashlib
from pathlib import Path

import pytest
from support.runs.site_keys import write_site_keys

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.run.directory import RunDirectory
from clinaudit.audit.run.manifest import write_manifest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run = RunDirectory(tmp_path / "run")
    run.create()
    (run.root / "results.json").write_text("{}")
    write_manifest(run)
    return run.root


def verify(root: Path, *options: str | Path) -> int:
    return run_command(["verify", str(root), *map(str, options)])


def test_it_prints_one_digest_of_the_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(root) == 0
    digest = hashlib.sha256((root / "manifest.json").read_bytes()).hexdigest()
    assert capsys.readouterr().out.splitlines() == [
        "verified: 1 files are what the audit wrote",
        f"run digest sha256:{digest}: write it into the minutes",
    ]
    (root / "results.json").write_text("[]")
    assert verify(root) == 7
    assert capsys.readouterr().out == ""


def test_it_signs_and_checks(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys, others = write_site_keys(tmp_path), write_site_keys(tmp_path, "others")
    assert verify(root, "--key", keys.public) == 7
    assert verify(root, "--sign", keys.private) == 0
    assert f"signed: {root / 'manifest.sig'}" in capsys.readouterr().out
    assert verify(root) == 0
    assert "--key PUBKEY checks whose it is" in capsys.readouterr().out
    assert verify(root, "--key", keys.public) == 0
    assert "made with the private key of site.pub" in capsys.readouterr().out
    assert verify(root, "--key", others.public) == 7
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error[INTEGRITY]: manifest.sig is no signature of this manifest")


def test_what_was_changed_is_not_signed(root: Path, tmp_path: Path) -> None:
    (root / "results.json").write_text("[]")
    assert verify(root, "--sign", write_site_keys(tmp_path).private) == 7
    assert not (root / "manifest.sig").exists()
