"""The table of a run: which formulas are called, and which differences stand in it."""

import pytest
from support.evidence_frames import evidence

from clinaudit.audit.assembly.estimates import estimate_run
from clinaudit.reports.estimates.frame import Estimates


def test_the_table_of_what_analyze_leaves_has_differences_where_chance_is_never_seen(tmp_path):
    answer = {"tier": "public", "tokens": 100}
    answers = [
        {**answer, "generation_id": "g1", "patient_id": "a", "arm": "train", "attributable_tokens": 50},
        {**answer, "generation_id": "g2", "patient_id": "n", "arm": "nontrain", "attributable_tokens": 10},
        {**answer, "generation_id": "g3", "patient_id": "a", "arm": "train", "model": "control"},
    ]
    tables = evidence(
        generation_metrics=answers, regions=[], segments=[], memorized_text=[], identifiers=[], planted=[]
    )
    for name, frame in tables.items():
        frame.collect().write_parquet(tmp_path / f"{name}.parquet")
    table = Estimates(estimate_run(tmp_path, match_tokens=30))
    own = {row.arm: row.value for row in table.rows("attributable_fraction")}
    assert own == {
        "train": 0.5,
        "nontrain": 0.1,
        "control": 0.0,
        "train-nontrain": pytest.approx(0.4),
        "train-control": 0.5,
    }
    # The chance of others' text is that with the splits exchanged.
    assert set(table.values_of("arm", "other_patient_fraction")) == {"train", "nontrain", "control"}
    assert table.rows("own_identifiers", arm="train-control")
    assert not table.rows("everyday_tasks")


def test_nothing_measured_is_an_empty_table(tmp_path):
    assert estimate_run(tmp_path, match_tokens=30).is_empty()
