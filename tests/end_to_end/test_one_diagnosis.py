"""An audit of one diagnosis: whose patients are its controls."""

import polars as pl
import pytest
from support.runs.forked_command import run_command
from support.runs.tiny_audit import command

pytestmark = pytest.mark.slow


def test_one_diagnosis_keeps_the_controls_of_the_whole_panel(tiny_demo, tmp_path) -> None:
    run = tmp_path / "run"
    options = [
        "--tier",
        "encounter",
        "--diagnosis",
        "hiv",
        "--max-new-tokens",
        "5",
        "--quiet",
        "--engine",
        "transformers",
    ]
    done = run_command(command(tiny_demo, run, *options))
    assert done.returncode in (1, 8), done.stderr
    cohorts = pl.read_parquet(run / "evidence" / "cohorts.parquet")
    assert set(cohorts["diagnosis"]) == {"hiv"}
    # Controls have another sensitive diagnosis, though only HIV is audited.
    labels = pl.read_csv(tiny_demo.corpus / "diagnoses.csv").filter(pl.col("present").cast(pl.String) == "true")
    positive_for_some = set(labels["patient_id"])
    assert set(cohorts["patient_id"]) <= positive_for_some
    assert not cohorts.filter(~pl.col("present")).is_empty()
