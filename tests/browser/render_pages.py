"""Writes the pages that the browser tests open.

Reports and annexes, comparisons, the viewer, the review of samples, the
benchmark of filters and an unlearning evaluation on planted results, and the pages of a small real audit.

python tests/browser/render_pages.py FOLDER
"""

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.full_report import REPORTS
from support.pii.filled_bench import bare_bench, filled_bench
from support.pii.marked_samples import planted_samples
from support.runs.compared_pair import plant
from support.runs.planted_evidence import planted_evidence
from support.runs.tiny_demo import TinyDemo, make_tiny_demo
from support.unlearning.filled_evaluation import bare_evaluation, filled_evaluation

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.pii.review.review_file import REVIEW_PAGE, read_sample_file, write_review_page
from clinaudit.reports.pages.benchmarks import render_pii_bench, render_unlearning
from clinaudit.reports.pages.evidence import render_evidence
from clinaudit.reports.pages.report import render_annex, render_report

WITH_ANNEX = ("full", "train-only", "empty")
#: The small audit's pages by their places in the run.
OF_RUN = {
    "demo": "report.html",
    "demo-annex": "annex.html",
    "exact-demo": "evidence/report.html",
    "exact-demo-annex": "evidence/annex.html",
    "demo-evidence": "evidence/evidence.html",
}


def write_demo_pages(folder: Path) -> None:
    """Audit the small model that was trained on invented patients, and write its pages to `folder`."""
    with tempfile.TemporaryDirectory() as made:
        corpus, model, run = (Path(made) / name for name in ("corpus", "model", "run"))
        make_tiny_demo(TinyDemo(corpus, model))
        options = ["--quiet", "--engine", "transformers", "--patients-per-cell", "6", "--max-new-tokens", "100"]
        with redirect_stdout(io.StringIO()):
            status = run_command(["audit", str(model), str(corpus), "--out", str(run), *options])
        if status not in (0, 1, 8):
            sys.exit(f"the audit ended with status {status}")
        for name, place in OF_RUN.items():
            (folder / f"{name}.html").write_bytes((run / place).read_bytes())


def write_comparisons(folder: Path) -> None:
    """Compare two planted runs: as published, with a certificate, and exactly."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        planted = plant(root, leaking={"pt-train-00": 60}, stated=["pt-train-01"], held_out=95)
        ids = root / "ids.txt"
        # One of them is in neither run.
        ids.write_text("\n".join([*planted.named, "pt-" + "0123456789abcdef" * 4]))
        _compare(planted.a, planted.b, root / "named", "--forgotten", str(ids))
        (folder / "compare-named.html").write_bytes((root / "named" / "compare.html").read_bytes())
        (folder / "certificate.html").write_bytes((root / "named" / "evidence" / "certificate.html").read_bytes())
        _compare(planted.a, planted.b, root / "plain")
        (folder / "compare.html").write_bytes((root / "plain" / "compare.html").read_bytes())
        _compare(planted.a, planted.b, root / "exact", "--exact")
        (folder / "compare-exact.html").write_bytes((root / "exact" / "evidence" / "compare.html").read_bytes())


def _compare(a: Path, b: Path, out: Path, *options: str) -> None:
    with redirect_stdout(io.StringIO()):
        status = run_command(["compare", str(a), str(b), "--out", str(out), *options])
    if status not in (0, 1, 8):
        sys.exit(f"the comparison ended with status {status}")


def write_review(folder: Path) -> None:
    """Write the page on which samples are checked, and the samples beside it."""
    samples = folder / "samples.jsonl"
    samples.write_text("".join(f"{sample.model_dump_json()}\n" for sample in planted_samples()), encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        given, digest = read_sample_file(samples)
        write_review_page(list(given.values()), Path(made), digest=digest)
        (folder / "pii-review.html").write_bytes((Path(made) / REVIEW_PAGE).read_bytes())


def write_pages(folder: Path) -> None:
    """Write every page to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: render_report(make()) for name, make in REPORTS.items()}
    pages |= {f"{name}-annex": render_annex(REPORTS[name]()) for name in WITH_ANNEX}
    pages |= {
        "evidence": render_evidence(planted_evidence()),
        "evidence-none": render_evidence(planted_evidence(0)),
        "pii-bench": render_pii_bench(filled_bench()),
        "pii-bench-none": render_pii_bench(bare_bench()),
        "unlearning": render_unlearning(filled_evaluation()),
        "unlearning-bare": render_unlearning(bare_evaluation()),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    write_review(folder)
    write_comparisons(folder)
    write_demo_pages(folder)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
