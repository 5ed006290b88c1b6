"""The `clinaudit` command in this process, where the libraries are loaded; and in a process that is killed.

Only the installed command can show what a process reads while it imports the libraries, where they write then, and that
the order of sets, which a process draws, is nowhere in the results: the first audit of each kind is that command, and
it is what the others are compared with. What is killed is forked from a process that has imported the heavy libraries,
which costs a third of a start, and imports the program itself anew.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import forkserver, get_context
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from support.runs.tiny_demo import TinyDemo

from clinaudit.audit.runtime.run.directory import take_libraries_offline

#: What an audit has imported at its end; no module of ours, nor polars, whose threads a fork would not take along.
_LIBRARIES = [
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.llama.modeling_llama",
    "spacy",
    "psmpy",
    "numba",
    "jinja2",
    "openai",
    "scipy.optimize",
]
OPTIONS = ["--quiet", "--max-new-tokens", "160", "--tier", "public_name_meds", "--tier", "encounter", "--ngram", "20"]
# Of everyday tasks there are hundreds: tests/audit/measures/everyday asks them.
OPTIONS += ["--no-everyday"]
#: What `audited` is asked, whatever engine decodes.
ASKED = [*OPTIONS, "--patients-per-cell", "6", "--diagnosis=hiv", "--diagnosis=depression"]
FAST = [*ASKED, "--engine", "transformers"]
PROGRAM = str(Path(sys.executable).with_name("clinaudit"))
#: Where a library writes that is not told to write into the run.
_OUTSIDE = {"HOME": "home", "TMPDIR": "tmp"}
#: Between two looks at what a process has done: short beside its stages, long beside the look.
_LOOK_S = 0.01


def command(tiny_demo: TinyDemo, run: Path, *options: str) -> list[str]:
    """Return the command line that audits the tiny demo."""
    return [PROGRAM, "audit", str(tiny_demo.model), str(tiny_demo.corpus), "--out", str(run), *options]


def audit_apart(tiny_demo: TinyDemo, folder: Path, *options: str) -> Path:
    """Audit into a folder by the installed command, beside a home and a place for temporary files; return the run."""
    environment = dict(os.environ)
    for variable, name in _OUTSIDE.items():
        (folder / name).mkdir(exist_ok=True)
        environment[variable] = str(folder / name)
    run = folder / "run"
    arguments = command(tiny_demo, run, *options)
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 8), done.stderr
    assert done.stderr == ""
    assert "report.html" in done.stdout
    return run


def written_outside(run: Path) -> list[Path]:
    """Return what an audit by `audit_apart` left in its home and among the temporary files."""
    return [path for name in _OUTSIDE.values() for path in (run.parent / name).rglob("*")]


def units(run: Path, table: str, file: str = "state.sqlite") -> int:
    """Return how many units of a stage are finished in a run that may be under way."""
    try:
        with sqlite3.connect(f"file:{run / 'evidence' / 'work' / file}?mode=ro", uri=True) as connection:
            return int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def run_command(arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """Run a command line, program first, in this process; what it prints is caught at the descriptors."""
    from clinaudit.audit.commands.main import run

    kept = os.dup(1), os.dup(2)
    changed = mock.patch.dict(os.environ, environment or {}, clear=environment is not None)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        try:
            for file, descriptor in ((out, 1), (errors, 2)):
                os.dup2(file.fileno(), descriptor)
            with changed, redirect_stdout(out), redirect_stderr(errors):
                status = run(arguments[1:])
        finally:
            # The run's own folder of temporary files.
            tempfile.tempdir = None
            for descriptor in (1, 2):
                os.dup2(kept[descriptor - 1], descriptor)
                os.close(kept[descriptor - 1])
        texts = []
        for file in (out, errors):
            file.flush()
            file.seek(0)
            texts.append(file.read())
    return CompletedProcess(list(arguments), status, *texts)


def kill_once(
    reached: Callable[[], bool],
    arguments: Sequence[str],
    *,
    by: signal.Signals = signal.SIGKILL,
    errors: str | Path = os.devnull,
) -> int:
    """Start a command line and send it a signal as soon as `reached` says so; return how it ended.

    `errors` takes its stderr.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(_LIBRARIES)
    with mock.patch.dict(os.environ):
        # As the command does before it imports any of them.
        take_libraries_offline()
        forkserver.ensure_running()
    process = context.Process(target=_become, args=(list(arguments), dict(os.environ), Path(errors)))
    process.start()
    assert process.pid is not None
    while not reached() and process.is_alive():
        time.sleep(_LOOK_S)
    if process.is_alive():
        os.kill(process.pid, by)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _become(arguments: list[str], environment: dict[str, str], errors: Path) -> None:
    """Be the command, as a shell's background job is, which starts with the interrupt ignored."""
    os.environ.clear()
    os.environ.update(environment)
    for place, stream in ((Path(os.devnull), 1), (errors, 2)):
        with place.open("wb") as file:
            os.dup2(file.fileno(), stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.argv = arguments

    from clinaudit.__main__ import main

    main()
