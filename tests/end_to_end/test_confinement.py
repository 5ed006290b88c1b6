"""Nothing leaves: libraries write inside the run only, and a model that is served elsewhere is refused."""

import os
import subprocess

import pytest
from support.runs.forked_command import run_command
from support.runs.tiny_audit import command

pytestmark = pytest.mark.slow


def test_libraries_write_inside_the_run_only(tiny_demo, tmp_path) -> None:
    home, temporary, run = tmp_path / "home", tmp_path / "tmp", tmp_path / "run"
    home.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary)}
    options = ["--tier", "public", "--max-new-tokens", "5", "--quiet", "--patients-per-cell", "2"]
    done = subprocess.run(
        command(tiny_demo, run, *options), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 8), done.stderr
    assert list(home.rglob("*")) == []
    assert list(temporary.iterdir()) == []


def test_a_served_model_elsewhere_is_refused_before_anything_is_sent(tiny_demo, tmp_path) -> None:
    arguments = command(tiny_demo, tmp_path / "run", "--tokenizer", str(tiny_demo.model), "--context-length", "2048")
    arguments[2] = "openai:https://models.example.org/v1#m"
    done = run_command(arguments)
    assert done.returncode == 5
    assert done.stderr.startswith("error[UNSAFE]: ")
    assert not (tmp_path / "run").exists()
