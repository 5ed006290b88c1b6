"""Tables of the evidence: written in batches, with the bytes of one frame."""

from pathlib import Path

import pytest

from clinaudit.audit.run import evidence_tables
from clinaudit.audit.run.evidence_tables import read_table, write_table


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
