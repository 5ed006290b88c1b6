"""The report on paper: `clinaudit report --pdf`. Skipped without WeasyPrint, Pango or HarfBuzz-Subset."""

import json
import os
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path

import pytest
from support.results.filled_published import content, exact_content

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.results.publication.published_files import publish_run
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import UsageError
from clinaudit.reports.pages.html import render_pdf
from clinaudit.reports.pages.report import render_report, render_summary
from clinaudit.reports.tally.tally import Tally

#: Before the annex.
MOST_PAGES = 12


def _has_weasyprint() -> bool:
    # Without this library the bytes of a font differ from run to run.
    if find_library("harfbuzz-subset") is None:
        return False
    return subprocess.run([sys.executable, "-c", "import weasyprint"], capture_output=True, check=False).returncode == 0


needs_pdf = pytest.mark.skipif(
    not os.environ.get("CLINAUDIT_NEEDS_PDF") and not _has_weasyprint(),
    reason="WeasyPrint, Pango or HarfBuzz-Subset is not installed (make test-browser installs both)",
)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    run = RunDirectory(tmp_path / "run")
    run.evidence.mkdir(parents=True)
    publish_run(run, Tally(), {"settings": {"seed": 0}})
    return run.root


@needs_pdf
def test_report_pdf_is_written_covered_by_the_manifest_and_the_same_each_time(finished: Path) -> None:
    assert run_command(["report", str(finished), "--pdf"]) == 0
    first = (finished / "report.pdf").read_bytes()
    assert first.startswith(b"%PDF-")
    assert "report.pdf" in json.loads((finished / "manifest.json").read_text(encoding="utf-8"))["sha256"]
    assert run_command(["verify", str(finished)]) == 0
    assert run_command(["report", str(finished), "--pdf"]) == 0
    assert (finished / "report.pdf").read_bytes() == first
    (finished / "report.pdf").write_bytes(first + b" ")
    assert run_command(["verify", str(finished)]) == 7
    assert run_command(["report", str(finished)]) == 7


@needs_pdf
def test_a_page_that_asks_for_something_is_refused() -> None:
    from weasyprint.urls import FatalURLFetchingError

    for asked in ('<img src="http://127.0.0.1:9/x">', '<img src="file:///etc/hostname">'):
        with pytest.raises(FatalURLFetchingError):
            render_pdf(f"<!DOCTYPE html><html><body>{asked}</body></html>")


@needs_pdf
@pytest.mark.slow
def test_every_page_of_the_report_says_whose_it_is_its_number_and_the_verdict() -> None:
    from weasyprint import HTML

    document = HTML(string=render_report(content(), for_paper=True)).render()
    anchors = [sheet.anchors for sheet in document.pages]
    annex = min(place for place, held in enumerate(anchors) if "annex" in held)
    (signed,) = [place for place, held in enumerate(anchors) if "signoff" in held]
    assert signed < annex <= MOST_PAGES
    for sheet in document.pages:
        assert {round(sheet.width * 25.4 / 96), round(sheet.height * 25.4 / 96)} == {210, 297}
    texts = _texts(document.write_pdf())
    assert len(texts) == len(document.pages)
    for place, text in enumerate(texts, 1):
        assert f"Page {place} of {len(texts)}" in text
        assert "Ward notes 1.5B (abababababab…)" in text
        assert "Verdict: Fail" in text
        assert "Aggregates only" in text
    assert "Starting from what is known to" in " ".join(texts[: annex + 1]), "what is folded is printed"


@needs_pdf
@pytest.mark.parametrize("exact", [False, True])
def test_the_summary_is_two_pages_the_second_to_be_signed(exact: bool) -> None:
    texts = _texts(render_pdf(render_summary(exact_content() if exact else content())))
    assert len(texts) == 2
    assert ("28% of the text*" if exact else "70% of the text*") in texts[0]
    assert "Sign-off" in texts[1]
    assert "Treat as PHI" in texts[1]
    assert all(("Contains PHI" in text) is exact for text in texts)


def test_what_to_install_is_said_where_it_is_missing(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(UsageError):
        render_pdf("")
    assert run_command(["report", str(finished), "--pdf"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert 'pip install "clinaudit[pdf]"' in said
    assert "libpango" in said
    assert run_command(["verify", str(finished)]) == 0


def test_an_audit_leaves_no_pdf_of_an_earlier_one(finished: Path) -> None:
    (finished / "report.pdf").write_bytes(b"%PDF-old")
    publish_run(RunDirectory(finished), Tally(), {})
    assert not (finished / "report.pdf").exists()
    assert run_command(["verify", str(finished)]) == 0


def _texts(pdf: bytes) -> list[str]:
    """Return the text of each page by pdftotext, or skip where it is not installed."""
    try:
        done = subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("pdftotext is not installed")
    return [" ".join(text.split()) for text in done.stdout.decode("utf-8").split("\f")[:-1]]
