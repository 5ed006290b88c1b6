"""`clinaudit show`, `verify` and `report`: what they print and render, that colour and quiet are as people expect."""

import json

import pytest
from support.runs.finished_run import make_finished_run
from support.runs.tables import exact_of, published_of

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.commands.show import say_summary
from clinaudit.audit.results.publication.published_files import PAGES, read_published
from clinaudit.reports.estimates.frame import Row, as_estimates


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return make_finished_run(tmp_path_factory.mktemp("show") / "run")


def test_it_prints_what_an_audit_ends_with(capsys, finished):
    say_summary(read_published(finished), finished.root / "report.html")
    at_the_end = capsys.readouterr().out
    assert at_the_end.rstrip().endswith(f"report: {finished.root / 'report.html'}")
    assert run_command(["show", str(finished.root)]) == 0
    assert capsys.readouterr().out == at_the_end


@pytest.mark.parametrize("options", [[], ["--exact"]])
def test_json_is_what_the_files_hold_with_every_row_of_the_table(capsys, finished, options):
    assert run_command(["show", str(finished.root), "--json", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document.pop("estimates")
    assert document == json.loads((finished.root / "results.json").read_text())
    table = (exact_of if options else published_of)(finished.root)
    assert as_estimates([Row(**row) for row in rows]).equals(table.frame)


@pytest.fixture
def fresh(tmp_path):
    return make_finished_run(tmp_path / "run")


def report(run, *options):
    return run_command(["report", str(run.root), *options])


def identity_of(run):
    return json.loads((run.root / "run.json").read_text())["identity"]


def test_the_identity_is_kept_and_the_last_given_wins(fresh):
    assert report(fresh, "--model-name", "Scribe 3", "--date", "2026-11-22") == 0
    named = {"model_name": "Scribe 3", "institution": None, "date": "2026-11-22", "intended_use": None}
    assert identity_of(fresh) == named
    assert report(fresh, "--model-name", "Scribe 4", "--institution", "St. Anne", "--intended-use", "Notes") == 0
    expected = {**named, "model_name": "Scribe 4", "institution": "St. Anne", "intended_use": "Notes"}
    assert identity_of(fresh) == expected
    assert report(fresh) == 0
    assert identity_of(fresh) == expected
    for page in (folder / name for folder in (fresh.root, fresh.evidence) for name in PAGES):
        assert "Scribe 4" in page.read_text()
        assert "Scribe 3" not in page.read_text()
    assert run_command(["verify", str(fresh.root)]) == 0


def test_a_changed_report_is_found_and_made_anew(fresh):
    for page in (fresh.root / PAGES[0], fresh.evidence / PAGES[1]):
        before = page.read_bytes()
        page.write_text("edited")
        assert run_command(["verify", str(fresh.root)]) == 7
        assert report(fresh) == 0
        assert run_command(["verify", str(fresh.root)]) == 0
        assert page.read_bytes() == before
        assert page.stat().st_mode & 0o777 == 0o600
