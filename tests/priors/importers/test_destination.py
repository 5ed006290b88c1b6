"""The corpus appears whole or not at all: kills, other imports, and places that are taken."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.exports import tables
from support.exports.importing import import_export

from clinaudit.errors import StorageError, UsageError
from clinaudit.priors.importers.destination import made_whole

_STUCK = """
import sys, time
from pathlib import Path
from clinaudit.priors.importers.destination import made_whole
with made_whole(Path(sys.argv[1])) as directory:
    (directory / "notes.csv.zst").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_killed_import_leaves_no_corpus_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    destination = tmp_path / "corpus"
    child = subprocess.Popen([sys.executable, "-c", _STUCK, str(destination)], stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"writing\n"
        with pytest.raises(StorageError, match="another import is writing to DEST"), made_whole(destination):
            pass
        # The other's work is left alone.
        assert (tmp_path / ".corpus.partial" / "notes.csv.zst").read_text(encoding="utf-8") == "half"
        child.send_signal(signal.SIGKILL)
    assert not destination.exists()
    assert stat.S_IMODE((tmp_path / ".corpus.partial").stat().st_mode) == 0o700
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "physionet"), destination)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "physionet"]
    assert "half" not in {path.read_bytes()[:4].decode("latin-1") for path in destination.iterdir()}


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def stop(directory: Path) -> None:
        (directory / "notes.csv").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), made_whole(tmp_path / "corpus") as directory:
        stop(directory)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("kept", encoding="utf-8")
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for name in ("full", "file", "link"):
        with pytest.raises(UsageError, match="give"), made_whole(tmp_path / name):
            pass
    assert (tmp_path / "full" / "x").read_text(encoding="utf-8") == "kept"
    with made_whole(tmp_path / "empty") as directory:
        (directory / "notes.csv").write_text("whole", encoding="utf-8")
    assert [path.name for path in (tmp_path / "empty").iterdir()] == ["notes.csv"]
    assert stat.S_IMODE((tmp_path / "empty").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "empty" / "notes.csv").stat().st_mode) == 0o600


def test_the_present_empty_directory_may_be_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")
    with made_whole(Path()) as directory:
        (directory / "notes.csv").write_text("whole", encoding="utf-8")
    assert [path.name for path in (tmp_path / "corpus").iterdir()] == ["notes.csv"]


def test_what_came_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    destination = tmp_path / "corpus"

    def take() -> None:
        destination.mkdir()
        (destination / "x").write_text("kept", encoding="utf-8")

    with pytest.raises(UsageError, match="DEST holds other things"), made_whole(destination):
        take()
    assert (destination / "x").read_text(encoding="utf-8") == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
