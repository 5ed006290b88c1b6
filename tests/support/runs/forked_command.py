"""The `clinaudit` command in a process forked from one that has imported the heavy libraries: a start costs a third.

Owns that process and what its children print. Each child imports the program itself anew, and nothing that an earlier
command left in memory is there. Only the installed command can show what a process reads while it imports the
libraries, where they write then, and that the order of sets, which a process draws and its children share, is nowhere
in the results: the first audit of each kind is that command, and so is what a killed one is compared with.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from clinaudit.audit.runtime.run.directory import take_libraries_offline

#: What an audit has imported at its end; no module of ours, nor polars, whose threads a fork would not take along.
_LIBRARIES = [
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.llama.modeling_llama",
    "spacy",
    "negspacy.negation",
    "psmpy",
    "numba",
    "jinja2",
    "openai",
    "scipy.optimize",
    "presidio_analyzer",
]
#: Between two looks at what a process has done: short beside its stages, long beside the look.
_LOOK_S = 0.01
_LONGEST_S = 600


@dataclass(frozen=True, slots=True)
class _Printed:
    """Where a child's two streams go."""

    stdout: Path
    stderr: Path


def run_command(arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """Run a command line, program first, to its end."""
    with tempfile.TemporaryDirectory() as folder:
        printed = _Printed(Path(folder, "stdout"), Path(folder, "stderr"))
        process = _start(arguments, printed, environment)
        process.join(_LONGEST_S)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"{arguments[1]} takes longer than {_LONGEST_S} s")
        assert process.exitcode is not None
        out, errors = (path.read_text(encoding="utf-8") for path in (printed.stdout, printed.stderr))
        return CompletedProcess(list(arguments), process.exitcode, out, errors)


def kill_once(reached: Callable[[], bool], arguments: Sequence[str]) -> int:
    """Start a command line and kill it as soon as `reached` says so; return how it ended."""
    process = _start(arguments, _Printed(Path(os.devnull), Path(os.devnull)), None)
    assert process.pid is not None
    while not reached() and process.is_alive():
        time.sleep(_LOOK_S)
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _start(arguments: Sequence[str], printed: _Printed, environment: Mapping[str, str] | None) -> ForkServerProcess:
    context = get_context("forkserver")
    context.set_forkserver_preload(_LIBRARIES)
    variables = dict(os.environ if environment is None else environment)
    with mock.patch.dict(os.environ):
        # As the command does before it imports any of them.
        take_libraries_offline()
        forkserver.ensure_running()
    process = context.Process(target=_become, args=(list(arguments), printed, variables))
    process.start()
    return process


def _become(arguments: list[str], printed: _Printed, environment: dict[str, str]) -> None:
    """Be the command: its environment, its streams, its arguments."""
    os.environ.clear()
    os.environ.update(environment)
    for path, stream in ((printed.stdout, 1), (printed.stderr, 2)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream)
    sys.argv = arguments

    from clinaudit.__main__ import main

    main()
