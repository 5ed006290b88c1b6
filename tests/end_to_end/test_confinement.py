"""Nothing leaves: libraries write inside the run only, and a model that is served elsewhere is refused."""

import pytest
from support.runs.forked_command import run_command
from support.runs.tiny_audit import command, written_outside

pytestmark = pytest.mark.slow


def test_libraries_write_inside_the_run_only(audited) -> None:
    assert written_outside(audited) == []


def test_a_served_model_elsewhere_is_refused_before_anything_is_sent(tiny_demo, tmp_path) -> None:
    arguments = command(tiny_demo, tmp_path / "run", "--tokenizer", str(tiny_demo.model), "--context-length", "2048")
    arguments[2] = "openai:https://models.example.org/v1#m"
    done = run_command(arguments)
    assert done.returncode == 5
    assert done.stderr.startswith("error[UNSAFE]: ")
    assert not (tmp_path / "run").exists()
