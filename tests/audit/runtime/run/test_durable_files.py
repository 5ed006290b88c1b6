"""Files and tables of the evidence are written whole or not at all; private SQLite files."""

import fcntl
import os
import resource
import sqlite3
import stat
from contextlib import closing, contextmanager

import polars as pl
import pytest

from clinaudit.audit.runtime.run import directory as files
from clinaudit.audit.runtime.run import evidence_tables
from clinaudit.audit.runtime.run.evidence_tables import read_table, write_table
from clinaudit.errors import IntegrityError, StorageError


def test_what_is_no_file_is_never_replaced_by_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (lambda: files.write_atomically(pipe, "x"), lambda: files.require_writable(pipe, role="it")):
        with pytest.raises(StorageError, match="device or a pipe"):
            write()
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_of_a_librarys_write_that_fails_nothing_is_left(tmp_path):
    path = tmp_path / "table.parquet"
    with files.replacing_by_library(path) as temporary:
        temporary.write_bytes(b"whole")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"whole", 0o600)

    def broken(error):
        with files.replacing_by_library(path) as temporary:
            temporary.write_bytes(b"ha")
            raise error

    for error in (OSError("full"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            broken(error)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"table.parquet": b"whole"}


def test_two_writers_of_one_file_never_mix_it(tmp_path):
    path = tmp_path / "lines.jsonl"

    def disturbed():
        yield "first"
        with pytest.raises(StorageError, match=r"another command is writing lines\.jsonl"):
            files.write_atomically(path, "second\n")
        yield "first again"

    files.write_lines_atomically(path, disturbed())
    assert path.read_text() == "first\nfirst again\n"
    files.write_atomically(path, "third\n")
    assert path.read_text() == "third\n"
    assert [one.name for one in tmp_path.iterdir()] == ["lines.jsonl"]


def test_a_writer_that_comes_as_the_first_ends_takes_a_file_of_its_own(tmp_path, monkeypatch):
    path, partial = tmp_path / "a.txt", tmp_path / ".a.txt.partial"
    lock = fcntl.flock
    ended: list[bool] = []

    def first_ends_now(file, operation):
        # The second has opened the first's file; before it is locked, the first puts it in its place.
        if not ended:
            ended.append(True)
            partial.write_text("first\n")
            partial.rename(path)
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", first_ends_now)
    with files.replacing(path) as file:
        file.write(b"second\n")
        file.flush()
        assert path.read_text() == "first\n"
    assert path.read_text() == "second\n"


def test_a_link_in_the_place_of_what_is_being_written_is_not_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / ".a.txt.partial").symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        files.write_atomically(tmp_path / "a.txt", "x")
    assert elsewhere.read_text() == "mine"


SCHEMA = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT)"
PROBE = "SELECT key, value FROM kept LIMIT 1"


def rows(path):
    with closing(files.open_pure_cache(path, SCHEMA, probe=PROBE)) as connection:
        return connection.execute("SELECT key, value FROM kept").fetchall()


@pytest.mark.parametrize("damage", ["garbage", "other columns"])
def test_a_damaged_cache_is_made_anew_and_a_damaged_store_is_not(tmp_path, damage):
    path = tmp_path / "cache.sqlite"
    if damage == "garbage":
        path.write_bytes(b"not a database" * 100)
        with pytest.raises(sqlite3.DatabaseError):
            files.open_sqlite(path, SCHEMA, synchronous="FULL")
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE kept (other TEXT)")
    assert rows(path) == []


def people(count):
    return ({"patient_id": str(n), "person_id": f"{n * n:x}", "in_both_splits": n % 2 == 0} for n in range(count))


@contextmanager
def files_of_at_most(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_rows_come_back_in_their_order_from_all_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence_tables, "_BATCH_ROWS", 10)
    monkeypatch.setattr(evidence_tables, "_GROUP_ROWS", 30)
    write_table(tmp_path, "people", people(105))
    assert read_table(tmp_path, "people") == list(people(105))
    write_table(tmp_path, "people", [])
    assert read_table(tmp_path, "people") == []
    assert pl.read_parquet_schema(tmp_path / "people.parquet").names() == list(evidence_tables.SCHEMAS["people"])


def test_a_full_disk_is_a_storage_error_and_leaves_the_table_of_before(tmp_path):
    write_table(tmp_path, "people", people(3))
    with files_of_at_most(10_000), pytest.raises(StorageError, match=r"^cannot write people\.parquet: File too large;"):
        write_table(tmp_path, "people", people(100_000))
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]
    assert read_table(tmp_path, "people") == list(people(3))


def test_a_write_that_finds_no_room_names_its_file(tmp_path):
    path = tmp_path / "masked.jsonl"
    with files_of_at_most(10), pytest.raises(OSError, match="File too large") as error:
        files.write_lines_atomically(path, ["a line of a text"])
    assert (error.value.filename, [*tmp_path.iterdir()]) == (str(path), [])


def test_a_disk_that_is_full_at_whatever_place_of_a_table_is_a_storage_error(tmp_path, monkeypatch):
    # So many row groups that the file's end, which lists them, is written in several parts.
    monkeypatch.setattr(evidence_tables, "_GROUP_ROWS", 5)
    write_table(tmp_path, "people", people(1_000))
    size = (tmp_path / "people.parquet").stat().st_size
    for limit in range(0, size, 4_000):
        with files_of_at_most(limit), pytest.raises(StorageError, match=r"^cannot write people\.parquet: "):
            write_table(tmp_path, "people", people(1_000))
    assert read_table(tmp_path, "people") == list(people(1_000))


def test_a_table_without_a_column_is_not_the_audits(tmp_path):
    columns = evidence_tables.SCHEMAS["generation_metrics"]
    values = {"int": 1, "bool": True, "text": "x"}
    row = {name: values[kind] for name, kind in columns.items()}
    write_table(tmp_path, "generation_metrics", [row])
    path = tmp_path / "generation_metrics.parquet"
    pl.read_parquet(path).drop("tokens").write_parquet(path)
    with pytest.raises(IntegrityError, match="not the table"):
        read_table(tmp_path, "generation_metrics")
