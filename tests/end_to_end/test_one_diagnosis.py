"""An audit of one diagnosis, of notes with a line that is no fact: what is asked is the note as it begins."""

import json
import shutil

import polars as pl
import pytest
from support.runs.command_line import command, run_command
from support.runs.tables import exact_of, published_of, value_of

pytestmark = pytest.mark.slow


def test_of_one_diagnosis_the_notes_openings_are_asked(tiny_demo, tmp_path) -> None:
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    shutil.copytree(tiny_demo.corpus, corpus)
    notes = [json.loads(line) for line in (corpus / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [{**note, "text": note["text"].replace("\nprovider:", "\nroom 4\n\nprovider:", 1)} for note in notes]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    patients = pl.read_csv(corpus / "patients.csv", infer_schema=False)
    described = sorted(patients.filter(pl.col("split") == "nontrain")["patient_id"])[:3]
    is_described = pl.col("patient_id").is_in(described)
    splits = pl.when(is_described).then(pl.lit("validation")).otherwise(pl.col("split")).alias("split")
    patients.with_columns(splits).write_csv(corpus / "patients.csv")
    options = ["--tier", "public_name", "--tier", "encounter", "--diagnosis", "hiv", "--max-new-tokens", "40"]
    arguments = command(tiny_demo, run, *options, "--quiet", "--engine", "transformers")
    arguments[arguments.index(str(tiny_demo.corpus))] = str(corpus)
    done = run_command(arguments)
    assert done.returncode in (1, 8), done.stderr

    # Of one diagnosis the controls are those of the whole panel: they have another sensitive diagnosis.
    cohorts = pl.read_parquet(run / "evidence" / "cohorts.parquet")
    labels = pl.read_csv(tiny_demo.corpus / "diagnoses.csv").filter(pl.col("present").cast(pl.String) == "true")
    assert set(cohorts["diagnosis"]) == {"hiv"}
    assert set(cohorts["patient_id"]) <= set(labels["patient_id"])
    assert not cohorts.filter(~pl.col("present")).is_empty()

    priors = pl.read_parquet(run / "evidence" / "priors.parquet").filter(~pl.col("excluded"))
    assert not set(described) & set(priors["patient_id"])
    texts = {row["text"] for row in rows}
    openings = priors.filter(pl.col("tier") == "encounter")
    for row in openings.iter_rows(named=True):
        assert "room 4\n\n" in row["prompt"]
        assert any(text.startswith(row["prompt"]) for text in texts), repr(row["prompt"])
        assert row["unbroken"]
    assert set(openings["form"]) == {"text"}

    exact = exact_of(run)
    metrics = pl.read_parquet(run / "evidence" / "generation_metrics.parquet")
    for arm in ("train", "nontrain"):
        own = metrics.filter((pl.col("tier") == "encounter") & (pl.col("arm") == arm))
        shares = own.select("patient_id", share=(pl.col("memorized_tokens") / pl.col("tokens")).fill_nan(0.0))
        mean = shares.group_by("patient_id").mean()["share"].mean()
        figure = value_of(exact, "memorized_fraction", form="text", tier="encounter", arm=arm)
        assert figure == pytest.approx(mean, abs=1e-6)

    published = published_of(run)
    assert published.values_of("form", "memorized_fraction") == ["text"]
    assert published.rows("patients", arm="validation")
    assert value_of(published, "prompt_unbroken", form="text", tier="encounter", arm="train") == 1
    assert "Prompts that fit the notes" in (run / "annex.html").read_text(encoding="utf-8")
