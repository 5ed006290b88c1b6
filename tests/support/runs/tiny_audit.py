"""The command that audits the tiny demo, with options that make it quick; its home and temporary files, where asked."""

import os
import subprocess
import sys
from pathlib import Path

from support.runs.tiny_demo import TinyDemo

OPTIONS = ["--quiet", "--max-new-tokens", "160", "--tier", "public_name_meds", "--tier", "encounter", "--ngram", "20"]
FAST = [*OPTIONS, "--engine", "transformers", "--patients-per-cell", "6"]
#: Where a library writes that is not told to write into the run.
_OUTSIDE = {"HOME": "home", "TMPDIR": "tmp"}


def command(tiny_demo: TinyDemo, run: Path, *options: str) -> list[str]:
    program = str(Path(sys.executable).with_name("clinaudit"))
    return [program, "audit", str(tiny_demo.model), str(tiny_demo.corpus), "--out", str(run), *options]


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
