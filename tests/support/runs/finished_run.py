"""A finished run made of invented figures in no time: what `publish_run` leaves, with files where evidence stands.

Owns what spares a test the drawing of a page that was drawn before: a run is made once a process and copied, and
`remember_pages` gives a page again for equal results.
"""

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.invented_estimates import invented_estimates

from clinaudit.audit.results.gate.policy import load_policy, locate_policy
from clinaudit.audit.results.gate.verdict import decide
from clinaudit.audit.results.publication import published_files
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.run.directory import RunDirectory, sha256_of, write_atomically
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.estimates.publication import publish
from clinaudit.reports.exports import write_csv
from clinaudit.reports.schema.run_results import CorpusFacts, RunReport, RunResults, Settings, to_json

#: Stands in every file of the evidence, and must stand in no other.
SECRET = "Zephyrine Quackenbush has a secret"
#: What `run.json` says: that the run's own policy is the default one.
RECORD = {"settings": {"seed": 0, "--policy": sha256_of(locate_policy(None))}, "clinaudit": "test"}


def make_finished_run(root: Path) -> RunDirectory:
    """Leave a run at `root`, decided under the default policy, its state and caches included."""
    shutil.copytree(Path(_make().name, "run"), root)
    return RunDirectory(root)


def remember_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pages of an equal report be drawn once a process; for tests of what is written, not of what they say."""
    for name in ("render_report", "render_annex"):
        monkeypatch.setattr(published_files, name, _remembered(name))


@cache
def _remembered(name: str) -> Callable[[RunReport], str]:
    render, pages = getattr(published_files, name), dict[tuple[object, ...], str]()

    def remembered(report: RunReport) -> str:
        table = write_csv(report.estimates.frame)
        key = (to_json(report.results), table, str(report.provenance), report.is_exact)
        if key not in pages:
            pages[key] = render(report)
        return pages[key]

    return remembered


@cache
def _make() -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="finished-run-")
    run = RunDirectory(Path(folder.name, "run"))
    exact = invented_estimates()
    results = RunResults(
        settings=Settings(match_tokens=30, forms=["text"]), corpus=CorpusFacts(counterfactual=True, labels="table")
    )
    published = publish(exact)
    verdict = decide(load_policy(), Estimates(exact), results, published=Estimates(published))
    with open_store(run) as store:
        store.bind_settings({"--seed": 0})
        for name in ("generations.parquet", "priors.parquet"):
            write_atomically(run.evidence / name, SECRET)
        (run.work / "cache" / "deep").mkdir(parents=True)
        (run.work / "cache" / "deep" / "answers").write_text(SECRET)
        publish_run(run, results.model_copy(update={"verdict": verdict}), exact, published, RECORD)
    return folder
