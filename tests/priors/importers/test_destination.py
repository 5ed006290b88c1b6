"""The corpus appears whole or not at all: kills, other imports, and places that are taken."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.exports import tables
from support.exports.importing import import_export

from clinaudit.audit.commands.main import run
from clinaudit.errors import StorageError, UsageError
from clinaudit.priors.importers.corpus_writer import left_behind, made_whole

_STUCK = """
import signal, sys, time
# A test run under nohup hands down that SIGHUP is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from pathlib import Path
from clinaudit.audit.runtime.console import ends_in_order
from clinaudit.priors.importers.corpus_writer import made_whole
with ends_in_order(), made_whole(Path(sys.argv[1])) as directory:
    (directory / "notes.csv.zst").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def _ended_by(number: signal.Signals, destination: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _STUCK, str(destination)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"writing\n"
        child.send_signal(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_import_that_is_stopped_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    _ended_by(number, tmp_path / "corpus")
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_leaves_is_named_and_closed_and_stops_no_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    destination = tmp_path / "corpus"
    _ended_by(signal.SIGKILL, destination)
    assert not destination.exists()
    [left] = left_behind(destination)
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    source = tables.write_mimic(tmp_path / "physionet")
    assert run(["import", "mimic-iv-note", str(source), str(destination), "--quiet"]) == 0
    assert f"note: {left} (PHI) is of an import that was killed" in capsys.readouterr().out
    assert (left / "notes.csv.zst").read_text(encoding="utf-8") == "half"


def test_what_others_made_beside_it_is_left_alone(tmp_path: Path) -> None:
    for name in (".corpus.partial", ".corpus.mine.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("kept", encoding="utf-8")
    import_export("mimic-iv-note", tables.write_mimic(tmp_path / "physionet"), tmp_path / "corpus")
    assert [(tmp_path / name / "x").read_text(encoding="utf-8") for name in (".corpus.partial", ".corpus.mine.partial")]
    assert (tmp_path / "corpus").is_dir()


def test_a_full_disk_is_told_with_the_place(tmp_path: Path) -> None:
    def fill(_directory: Path) -> None:
        with Path("/dev/full").open("w", encoding="utf-8") as file:
            file.write("x")

    with pytest.raises(StorageError, match=f"cannot write {tmp_path}/corpus: No space left"):  # noqa: SIM117
        with made_whole(tmp_path / "corpus") as directory:
            fill(directory)
    assert list(tmp_path.iterdir()) == []


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
