"""The commands as functions: every example of docs/python.md run in order, and what they raise."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clinaudit
from clinaudit.audit.assembly.again import make_again
from clinaudit.audit.runtime.run.evidence_tables import read_table
from clinaudit.errors import BadInputError, IntegrityError, UsageError
from clinaudit.reports.exports.estimates_csv import write_csv
from clinaudit.reports.schema.run_results import to_json

_PAGE = Path(__file__).parents[3] / "docs" / "python.md"
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
    assert made.text == made.before == asked["text"]
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
