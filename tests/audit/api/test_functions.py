"""The commands as functions: every example of docs/results.md in order, what they raise, and what a run loads as."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal
from support.invented_estimates import invented_estimates
from support.invented_verdict import invented_report

import clinaudit
from clinaudit.audit.assembly.again import make_again
from clinaudit.audit.runtime.run.directory import RunDirectory
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.audit.runtime.run.manifest import write_manifest
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.reports.estimates.frame import Estimates, Row, as_estimates
from clinaudit.reports.exports import write_csv
from clinaudit.reports.schema.run_results import RunResults, to_json

_PAGE = Path(__file__).parents[3] / "docs" / "results.md"
#: The page audits with the defaults; the tiny model is audited in a hurry.
_IN_A_HURRY = (
    'out="run/", engine="transformers", tier=("encounter",), max_new_tokens=40, patients_per_cell=2, everyday=False, '
    "score=False"
)


@pytest.mark.slow
def test_every_example_of_the_page_runs_as_it_stands(tiny_demo, tmp_path, monkeypatch, capsys):
    (tmp_path / "model").symlink_to(tiny_demo.model)
    (tmp_path / "corpus").symlink_to(tiny_demo.corpus)
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 5
    names: dict[str, Any] = {}
    for example in examples:
        exec(example.replace('out="run/"', _IN_A_HURRY), names)
    results = names["results"]
    assert to_json(results.results) == (tmp_path / "run" / "results.json").read_text(encoding="utf-8")
    assert write_csv(results.estimates) == (tmp_path / "run" / "results.csv").read_text(encoding="utf-8")
    assert results.decision.policy in results._repr_html_()
    assert "The corpus is valid." in str(names["looked_at"]) == names["looked_at"].text
    # One of its texts made again is the same.
    asked = read_table(tmp_path / "run" / "evidence", "generations")[0]
    made = make_again(tmp_path / "run", asked["generation_id"], tiny_demo.model, engine="transformers", base=None)
    assert made == (asked["text"], asked["text"])
    for name, wrong in (("no such id", tiny_demo.model), (asked["generation_id"], tmp_path / "none")):
        with pytest.raises(BadInputError):
            make_again(tmp_path / "run", name, wrong, engine="transformers", base=None)
    printed = capsys.readouterr().out
    assert "Tucker" in printed
    assert "Tucker" not in names["masked"].text
    assert "62" in names["masked"].text


def test_what_is_wrong_is_raised_and_not_exited(tmp_path):
    with pytest.raises(UsageError, match=r"ngram: .*; no_such"):
        clinaudit.run_audit("m", "c", out=tmp_path / "run", ngram=0, no_such=1)
    with pytest.raises(BadInputError):
        clinaudit.check(tmp_path / "none")
    for wrong in ({"tier": ()}, {"tier": "public"}, {"threads": 10**9}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            clinaudit.run_audit("m", "c", out=tmp_path / "run", **wrong)
    with pytest.raises(UsageError, match="policy"):
        clinaudit.mask("He lives in Leeds.", policy="safe_harbor")
    with pytest.raises((BadInputError, IntegrityError)):
        clinaudit.load_results(tmp_path)


def test_importing_loads_nothing_and_lists_what_there_is():
    code = "import sys, clinaudit; print(dir(clinaudit)); print(sorted(m for m in sys.modules if m[:9] == 'clinaudit'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, loaded = done.stdout.splitlines()
    assert set(clinaudit.__all__) <= set(listed[2:-2].split("', '"))
    assert loaded == "['clinaudit']"
    with pytest.raises(AttributeError):
        getattr(clinaudit, "no_such")  # noqa: B009


def test_without_a_question_all_that_is_found_is_masked_and_put_back():
    text = "Mr. John Tucker, MRN 8812345, was seen."
    masked = clinaudit.mask(text)
    assert "Tucker" not in masked.text
    assert "8812345" not in masked.text
    assert clinaudit.unmask(masked.text, masked) == text
    assert "Tucker" not in repr(masked)


def test_a_sites_own_rules_are_read_from_their_file(tmp_path):
    rules = tmp_path / "ours.toml"
    rules.write_text("[[rule]]\nkind = 'mrn'\npattern = 'qx~[a-z]+'\n")
    text = "Known here as qx~abcd: asthma."
    assert clinaudit.mask(text, identifier_rules=rules).text == "Known here as <MRN_1>: asthma."
    assert clinaudit.mask(text).text == text
    rules.write_text("")
    with pytest.raises(BadInputError):
        clinaudit.mask(text, identifier_rules=str(rules))


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


def load(run, *, exact=False):
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
