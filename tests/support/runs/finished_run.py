"""A finished run made of invented figures in no time: what `publish_run` leaves, with files where evidence stands.

Owns what spares a test the drawing of a page that was drawn before: a run is made once a process and copied, and
`remember_pages` gives a page again for equal results.
"""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from support.results.filled_results import exact_of, filled

from clinaudit.audit.results.publication import published_files
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.durable_files import write_atomically
from clinaudit.audit.runtime.run.store import open_store
from clinaudit.reports.pages.report import render_report
from clinaudit.reports.schema.results import ReportContent, from_json, to_json
from clinaudit.reports.tally.tally import Tally

#: Stands in every file of the evidence, and must stand in no other.
SECRET = "Zephyrine Quackenbush has a secret"
#: As many as tell one diagnosis from another: a page of six takes three times as long.
FEW = ("depression", "hiv")
RECORD = {"settings": {"seed": 0}, "clinaudit": "test"}


def make_finished_run(root: Path, tally: Tally | None = None) -> RunDirectory:
    """Leave a run at `root`, its state and caches included."""
    given = filled(cell=30, diagnoses=FEW) if tally is None else tally
    key = to_json(exact_of(given))
    if key not in _made:
        _made[key] = _make(given)
    shutil.copytree(Path(_made[key].name, "run"), root)
    return RunDirectory(root)


def remember_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a report of equal results be drawn once a process; for tests of what is written, not of what a page says."""

    def remembered(content: ReportContent) -> str:
        return _render(to_json(content.results), json.dumps(content.provenance), content.is_exact)

    monkeypatch.setattr(published_files, "render_report", remembered)


#: By the exact results.
_made: dict[str, "tempfile.TemporaryDirectory[str]"] = {}


def _make(tally: Tally) -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="finished-run-")
    run = RunDirectory(Path(folder.name, "run"))
    with open_store(run) as store:
        store.bind_settings({"--seed": 0})
        for name in ("generations.parquet", "priors.parquet"):
            write_atomically(run.evidence / name, SECRET)
        (run.work / "cache" / "deep").mkdir(parents=True)
        (run.work / "cache" / "deep" / "answers").write_text(SECRET)
        publish_run(run, tally, RECORD)
    return folder


@cache
def _render(results: str, provenance: str, is_exact: bool) -> str:
    return render_report(ReportContent(from_json(results), json.loads(provenance), is_exact))
