"""`clinaudit compare`: what it prints and writes, and what keeps runs from being compared."""

import json
import re
import stat

import pytest
from support.runs.compared_pair import plant

from clinaudit.audit.commands.main import run as command

TIER = "encounter"


@pytest.fixture
def planted(tmp_path):
    return plant(tmp_path)


def test_compare_prints_and_writes_aggregates_alone(planted, tmp_path, capsys):
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    # The last line names a path, as long as it is.
    assert max(map(len, printed.out.splitlines()[:-1])) <= 100
    page, document = (
        (out / "compare.html").read_text(encoding="utf-8"),
        (out / "compare.json").read_text(encoding="utf-8"),
    )
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not (out / "evidence").exists()
    figures = json.loads(document)
    assert figures["figures"] == "published"
    lines = printed.out.splitlines()
    assert re.match(
        r"Verdict: \w+ → \w+\. Rules: \d+ mended, \d+ newly failing, \d+ still failing, \d+ open\.", lines[0]
    )
    assert figures["conclusion"].startswith(lines[1])
    # Nobody named the models: what differs is told apart all the same.
    (model,) = (row for row in figures["differences"] if row["name"] == "MODEL")
    assert (model["a"], model["b"]) == ("unnamed (aaaaaaaaaaaa)", "unnamed (bbbbbbbbbbbb)")
    assert "Read from the published tables" in printed.out
    # Five of the forty leaked in A, and none does in B.
    hits = change_of(figures, "hit_rate")
    assert (hits["a"]["count_low"], hits["a"]["count_high"], hits["b"]["count_high"]) == (1, 10, 0)
    assert "value" not in hits["difference"]
    assert not re.search(r'"(pairs|a_only|b_only)"', document)
    for text in (printed.out, page, document):
        assert not [patient for patient in planted.patients if patient in text]


def change_of(figures, metric, arm="train"):
    """Return the change of a metric at the tier."""
    (found,) = (one for one in figures["changes"] if (one["metric"], one["tier"], one["arm"]) == (metric, TIER, arm))
    return found


def test_exact_figures_are_printed_and_written_under_evidence_alone(planted, tmp_path, capsys):
    out = tmp_path / "comparison"
    assert command(["compare", str(planted.a), str(planted.b), "--exact", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "PHI: do not pass on" in " ".join(printed.split())
    assert {path.name for path in out.iterdir()} == {"evidence"}
    assert {path.name for path in (out / "evidence").iterdir()} == {"compare.json", "compare.html"}
    figures = json.loads((out / "evidence" / "compare.json").read_text(encoding="utf-8"))
    hits = change_of(figures, "hit_rate")
    assert (hits["a_only"], hits["b_only"], hits["pairs"]) == (5, 0, 40)
    # Half of the text of five of forty.
    assert change_of(figures, "memorized_fraction")["difference"]["value"] == pytest.approx(-0.5 * 5 / 40)
    page = (out / "evidence" / "compare.html").read_text(encoding="utf-8")
    assert '<p class="phi" role="note">PHI: exact figures' in page
    assert stat.S_IMODE((out / "evidence" / "compare.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "value"),
    [("--ngram", 20), ("--tokenizer", "f" * 64), ("--seed", 1), ("--tier", ["encounter"]), ("CORPUS", "other")],
)
def test_runs_with_other_settings_are_refused_and_the_settings_named(tmp_path, capsys, name, value):
    planted = plant(tmp_path, settings_b={name: value})
    assert command(["compare", str(planted.a), str(planted.b)]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error[BAD_INPUT]: the runs cannot be compared, they differ in {name}")
    assert ("--allow-different-corpus" in error) == (name == "CORPUS")


def test_a_purged_run_is_compared_by_what_it_published(planted, capsys):
    assert command(["purge", str(planted.b), "--yes"]) == 0
    capsys.readouterr()
    assert command(["compare", str(planted.a), str(planted.b), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert change_of(figures, "hit_rate", "nontrain")["b"]["value"] == 0


def test_a_comparison_is_never_written_into_a_run(planted, capsys):
    assert command(["compare", str(planted.a), str(planted.b), "--out", str(planted.b / "evidence")]) == 2
    assert command(["verify", str(planted.b)]) == 0
