"""The start of the program, before a command is known, and its end by a signal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clinaudit.audit.commands.main import run

_INTERRUPTED_WHILE_LOADING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "clinaudit.audit.commands.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


def test_an_interrupt_while_modules_load_prints_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize").with_suffix(".py").write_text(_INTERRUPTED_WHILE_LOADING)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [sys.executable, "-m", "clinaudit", "policy", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_says_so_and_leaves_signals_as_they_were(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals
) -> None:
    # Other libraries in this process, such as Ray, may have left a handler of their own.
    before = signal.signal(number, signal.SIG_DFL)
    monkeypatch.setattr("clinaudit.audit.demo.run.run_demo", lambda *_args, **_kwargs: os.kill(os.getpid(), number))
    try:
        assert run(["demo", str(tmp_path / "d")]) == 130
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, signal.SIG_DFL if before is None else before)
    assert capsys.readouterr().err == "error[INTERRUPTED]: stopped; run the same command again to go on\n"
