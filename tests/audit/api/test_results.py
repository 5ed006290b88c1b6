"""What `load_results` gives of a run with a table of estimates, and what it refuses."""

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report

import clinaudit
from clinaudit.audit.api.functions import Results
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.errors import BadInputError, IntegrityError
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.exports.estimates_csv import read_csv, write_csv
from clinaudit.reports.schema.run_results import RunResults, to_json

EXACT = as_estimates([Row("hit_rate", "text", "public", "train", value=0.25, count_low=1, count_high=1)])


@pytest.fixture
def run(tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.create()
    table = invented_estimates()
    results = invented_report(Estimates(table)).results
    for path, text in (
        (run.root / "results.json", to_json(results)),
        (run.root / "results.csv", write_csv(table)),
        (run.root / "run.json", "{}"),
        (run.evidence / "results.csv", write_csv(EXACT)),
    ):
        path.write_text(text, encoding="utf-8", newline="")
    write_manifest(run)
    return run


def load(run: RunDirectory, *, exact: bool = False) -> Results:
    return clinaudit.load_results(run.root, exact=exact)


def test_the_verdict_its_rules_and_every_figure_are_there(run):
    found = load(run)
    assert found.rules == found.decision.rules
    own = found.estimates.filter(metric="attributable_fraction", form="text", arm="train")
    assert own["tier"].to_list() == list(dict.fromkeys(rule.tier for rule in found.rules if rule.tier))
    assert found._repr_html_().startswith(f"<pre>FAIL (policy default): {found.decision.reason}\n")


def test_the_exact_table_is_given_where_it_is_asked_for_and_there(run):
    assert_frame_equal(load(run, exact=True).estimates, EXACT)
    assert load(run).estimates.height > 1
    (run.evidence / "results.csv").unlink()
    write_manifest(run)
    with pytest.raises(BadInputError, match="purged"):
        clinaudit.load_results(run.root, exact=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("results.csv", write_csv(EXACT).replace("0.25", "0.250")),
        ("results.csv", "Smith, John"),
        ("results.json", to_json(RunResults()).replace("null", '"Smith"')),
        ("results.json", "{"),
    ],
)
def test_a_file_that_no_audit_writes_is_refused_without_being_quoted(run, name, text):
    (run.root / name).write_text(text)
    with pytest.raises(IntegrityError):
        clinaudit.load_results(run.root)
    # Nor where whoever changed it wrote the manifest anew.
    write_manifest(run)
    with pytest.raises(IntegrityError, match=name) as refused:
        clinaudit.load_results(run.root)
    assert "Smith" not in str(refused.value)


def test_a_run_of_another_version_is_refused(run):
    (run.root / "results.json").write_text(to_json(RunResults()).replace("5.0", "4.1"))
    write_manifest(run)
    with pytest.raises(BadInputError, match="another version"):
        clinaudit.load_results(run.root)


def test_the_table_of_a_run_reads_back_as_it_was(run):
    assert_frame_equal(load(run).estimates, read_csv((run.root / "results.csv").read_text(encoding="utf-8")))


def test_the_plot_of_the_docs_is_drawn_of_exact_and_of_hidden_figures(run, tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (plot,) = (example for example in examples if "barh" in example)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    found = load(run)
    hidden = found.estimates.with_columns(value=pl.lit(None, dtype=pl.Float64))
    for estimates in (found.estimates, hidden):
        names = {"results": Results(found.decision, estimates, found.results)}
        exec(plot, names)
        assert names["own"].height == 6
        picture = tmp_path / "own-text.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()
