"""The CPU install says what the system lacks before it downloads anything."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "install-cpu"


@pytest.mark.parametrize(
    ("python_lacks", "compiler", "told"),
    [
        ("libnuma", "sh", "libnuma1"),
        ("nothing", "no-such-compiler", "g++"),
        ("Python.h", "sh", "python3.11-dev"),
        ("libnuma", "no-such-compiler", "libnuma1 g++"),
    ],
)
def test_a_system_without_what_vllm_needs_is_told_the_packages(
    tmp_path: Path, python_lacks: str, compiler: str, told: str
) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    python = tmp_path / "python"
    # Of the right version.
    python.write_text(f'#!/bin/sh\ncase "$2" in *{python_lacks}*) exit 1 ;; esac\nexit 0\n', encoding="utf-8")
    python.chmod(0o700)
    done = subprocess.run(
        [tmp_path / "scripts" / "install-cpu"],
        env=os.environ | {"PYTHON": str(python), "CXX": compiler},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"apt-get install {told}\n")
    assert not (tmp_path / ".venv").exists()
