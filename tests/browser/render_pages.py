"""Writes the pages that the browser tests open: reports on planted results, and the report of a small real audit.

python tests/browser/render_pages.py FOLDER
"""

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from filled_results import all_null, empty, filled

from clinaudit.reports.page import render_page
from clinaudit.reports.suppression import suppress

PROVENANCE = {
    "settings": {"seed": 0, "tiers": ["public", "encounter"], "policy": None, "resumed": False},
    "digests": {"model": "ab" * 32},
}
VARIANTS = {
    "full": filled,
    "small": lambda: filled(cell=30),
    "train-only": lambda: filled(nontrain=False),
    "all-null": all_null,
    "empty": empty,
}


def write_demo_report(folder: Path) -> None:
    """Train a small model on invented patients, audit it, and write its report to `folder`/demo.html."""
    from clinaudit.audit.cli import run as run_command
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.demo.training import TrainingPlan, train_demo_model
    from clinaudit.audit.progress import Progress

    with tempfile.TemporaryDirectory() as made:
        corpus, model, run = (Path(made) / name for name in ("corpus", "model", "run"))
        write_demo_corpus(corpus, seed=3, patients_per_arm=24)
        plan = TrainingPlan(vocabulary=700, layers=2, width=96, heads=2, hidden=256, epochs=14, validation_notes=4)
        train_demo_model(corpus, model, seed=3, progress=Progress(quiet=True), plan=plan)
        options = ["--quiet", "--engine", "transformers", "--patients-per-cell", "6", "--max-new-tokens", "100"]
        with redirect_stdout(io.StringIO()):
            status = run_command(["audit", str(model), str(corpus), "--out", str(run), *options])
        if status not in (0, 1, 8):
            sys.exit(f"the audit ended with status {status}")
        (folder / "demo.html").write_bytes((run / "report.html").read_bytes())


def write_pages(folder: Path) -> None:
    """Write every page to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, results in VARIANTS.items():
        page = render_page(suppress(results()), PROVENANCE)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    write_demo_report(folder)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
