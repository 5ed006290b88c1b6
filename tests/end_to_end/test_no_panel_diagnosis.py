"""A corpus without a diagnosis of the panel is audited for text and identifiers; nothing is said of diagnoses."""

import shutil

import polars as pl
import pytest
from support.runs.command_line import command, run_command
from support.runs.tables import exact_of

pytestmark = pytest.mark.slow


def test_text_and_identifiers_are_audited_without_a_panel_diagnosis(tiny_demo, tmp_path):
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    shutil.copytree(tiny_demo.corpus, corpus)
    first = pl.read_csv(corpus / "patients.csv", infer_schema=False)["patient_id"][0]
    (corpus / "diagnoses.csv").write_text(f"patient_id,diagnosis,present\n{first},diabetes,true\n", encoding="utf-8")
    options = ["--tier", "encounter", "--max-new-tokens", "40", "--quiet", "--engine", "transformers"]
    options += ["--no-everyday", "--no-score"]
    arguments = command(tiny_demo, run, *options)
    arguments[arguments.index(str(tiny_demo.corpus))] = str(corpus)
    done = run_command(arguments)
    assert done.returncode in (1, 8), done.stderr
    estimates = exact_of(run).frame.filter(pl.col("value").is_not_null())
    metrics = set(estimates["metric"])
    assert metrics >= {"memorized_fraction", "attributable_fraction", "own_identifiers"}
    assert not metrics & {"auroc_all", "auroc", "ppv"}
    assert pl.read_parquet(run / "evidence" / "cohorts.parquet").is_empty()
