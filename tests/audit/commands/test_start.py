"""The start of the program, before a command is known."""

import os
import signal
import subprocess
import sys
from pathlib import Path

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
