"""`clinaudit unlearn build`: what it prints and writes, and what it refuses."""

import json

import pytest
from support.small_charts import write_small_corpus

from clinaudit.audit.commands.main import run
from clinaudit.audit.unlearning.benchmark.files import read_bench


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_small_corpus(tmp_path_factory.mktemp("small") / "corpus", last="cc: cough\nassessment: cold\n")


def test_it_builds_and_says_what_the_benchmark_holds(corpus, tmp_path, capsys):
    out = tmp_path / "bench"
    assert run(["unlearn", "build", str(corpus), "--out", str(out), "--percent", "34", "--percent", "34"]) == 0
    said = capsys.readouterr()
    counted = "3 of the patients were trained on; 8 of the questions are withheld from training."
    assert counted in " ".join(said.out.split())
    assert "patients left out: 1: fewer than four factual questions can be asked from the notes" in said.out
    assert "Arthritis and Bone  2 (50%)   16" in said.out
    assert "Total               4         32" in said.out
    assert "random:34  1                   6                  2                  12" in said.out
    bench = read_bench(out)
    assert [split.name for split in bench.splits] == ["random:34"]
    assert bench.counts is not None
    assert bench.counts.keywords == len(bench.keywords)
    # No name and nothing of a note is said.
    assert not any(word in said.out + said.err for word in ("Stonebury", "allopurinol", "P1"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--qa", "served"], "no model is named; give --served-url and --served-model"),
        (["--served-url", "http://127.0.0.1:1/v1"], "--served-url and --served-model go together"),
        (
            ["--served-url", "http://127.0.0.1:1/v1", "--served-model", "m"],
            "go with --qa served or --categories served",
        ),
        (["--served-key-file", "key"], "--served-key-file goes with --served-url and --served-model"),
    ],
)
def test_options_that_do_not_go_together_are_refused(corpus, tmp_path, capsys, monkeypatch, options, message):
    # Before anything is read.
    monkeypatch.delattr("clinaudit.audit.unlearning.metrics.keywords.Seeds")
    assert run(["unlearn", "build", str(corpus), "--out", str(tmp_path / "bench"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "bench").exists()


def test_files_that_are_not_there_are_bad_input(corpus, tmp_path, capsys):
    for options in (["--qa", "none.jsonl"], ["--categories", "none.csv"], ["--panel", "none.toml"]):
        out = tmp_path / options[0].strip("-")
        assert run(["unlearn", "build", str(corpus), "--out", str(out), "--quiet", *options]) == 3
        assert "none." in capsys.readouterr().err
        assert not (out / "bench.json").exists()


def test_any_id_of_a_person_names_the_person(tmp_path):
    corpus = write_small_corpus(tmp_path / "corpus")
    for name in ("notes", "patients"):
        rows = [json.loads(line) for line in (corpus / f"{name}.jsonl").read_text("utf-8").splitlines()]
        second = [{**row, **{key: f"{row[key]}-2" for key in ("patient_id", "note_id") if key in row}} for row in rows]
        text = "".join(json.dumps(row) + "\n" for row in (*rows, *second))
        (corpus / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "ids.txt").write_text("P2-2\nP2\n", encoding="utf-8")
    (tmp_path / "categories.csv").write_text("patient_id,category\nP1-2,other\n", encoding="utf-8")
    out = tmp_path / "bench"
    options = ["--request", str(tmp_path / "ids.txt"), "--categories", str(tmp_path / "categories.csv")]
    assert run(["unlearn", "build", str(corpus), "--out", str(out), "--quiet", *options]) == 0
    bench = read_bench(out)
    assert {one.patient_id: one.category_source for one in bench.patients}.keys() == {"P1", "P2", "P3", "P4"}
    assert bench.split("request:33").forget == ("P2",)
    assert all(len(texts) == 2 for texts in bench.notes.values())
    assert next(one.category for one in bench.patients if one.patient_id == "P1") == "other"
