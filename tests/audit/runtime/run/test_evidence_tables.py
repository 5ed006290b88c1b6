"""Tables of the evidence as they are written: in order, in row groups, and not at all where the disk is full."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pytest

from clinaudit.audit.runtime.run import evidence_tables
from clinaudit.audit.runtime.run.evidence_tables import Row, read_table, write_table
from clinaudit.errors import StorageError


def rows(count: int) -> Iterator[Row]:
    return ({"patient_id": str(n), "person_id": f"{n * n:x}", "in_both_splits": n % 2 == 0} for n in range(count))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_come_back_in_their_order_from_all_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_tables, "_BATCH_ROWS", 10)
    monkeypatch.setattr(evidence_tables, "_GROUP_ROWS", 30)
    write_table(tmp_path, "people", rows(105))
    assert read_table(tmp_path, "people") == list(rows(105))
    write_table(tmp_path, "people", [])
    assert read_table(tmp_path, "people") == []
    assert pl.read_parquet_schema(tmp_path / "people.parquet").names() == list(evidence_tables.SCHEMAS["people"])


def test_a_full_disk_is_a_storage_error_and_leaves_the_table_of_before(tmp_path):
    write_table(tmp_path, "people", rows(3))
    with files_of_at_most(10_000), pytest.raises(StorageError, match=r"^cannot write people\.parquet: File too large;"):
        write_table(tmp_path, "people", rows(100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]
    assert read_table(tmp_path, "people") == list(rows(3))
