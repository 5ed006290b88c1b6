"""`clinaudit show`, `verify` and `report`: what they print and render, that colour and quiet are as people expect."""

import hashlib
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs.finished_run import make_finished_run
from support.runs.tables import exact_of, published_of

from clinaudit.audit.commands.main import run as run_command
from clinaudit.audit.commands.show import say_summary
from clinaudit.audit.demo.training import run_demo
from clinaudit.audit.results.publication.published_files import PAGES, read_published
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.reports.estimates.frame import Row, as_estimates
from clinaudit.reports.schema.identity import identity_problem

PROGRAM = str(Path(sys.executable).with_name("clinaudit"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    return make_finished_run(tmp_path_factory.mktemp("show") / "run")


def test_it_prints_what_an_audit_ends_with(capsys, finished) -> None:
    say_summary(read_published(finished), finished.root / "report.html")
    at_the_end = capsys.readouterr().out
    assert at_the_end.rstrip().endswith(f"report: {finished.root / 'report.html'}")
    assert run_command(["show", str(finished.root)]) == 0
    assert capsys.readouterr().out == at_the_end


def test_the_demo_is_named_as_invented(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("clinaudit.audit.demo.training.write_demo_corpus", lambda *_args, **_kwargs: None)
    monkeypatch.setattr("clinaudit.audit.demo.training.train_demo_model", lambda *_args, **_kwargs: None)
    monkeypatch.setattr("clinaudit.audit.demo.training.take_libraries_offline", lambda: None)
    identity = run_demo(tmp_path / "demo", seed=0, quiet=True).identity
    assert "invented" in (identity.model_name or "")
    assert identity.date == "invented data"
    assert [identity_problem(name, value) for name, value in identity.as_record().items()] == [None] * 4


@pytest.mark.parametrize("options", [[], ["--exact"]])
def test_json_is_what_the_files_hold_with_every_row_of_the_table(capsys, finished, options: list[str]) -> None:
    assert run_command(["show", str(finished.root), "--json", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document.pop("estimates")
    assert document == json.loads((finished.root / "results.json").read_text())
    table = (exact_of if options else published_of)(finished.root)
    assert as_estimates([Row(**row) for row in rows]).equals(table.frame)


def test_it_is_short_and_says_which_figures_it_read(capsys, finished) -> None:
    for options, report in ([], finished.root / "report.html"), (["--exact"], finished.evidence / "report.html"):
        assert run_command(["show", str(finished.root), *options]) == 0
        text = capsys.readouterr().out
        assert len(text.splitlines()) <= 50
        assert ("They are PHI" in text) is bool(options)
        assert text.rstrip().endswith(f"report: {report}")


def test_exact_needs_the_evidence(capsys, finished, tmp_path) -> None:
    gone = RunDirectory(tmp_path / "purged")
    shutil.copytree(finished.root, gone.root, ignore=shutil.ignore_patterns("evidence"))
    write_manifest(gone, purged=True)
    assert run_command(["show", str(gone.root)]) == 0
    capsys.readouterr()
    for options in (["--exact"], ["--exact", "--json"]):
        assert run_command(["show", str(gone.root), *options]) == 3
        assert "purged" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "gate"])
@pytest.mark.parametrize("is_forced", [False, True])
def test_a_pipe_gets_colour_only_by_force_and_json_never(capsys, monkeypatch, finished, command, is_forced) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if is_forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    for options in ([], ["--json"]):
        run_command([command, str(finished.root), *options])
        captured = capsys.readouterr()
        assert ("\x1b[" in captured.out) is (is_forced and not options)
        assert "\x1b" not in captured.err
    assert {"verdict", "rules"} & json.loads(captured.out).keys()


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_a_terminal_gets_colour_unless_it_is_refused(finished, variables, coloured) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "gate", str(finished.root)],
        env={**kept, "TERM": "xterm", **variables},
        stdin=follower,
        stdout=follower,
    )
    os.close(follower)
    out = b""
    while process.poll() is None or len(out) == 0:
        try:
            out += os.read(leader, 65536)
        except OSError:
            break
    process.wait()
    os.close(leader)
    assert (b"\x1b[1;31m" in out) is coloured
    assert b"(policy default): " in out


@pytest.fixture
def fresh(tmp_path: Path) -> RunDirectory:
    return make_finished_run(tmp_path / "run")


def report(run: RunDirectory, *options: str) -> int:
    return run_command(["report", str(run.root), *options])


def identity_of(run: RunDirectory) -> dict[str, str | None]:
    return json.loads((run.root / "run.json").read_text())["identity"]


def test_the_identity_is_kept_and_the_last_given_wins(fresh: RunDirectory) -> None:
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


@pytest.mark.parametrize(
    ("option", "value"),
    [("--model-name", ""), ("--institution", "two\nlines"), ("--date", "2026-13-01"), ("--date", "today")],
)
def test_a_value_that_no_field_takes_changes_nothing(fresh: RunDirectory, capsys, option: str, value: str) -> None:
    before = (fresh.root / "run.json").read_bytes()
    assert report(fresh, option, value) == 2
    assert capsys.readouterr().err.startswith("error[USAGE]: ")
    assert (fresh.root / "run.json").read_bytes() == before


def test_the_exact_report_is_asked_for_where_there_is_evidence(fresh: RunDirectory, capsys) -> None:
    assert report(fresh, "--exact") == 0
    assert f"exact report (PHI): {fresh.evidence / 'report.html'}" in capsys.readouterr().out
    assert run_command(["purge", str(fresh.root), "--yes"]) == 0
    capsys.readouterr()
    assert report(fresh, "--exact") == 3
    assert "it was purged" in capsys.readouterr().err
    assert report(fresh, "--model-name", "Scribe 3") == 0
    assert not fresh.evidence.exists()
    assert run_command(["verify", str(fresh.root)]) == 0


def test_it_prints_one_digest_of_the_run(fresh: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["verify", str(fresh.root)]) == 0
    digest = hashlib.sha256((fresh.evidence / "manifest.json").read_bytes()).hexdigest()
    assert capsys.readouterr().out.splitlines() == [
        "verified: 12 files are what the audit wrote",
        f"run digest sha256:{digest}: write it into the minutes",
    ]
    (fresh.root / "results.json").write_text("[]")
    assert run_command(["verify", str(fresh.root)]) == 7
    assert capsys.readouterr().out == ""


def test_a_changed_report_is_found_and_made_anew(fresh: RunDirectory) -> None:
    for page in (folder / name for folder in (fresh.root, fresh.evidence) for name in PAGES):
        before = page.read_bytes()
        page.write_text("edited")
        assert run_command(["verify", str(fresh.root)]) == 7
        assert report(fresh) == 0
        assert run_command(["verify", str(fresh.root)]) == 0
        assert page.read_bytes() == before
        assert page.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", ["show", "gate", "report", "verify"])
def test_a_run_of_an_earlier_version_is_named_and_refused_in_one_sentence(fresh: RunDirectory, capsys, command) -> None:
    (fresh.root / "results.json").write_text(json.dumps({"schema_version": "4.1", "decision": {"status": "pass"}}))
    (fresh.root / "results.csv").unlink()
    write_manifest(fresh)
    assert run_command([command, str(fresh.root)]) == 3
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert "run/results.json is of another version of clinaudit" in error
