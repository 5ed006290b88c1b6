"""Tables of the evidence: written in batches, with the bytes of one frame."""

from pathlib import Path

import polars as pl
import pytest

from clinaudit.audit.runtime.run import evidence_tables
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.errors import IntegrityError


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 50])
def test_batches_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    values = [
        {"patient_id": f"p{i}", "diagnosis": "hiv", "present": i % 3 == 0 or None, "source": None, "reason": "x"}
        for i in range(rows)
    ]
    write_table(tmp_path, "labels", iter(values))
    whole = (tmp_path / "labels.parquet").read_bytes()
    monkeypatch.setattr(evidence_tables, "_BATCH_ROWS", 4)
    write_table(tmp_path, "labels", iter(values))
    assert (tmp_path / "labels.parquet").read_bytes() == whole
    assert read_table(tmp_path, "labels") == values


def test_a_column_that_an_earlier_version_did_not_write_reads_as_null(tmp_path: Path) -> None:
    columns = evidence_tables.SCHEMAS["generation_metrics"]
    values = {"int": 1, "bool": True, "text": "x"}
    row = {name: values[kind] for name, kind in columns.items()}
    write_table(tmp_path, "generation_metrics", [row])
    path = tmp_path / "generation_metrics.parquet"
    pl.read_parquet(path).drop("source_notes_any", "source_notes_min").write_parquet(path)
    assert read_table(tmp_path, "generation_metrics") == [{**row, "source_notes_any": None, "source_notes_min": None}]
    pl.read_parquet(path).drop("tokens").write_parquet(path)
    with pytest.raises(IntegrityError, match="not the table"):
        read_table(tmp_path, "generation_metrics")
