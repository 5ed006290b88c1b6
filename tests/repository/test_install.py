"""The CPU install says what the system lacks before it downloads anything."""

import os
import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "install-cpu"


def test_a_system_without_the_library_that_vllm_needs_is_told_its_package(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    python = tmp_path / "python"
    # Of the right version, and without the library.
    python.write_text('#!/bin/sh\ncase "$2" in *libnuma*) exit 1 ;; esac\nexit 0\n', encoding="utf-8")
    python.chmod(0o700)
    done = subprocess.run(
        [tmp_path / "scripts" / "install-cpu"],
        env=os.environ | {"PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install libnuma1" in done.stderr
    assert not (tmp_path / ".venv").exists()
