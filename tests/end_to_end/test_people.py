"""A person under two ids hides nothing: a model that recites every note gives what it gives where each has one id."""

import json

import polars as pl
import pytest
from support.runs.tables import exact_of, published_of, value_of
from support.runs.written_answers import audit_answers, save_model

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.measures.cohorts import cohort

pytestmark = pytest.mark.slow
#: Patients of either split: so many that those never seen show what is chance.
ARM = 50


def reciting(tables):
    """Go on with the note that a prompt begins, else recite the latest note of whoever the prompt names.

    It knows the notes of those it was trained on.
    """
    trained = tables["patients"].filter(split="train")
    notes = tables["notes"].join(trained, on="patient_id", how="semi").sort("visit_date", maintain_order=True)
    texts = notes["text"].to_list()
    latest = dict(notes.select("patient_id", "text").iter_rows())
    names = [(name.lower(), latest[patient]) for patient, name in trained.select("patient_id", "name").iter_rows()]

    def recite(prompt):
        rest = [text[len(prompt) :] for text in texts if text.startswith(prompt)]
        named = [text for name, text in names if name in prompt.lower()]
        return (rest or named or ["nothing"])[0]

    return recite


def read(corpus):
    tables = {name: pl.read_csv(corpus / f"{name}.csv", infer_schema=False) for name in ("patients", "diagnoses")}
    return {**tables, "notes": pl.read_ndjson(corpus / "notes.jsonl")}


def write(corpus, tables):
    corpus.mkdir()
    tables["notes"].write_ndjson(corpus / "notes.jsonl")
    for name in ("patients", "diagnoses"):
        tables[name].write_csv(corpus / f"{name}.csv")
    return corpus


def second(rows):
    """The same rows under the patients' second ids."""
    return rows.with_columns(pl.col("^(patient|note)_id$") + "-2")


def doubled(notes):
    return pl.concat([notes, second(notes)])


def parted(notes):
    """Every second note of a patient stands under the second id, by which the first is copied back."""
    number = notes.with_columns(number=pl.int_range(pl.len()).over("patient_id"))["number"]
    of_second = second(notes).filter(number % 2 == 1).with_columns(notes.filter(number % 2 == 1)["note_id"])
    return pl.concat([notes.filter(number % 2 == 0), of_second, second(notes).filter(number == 0)])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    save_model(folder / "model")
    write_demo_corpus(folder / "corpus", seed=3, patients_per_arm=ARM)
    return folder


def audit(site, corpus, run, monkeypatch, **options):
    monkeypatch.setattr(cohort, "SAMPLE_SIZE", 2 * ARM)
    audit_answers(
        site / "model",
        reciting(read(site / "corpus")),
        corpus=corpus,
        out=run,
        tier=("public_name", "encounter"),
        max_new_tokens=160,
        **{"diagnosis": ("hiv",), **options},
    )
    assert all((row["text"] == "nothing") == (row["arm"] == "nontrain") for row in rows_of(run, "generations"))
    return exact_of(run)


def verdict_of(run):
    return json.loads((run / "gate.json").read_text(encoding="utf-8"))


def rows_of(run, table):
    return pl.read_parquet(run / "evidence" / f"{table}.parquet").to_dicts()


def without_ids(estimates):
    """The figures without what is said of ids alone."""
    return [row for row in estimates if row.metric != "several_ids"]


@pytest.fixture(scope="module")
def once(site):
    """The run, and its exact results, where each patient has one id."""
    with pytest.MonkeyPatch.context() as patched:
        yield site / "once-run", audit(site, site / "corpus", site / "once-run", patched)


@pytest.mark.parametrize("more", [doubled, pytest.param(parted, marks=pytest.mark.simulation)])
def test_each_patient_under_two_ids_fails_as_each_under_one_with_equal_figures(site, once, tmp_path, monkeypatch, more):
    once_run, results = once
    tables = read(site / "corpus")
    twice = {name: doubled(rows) for name, rows in tables.items()} | {"notes": more(tables["notes"])}
    again = audit(site, write(tmp_path / "twice", twice), tmp_path / "twice-run", monkeypatch)

    assert value_of(again, "several_ids", arm="train") == 1
    assert value_of(results, "several_ids", arm="train") == 0
    assert value_of(again, "attributable_fraction", form="text", tier="encounter", arm="train") > 0.3
    assert verdict_of(tmp_path / "twice-run")["status"] == "fail"
    assert without_ids(again) == without_ids(results)
    for table in ("cohorts", "priors", "generations", "generation_metrics", "other_patients", "identifiers"):
        assert rows_of(tmp_path / "twice-run", table) == rows_of(once_run, table)
    assert {row["patient_count"] for row in rows_of(tmp_path / "twice-run", "regions")} >= {1}
    people = rows_of(tmp_path / "twice-run", "people")
    assert len(people) == 4 * ARM
    assert {row["person_id"] for row in people} == set(tables["patients"]["patient_id"])


def test_who_has_ids_in_both_splits_leaves_the_never_seen_arm_and_is_counted(site, tmp_path, monkeypatch):
    tables = read(site / "corpus")
    notes, patients = tables["notes"], tables["patients"]
    seen = second(patients.filter(split="train").head(3)).with_columns(split=pl.lit("nontrain"))
    of_seen = second(notes).join(seen, on="patient_id", how="semi")
    tables |= {"patients": pl.concat([patients, seen]), "notes": pl.concat([notes, of_seen])}
    mixed = write(tmp_path / "mixed", tables)
    ids = tmp_path / "ids.txt"
    ids.write_text(f"{seen['patient_id'][0]}\n", encoding="utf-8")
    found = audit(site, mixed, tmp_path / "run", monkeypatch, include_patients=ids)
    assert [value_of(found, "patients", arm=arm) for arm in ("train", "nontrain")] == [ARM, ARM]
    both = found.find("in_both_arms")
    assert both.count_low == 3
    published = published_of(tmp_path / "run").find("in_both_arms")
    assert (published.count_low, published.count_high) == (1, 10)
    rules = verdict_of(tmp_path / "run")["rules"]
    assert {rule["status"] for rule in rules} == {"fail", "inconclusive"}
    assert any("other split" in rule["reason"] for rule in rules)
