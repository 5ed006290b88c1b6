"""An audit of one diagnosis by two matchers: whose patients are probed, and what is compared."""

import json

import polars as pl
import pytest
from support.runs.forked_command import run_command
from support.runs.tiny_audit import command

pytestmark = pytest.mark.slow


def test_one_diagnosis_keeps_the_controls_of_the_whole_panel_by_either_matcher(tiny_demo, tmp_path) -> None:
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
        "--second-matcher",
        "optimal",
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

    # The other matcher's patients are probed and judged, too.
    again = pl.read_parquet(run / "evidence" / "second_cohorts.parquet")
    generations = pl.read_parquet(run / "evidence" / "generations.parquet")
    judged = set(generations.filter(pl.col("diagnoses").list.len() > 0)["patient_id"])
    assert set(cohorts["patient_id"]) | set(again["patient_id"]) >= judged
    # Whose prompt refers to HIV is probed, but not judged.
    assert judged
    second = json.loads((run / "evidence" / "results.json").read_text())["second_matcher"]["diagnoses"]["hiv"]
    first = json.loads((run / "evidence" / "results.json").read_text())["cohorts"]["hiv"]
    assert second["sets"] == len(again) // 4
    assert first["matcher"] == "psm"
    pair = second["pairs"]["encounter"]
    assert second["delta"]["encounter"]["auroc_all"]["value"] == pair["delta"]["auroc_all"]["value"]
    assert json.loads((run / "results.json").read_text())["second_matcher"]["diagnoses"]["hiv"].keys() == {
        "status",
        "reason",
        "sets",
        "largest_smd",
        "delta",
    }
