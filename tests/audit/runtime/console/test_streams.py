"""Where stdout takes nothing, or stderr is not there: finished work is complete, a text that is lost is an error."""

import sys
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

import pytest
from support.exports import tables

from clinaudit.audit.commands.main import run
from clinaudit.audit.runtime.console import Progress


@contextmanager
def full_stdout():
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 (what is left in it cannot be written either)
    with redirect_stdout(full):
        yield
    with suppress(OSError):
        full.close()


def test_an_import_that_cannot_say_so_is_complete(tmp_path, capsys):
    source, destination = tables.write_mimic(tmp_path / "physionet"), tmp_path / "corpus"
    with full_stdout():
        assert run(["import", "mimic-iv-note", str(source), str(destination), "--quiet"]) == 0
    assert "standard output cannot be written (No space left on device); what was asked for is complete" in (
        capsys.readouterr().err
    )
    assert (destination / "import.json").is_file()


@pytest.mark.parametrize("arguments", [["check", "NOTES", "--quiet"], ["policy", "list"], ["--help"]])
def test_a_text_that_was_asked_for_and_is_lost_is_an_error(arguments, tmp_path, capsys):
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"patient_id": "a", "note_id": "1", "text": "CC: cough"}\n', encoding="utf-8")
    with full_stdout():
        assert run([str(notes) if word == "NOTES" else word for word in arguments]) == 6
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error[STORAGE]: ")
    assert "standard output" in error


def test_without_stderr_work_goes_on_in_silence(monkeypatch):
    # A process started with descriptor 2 closed has no stderr at all.
    monkeypatch.setattr(sys, "stderr", None)
    done = []
    with Progress().stage("counting", total=2, unit="notes") as advance:
        for note in range(2):
            advance(1)
            done.append(note)
    assert done == [0, 1]
