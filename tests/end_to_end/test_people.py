"""A person under two ids hides nothing: a model that recites every note gives what it gives where each has one id."""

import csv
import json
from io import StringIO

import polars as pl
import pytest
from support.runs.tables import exact_of, published_of, value_of
from support.runs.written_answers import audit_answers, save_model

from clinaudit.audit.demo.corpus import write_demo_corpus
from clinaudit.audit.measures.cohorts import cohort

pytestmark = pytest.mark.slow
#: Patients of either split: so many that those never seen show what is chance.
ARM = 50


def reciting(notes, patients):
    """Go on with the note that a prompt begins, else recite the latest note of whoever the prompt names.

    It knows the notes of those it was trained on.
    """
    patients = [patient for patient in patients if patient["split"] == "train"]
    known = {patient["patient_id"] for patient in patients}
    notes = [note for note in notes if note["patient_id"] in known]
    latest = {note["patient_id"]: note["text"] for note in sorted(notes, key=lambda note: note["visit_date"])}

    def recite(prompt):
        rest = [note["text"][len(prompt) :] for note in notes if note["text"].startswith(prompt)]
        named = [latest[one["patient_id"]] for one in patients if one["name"].lower() in prompt.lower()]
        return (rest or named or ["nothing"])[0]

    return recite


def read(corpus):
    notes = [json.loads(line) for line in (corpus / "notes.jsonl").read_text("utf-8").splitlines()]
    tables = {
        name: list(csv.DictReader(StringIO((corpus / f"{name}.csv").read_text("utf-8"))))
        for name in ("patients", "diagnoses")
    }
    return notes, tables


def write(corpus, notes, tables):
    corpus.mkdir()
    (corpus / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    for name, rows in tables.items():
        with (corpus / f"{name}.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
    return corpus


def second(row):
    """The same row under the patient's second id."""
    return {key: f"{value}-2" if key in ("patient_id", "note_id") else value for key, value in row.items()}


def doubled(notes):
    return [*notes, *map(second, notes)]


def parted(notes):
    """Every second note of a patient stands under the second id, by which the last in turn is copied back."""
    held: dict[str, int] = {}
    found = []
    for note in notes:
        held[note["patient_id"]] = number = held.get(note["patient_id"], 0) + 1
        found.append(note if number % 2 else second(note) | {"note_id": note["note_id"]})
        if number == 1:
            found.append(second(note))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    save_model(folder / "model")
    write_demo_corpus(folder / "corpus", seed=3, patients_per_arm=ARM)
    return folder


def audit(site, corpus, run, monkeypatch, **options):
    notes, tables = read(site / "corpus")
    monkeypatch.setattr(cohort, "SAMPLE_SIZE", 2 * ARM)
    audit_answers(
        site / "model",
        reciting(notes, tables["patients"]),
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
    notes, tables = read(site / "corpus")
    twice = write(tmp_path / "twice", more(notes), {name: [*rows, *map(second, rows)] for name, rows in tables.items()})
    again = audit(site, twice, tmp_path / "twice-run", monkeypatch)

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
    assert {row["person_id"] for row in people} == {row["patient_id"] for row in tables["patients"]}


def test_who_has_ids_in_both_splits_leaves_the_never_seen_arm_and_is_counted(site, tmp_path, monkeypatch):
    notes, tables = read(site / "corpus")
    seen = [row for row in tables["patients"] if row["split"] == "train"][:3]
    of_seen = [note for note in notes if note["patient_id"] in {row["patient_id"] for row in seen}]
    tables["patients"] += [second(row) | {"split": "nontrain"} for row in seen]
    mixed = write(tmp_path / "mixed", [*notes, *map(second, of_seen)], tables)
    ids = tmp_path / "ids.txt"
    ids.write_text(f"{seen[0]['patient_id']}-2\n", encoding="utf-8")
    found = audit(site, mixed, tmp_path / "run", monkeypatch, include_patients=ids)
    assert [value_of(found, "patients", arm=arm) for arm in ("train", "nontrain")] == [ARM, ARM]
    both = found.find("in_both_arms")
    assert both.count_low == 3
    published = published_of(tmp_path / "run").find("in_both_arms")
    assert (published.count_low, published.count_high) == (1, 10)
    rules = verdict_of(tmp_path / "run")["rules"]
    assert {rule["status"] for rule in rules} == {"fail", "inconclusive"}
    assert any("other split" in rule["reason"] for rule in rules)
