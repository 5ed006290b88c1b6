"""Where stdout takes nothing, or stderr is not there: finished work is complete, a text that is lost is an error."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

import pytest
from support.exports import tables

from clinaudit.audit.commands.main import run
from clinaudit.audit.runtime.console.progress import Progress


@contextmanager
def full_stdout() -> Iterator[None]:
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 (what is left in it cannot be written either)
    with redirect_stdout(full):
        yield
    with suppress(OSError):
        full.close()


def test_an_import_that_cannot_say_so_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, destination = tables.write_mimic(tmp_path / "physionet"), tmp_path / "corpus"
    with full_stdout():
        assert run(["import", "mimic-iv-note", str(source), str(destination), "--quiet"]) == 0
    assert "standard output cannot be written (No space left on device); what was asked for is complete" in (
        capsys.readouterr().err
    )
    assert (destination / "import.json").is_file()


@pytest.mark.parametrize("arguments", [["check", "NOTES", "--show", "a"], ["policy", "list"], ["--help"]])
def test_a_text_that_was_asked_for_and_is_lost_is_an_error(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"patient_id": "a", "note_id": "1", "text": "CC: cough"}\n', encoding="utf-8")
    with full_stdout():
        assert run([str(notes) if word == "NOTES" else word for word in arguments]) == 6
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error[STORAGE]: ")
    assert "standard output" in error


def test_without_stderr_work_goes_on_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    # A process started with descriptor 2 closed has no stderr at all.
    monkeypatch.setattr(sys, "stderr", None)
    done = []
    with Progress().stage("counting", total=2, unit="notes") as advance:
        for note in range(2):
            advance(1)
            done.append(note)
    assert done == [0, 1]


def test_the_last_line_says_how_much_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress().stage("counting", total=2, unit="notes") as advance:
        advance(2)
    assert capsys.readouterr().err.startswith("counting: 2/2 notes in ")


class Clock:
    """Time that goes on by a second at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_time_left_of_all_stages_goes_by_their_shares(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr("clinaudit.audit.runtime.console.progress.time", clock)
    progress = Progress(form="json")
    # What is expected to take a quarter and three quarters of the time takes 20 s and as much a unit.
    progress.expect({"reading": 10.0, "writing": 30.0})
    for title in ("reading", "counting", "writing"):
        with progress.stage(title, total=20, unit="notes") as advance:
            for _ in range(20):
                clock.now += 1 if title != "writing" else 3
                advance(1)
    progress.say("done")
    rows = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert rows.pop() == {"message": "done"}
    at_ten, at_end = rows[0], rows[1]
    assert (at_ten["done"], at_ten["seconds"], at_ten["left"], at_ten["ended"]) == (10, 10, 10, False)
    # 10 s for half of a quarter of the work: seven eighths are left.
    assert at_ten["left_of_all"] == pytest.approx(70)
    assert (at_end["left"], at_end["left_of_all"], at_end["ended"]) == (None, 60, True)
    # A stage that nobody expected says its own time alone.
    assert {row["left_of_all"] for row in rows if row["stage"] == "counting"} == {None}
    # After 20 s for the first quarter and 12 s more for a fifteenth of the others: 32 s for 10 + 6 of 40.
    (some,) = [row for row in rows if row["stage"] == "writing" and row["done"] == 4]
    assert some["left_of_all"] == pytest.approx(24 * 32 / 16)
    assert rows[-1]["left_of_all"] == 0


def test_a_stage_that_comes_again_or_has_nothing_to_do_is_not_counted_as_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr("clinaudit.audit.runtime.console.progress.time", clock)
    progress = Progress(form="json")
    progress.expect({"reading": 10.0, "masking": 60.0, "writing": 30.0})
    for title, total in (("reading", 10), ("masking", 0), ("reading", 10), ("writing", 10)):
        with progress.stage(title, total=total, unit="notes") as advance:
            clock.now += total
            advance(total)
    # After 10 s for 10 of 40 that are left once there is nothing to mask.
    first, again, last = (json.loads(line)["left_of_all"] for line in capsys.readouterr().err.splitlines())
    assert (first, again, last) == (90, None, 0)


def test_progress_for_people_says_both_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr("clinaudit.audit.runtime.console.progress.time", clock)
    progress = Progress()
    progress.expect({"reading": 1.0, "writing": 3.0})
    with progress.stage("reading", total=20, unit="notes") as advance:
        for _ in range(20):
            clock.now += 6
            advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[3] == "reading: 8/20 notes, about 1 min 12 s left; of all stages about 7 min 12 s left"
    assert lines[-1] == "reading: 20/20 notes in 2 min 0 s; of all stages about 6 min 0 s left"
    Progress(quiet=True, form="json").say("nothing")
    assert capsys.readouterr().err == ""
