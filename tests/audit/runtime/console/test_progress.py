"""Progress where there is no stderr to write it to: the work goes on."""

import sys

import pytest

from clinaudit.audit.runtime.console.progress import Progress


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
