"""The start of the program, before a command is known, and its end by a signal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel, model_serializer

from clinaudit.audit.commands.main import run
from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.runtime.console import ends_in_order

#: What takes seconds or hundreds of megabytes.
HEAVY = frozenset(
    {
        *("torch", "transformers", "vllm", "spacy", "thinc", "presidio_analyzer", "psmpy", "sklearn", "seaborn"),
        *("matplotlib", "pandas", "scipy.optimize", "scipy.spatial", "scipy.stats", "numba", "ray", "polars", "openai"),
    }
)

_INTERRUPTED_WHILE_LOADING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "clinaudit.audit.commands.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""


def test_an_interrupt_while_modules_load_prints_no_traceback(tmp_path):
    (tmp_path / "sitecustomize").with_suffix(".py").write_text(_INTERRUPTED_WHILE_LOADING)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [sys.executable, "-m", "clinaudit", "policy", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "")


def loaded_by(program):
    """Return what a program prints, and the modules that it loads."""
    program += "\nimport sys; print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    printed, _, modules = done.stdout.rpartition("LOADED")
    return printed, set(modules.split())


def running(*arguments):
    """Return the program that runs a command line, which must end well."""
    return f"from clinaudit.audit.commands.main import run; assert run({list(arguments)}) == 0"


def test_help_is_light_and_shows_examples():
    commands = ("", "audit", "check", "show")
    printed, loaded = loaded_by("\n".join(running(*command.split(), "--help") for command in commands))
    assert not loaded & {*HEAVY, "numpy"}
    assert all("Example" in told for told in printed.split("Usage:")[1:])
    assert printed.count("Usage:") == len(commands)


@pytest.mark.parametrize("has_table", [True, False])
def test_check_loads_nothing_heavy_for_labels_cohorts_or_a_policy(tmp_path, has_table):
    # Large enough for cohorts of every diagnosis.
    write_demo_corpus(tmp_path / "corpus", seed=0, patients_per_arm=24)
    if not has_table:
        (tmp_path / "corpus" / "diagnoses.csv").unlink()
    _, loaded = loaded_by(running("check", str(tmp_path / "corpus"), "--policy", "strict", "--quiet"))
    assert "clinaudit.audit.preview.survey" in loaded
    assert ("clinaudit.audit.measures.judge.lexicon.judge" in loaded) is not has_table
    # What it says of power is read from tables of estimates.
    assert loaded & HEAVY <= {"polars"}


class _Written(BaseModel):
    """Its writing is interrupted, and pydantic makes an error of its own of that."""

    number: int

    @model_serializer
    def write(self):
        signal.raise_signal(self.number)
        return {}


def _fail_on_the_way_out(number):
    try:
        os.kill(os.getpid(), number)
    finally:
        raise OSError("of Ada Lund")


@pytest.mark.parametrize(
    "interrupted",
    [
        lambda number: os.kill(os.getpid(), number),
        lambda number: _Written(number=number).model_dump_json(),
        _fail_on_the_way_out,
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_says_so_and_leaves_signals_as_they_were(
    capsys, monkeypatch, tmp_path, number, interrupted
):
    # Other libraries in this process, such as Ray, may have left a handler of their own.
    before = signal.signal(number, signal.SIG_DFL)
    monkeypatch.setattr("clinaudit.audit.demo.training.run_demo", lambda *_args, **_kwargs: interrupted(number))
    try:
        assert run(["demo", str(tmp_path / "d")]) == 130
        assert number == signal.SIGINT or signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, signal.SIG_DFL if before is None else before)
    assert capsys.readouterr().err == "error[INTERRUPTED]: stopped; run the same command again to go on\n"


def test_an_error_on_the_way_out_is_the_cause_of_the_interrupt():
    with pytest.raises(KeyboardInterrupt) as raised, ends_in_order():
        _fail_on_the_way_out(signal.SIGINT)
    assert str(raised.value.__cause__) == "of Ada Lund"
