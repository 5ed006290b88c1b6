"""The command that audits the tiny demo, with options that make it quick."""

import sys
from pathlib import Path

from support.runs.tiny_demo import TinyDemo

OPTIONS = ["--quiet", "--max-new-tokens", "160", "--tier", "public_name_meds", "--tier", "encounter", "--ngram", "20"]
FAST = [*OPTIONS, "--engine", "transformers", "--patients-per-cell", "6"]


def command(tiny_demo: TinyDemo, run: Path, *options: str) -> list[str]:
    program = str(Path(sys.executable).with_name("clinaudit"))
    return [program, "audit", str(tiny_demo.model), str(tiny_demo.corpus), "--out", str(run), *options]
