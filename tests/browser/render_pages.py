"""Writes the pages that the browser tests open: reports, comparisons and the viewer on planted results, and the report
and the viewer of a small real audit.

python tests/browser/render_pages.py FOLDER
"""

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.results.filled_results import all_null, empty, filled
from support.runs.compared_pair import plant
from support.runs.planted_evidence import planted_evidence

from clinaudit.audit.commands.main import run as run_command
from clinaudit.reports.pages.evidence import render_evidence
from clinaudit.reports.pages.report import render_page
from clinaudit.reports.suppression.results import suppress

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


def write_demo_pages(folder: Path) -> None:
    """Train a small model on invented patients, audit it, and write its report and its viewer to `folder`."""
    from clinaudit.audit.console.progress import Progress
    from clinaudit.audit.demo.corpus import write_demo_corpus
    from clinaudit.audit.demo.fitting import TrainingPlan
    from clinaudit.audit.demo.training import train_demo_model

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
        with redirect_stdout(io.StringIO()):
            run_command(["evidence", str(run), str(corpus)])
        (folder / "demo-evidence.html").write_bytes((run / "evidence" / "evidence.html").read_bytes())


def write_comparisons(folder: Path) -> None:
    """Compare two planted runs with and without a certificate."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        planted = plant(root, leaking={"pt-train-00": 60}, stated=["pt-train-01"])
        ids = root / "ids.txt"
        # One of them is in neither run.
        ids.write_text("\n".join([*planted.named, "pt-" + "0123456789abcdef" * 4]))
        _compare(planted.a, planted.b, root / "named", "--forgotten", str(ids))
        (folder / "compare-named.html").write_bytes((root / "named" / "compare.html").read_bytes())
        (folder / "certificate.html").write_bytes((root / "named" / "evidence" / "certificate.html").read_bytes())
        _compare(planted.a, planted.b, root / "plain")
        (folder / "compare.html").write_bytes((root / "plain" / "compare.html").read_bytes())


def _compare(a: Path, b: Path, out: Path, *options: str) -> None:
    with redirect_stdout(io.StringIO()):
        status = run_command(["compare", str(a), str(b), "--out", str(out), *options])
    if status not in (0, 1, 8):
        sys.exit(f"the comparison ended with status {status}")


def write_pages(folder: Path) -> None:
    """Write every page to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, results in VARIANTS.items():
        page = render_page(suppress(results()), PROVENANCE)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    (folder / "evidence.html").write_text(render_evidence(planted_evidence()), encoding="utf-8")
    (folder / "evidence-none.html").write_text(render_evidence(planted_evidence(0)), encoding="utf-8")
    write_comparisons(folder)
    write_demo_pages(folder)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
