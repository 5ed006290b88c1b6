"""Which runs may be compared exactly, what is named of their settings, and where a comparison may be written."""

from pathlib import Path

import pytest
from support.compared_results import compared
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report

from clinaudit.audit.results.comparison.files import prepare_directory, write_comparison, write_exact_comparison
from clinaudit.audit.results.comparison.run_pair import ComparedRun, RunPair, _named, require_evidence
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.errors import BadInputError, UsageError
from clinaudit.reports.estimates.frame import Estimates

REPORT = invented_report(Estimates(invented_estimates(train=20, nontrain=20)))


def run(name: str, *, has_evidence: bool = True) -> ComparedRun:
    return ComparedRun(RunDirectory(Path(name)), record={}, published=REPORT, has_evidence=has_evidence)


def pair(a: ComparedRun, b: ComparedRun) -> RunPair:
    return RunPair(a, b, differences=(), warnings=(), same_prompts=True)


def test_exact_figures_name_the_run_that_was_purged() -> None:
    require_evidence(pair(run("before"), run("after")))
    with pytest.raises(BadInputError, match="that of after was purged"):
        require_evidence(pair(run("before"), run("after", has_evidence=False)))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MODEL", "a" * 64, "Scribe 3"),
        ("--policy", "b" * 64, "default"),
        ("--training-log", "c" * 64, "one"),
        ("--training-log", None, "none"),
    ],
)
def test_what_differs_is_named_and_no_digest_shown(name: str, value: str | None, said: str) -> None:
    named = ComparedRun(
        RunDirectory(Path("before")), {"identity": {"model_name": "Scribe 3"}}, REPORT, has_evidence=True
    )
    assert _named(name, value, named, "one") == said


def test_an_exact_comparison_replaces_an_earlier_exact_one_even_a_stopped_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare_directory(out, exact=True)
    write_exact_comparison(out, compared(exact=True), None)
    (out / "evidence" / ".certificate.html.partial").write_text("half", encoding="utf-8")
    prepare_directory(out, exact=True)
    write_exact_comparison(out, compared(exact=True), None)
    assert {path.name for path in out.iterdir()} == {"evidence"}


def test_a_published_comparison_leaves_no_exact_figures_beside_it(tmp_path: Path) -> None:
    write_exact_comparison(tmp_path, compared(exact=True), None)
    prepare_directory(tmp_path, exact=False)
    write_comparison(tmp_path, compared(), None)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["compare.html", "compare.json"]


def test_an_exact_comparison_is_never_written_where_published_ones_are(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="exact figures"):
        write_comparison(out, compared(exact=True), None)
    assert not out.exists()


@pytest.mark.parametrize("name", ["compare.json", "compare.html"])
def test_exact_figures_are_not_put_beside_what_is_published(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("", encoding="utf-8")
    prepare_directory(tmp_path, exact=False)
    with pytest.raises(UsageError, match="holds a published comparison"):
        prepare_directory(tmp_path, exact=True)


@pytest.mark.parametrize("place", ["notes.txt", "evidence/results.json", "evidence/notes/compare.json"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_directory_of_something_else_is_refused(tmp_path: Path, place: str, exact: bool) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="holds other things"):
        prepare_directory(tmp_path, exact=exact)
