"""A private SQLite file: opened with its tables made, and removed together with SQLite's own files (`-wal`, `-shm`).

Owns modes, pragmas, and what counts as damage. Knows nothing of what the tables hold.
"""

import sqlite3
from pathlib import Path
from typing import Literal

from clinaudit.audit.run.durable_files import FILE_MODE

#: Errors that mean the file is not the database that was written.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CONSTRAINT", "SQLITE_FORMAT")
#: FULL: committed transactions survive a power cut. NORMAL: the last ones may be lost, whole.
Synchronous = Literal["FULL", "NORMAL"]


def open_sqlite(
    path: Path, schema: str, *, synchronous: Synchronous, across_threads: bool = False
) -> sqlite3.Connection:
    """Open the file with the tables of `schema`, and make it where there is none; raises `sqlite3.Error`."""
    connection = sqlite3.connect(path, check_same_thread=not across_threads)
    try:
        path.chmod(FILE_MODE)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.executescript(schema)
    except BaseException:
        connection.close()
        raise
    return connection


def open_pure_cache(path: Path, schema: str, *, probe: str, across_threads: bool = False) -> sqlite3.Connection:
    """Open a pure cache (safe to delete); a file that is damaged, or on which the query `probe` fails, is replaced."""
    try:
        return _open_and_probe(path, schema, probe, across_threads)
    except sqlite3.DatabaseError as error:
        # A table with other columns raises an OperationalError without an error name of its own.
        if not is_damage(error) and "no such column" not in str(error):
            raise
    remove_sqlite(path)
    return _open_and_probe(path, schema, probe, across_threads)


def _open_and_probe(path: Path, schema: str, probe: str, across_threads: bool) -> sqlite3.Connection:
    connection = open_sqlite(path, schema, synchronous="NORMAL", across_threads=across_threads)
    try:
        connection.execute(probe).fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def remove_sqlite(path: Path) -> None:
    """Delete a closed file, with its `-wal` and `-shm`."""
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        file.unlink(missing_ok=True)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the error means that the file is damaged, rather than that it cannot be accessed."""
    return getattr(error, "sqlite_errorname", "").startswith(_DAMAGE)
