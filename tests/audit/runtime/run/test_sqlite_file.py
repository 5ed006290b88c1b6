"""Private SQLite files: modes, and what a pure cache does with a file that is not what was written."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clinaudit.audit.runtime.run.durable_files import open_pure_cache, open_sqlite, remove_sqlite

SCHEMA = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT)"
PROBE = "SELECT key, value FROM kept LIMIT 1"


def rows(path: Path) -> list[tuple[str, str]]:
    with closing(open_pure_cache(path, SCHEMA, probe=PROBE)) as connection:
        return connection.execute("SELECT key, value FROM kept").fetchall()


def keep_one(path: Path) -> None:
    with closing(open_sqlite(path, SCHEMA, synchronous="FULL")) as connection, connection:
        connection.execute("INSERT INTO kept VALUES ('a', 'b')")


def test_what_was_committed_is_there_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    keep_one(path)
    assert rows(path) == [("a", "b")]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["garbage", "other columns"])
def test_a_damaged_cache_is_made_anew_and_a_damaged_store_is_not(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "cache.sqlite"
    if damage == "garbage":
        path.write_bytes(b"not a database" * 100)
        with pytest.raises(sqlite3.DatabaseError):
            open_sqlite(path, SCHEMA, synchronous="FULL")
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE kept (other TEXT)")
    assert rows(path) == []


def test_a_cache_that_another_holds_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    keep_one(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            open_pure_cache(path, SCHEMA, probe=PROBE)
    assert rows(path) == [("a", "b")]


def test_removal_takes_what_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with closing(open_sqlite(path, SCHEMA, synchronous="NORMAL")) as connection:
        connection.execute("INSERT INTO kept VALUES ('a', 'b')")
        connection.commit()
        assert {file.name for file in tmp_path.iterdir()} > {"cache.sqlite"}
    (tmp_path / "cache.sqlite-wal").touch()
    remove_sqlite(path)
    assert list(tmp_path.iterdir()) == []
    remove_sqlite(path)
