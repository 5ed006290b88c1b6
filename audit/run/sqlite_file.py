"""A private SQLite file: opened with its table in place, and removed with what SQLite keeps beside it.

Owns modes, pragmas, and what counts as damage. Knows nothing of what the tables hold.
"""

import sqlite3
from pathlib import Path
from typing import Literal

from clinaudit.audit.run.durable_files import FILE_MODE

#: Errors of a file that holds something else than the database that was written.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CONSTRAINT", "SQLITE_FORMAT")
#: FULL: what was committed survives a power cut. NORMAL: the last of it may be lost, and nothing is half there.
Synchronous = Literal["FULL", "NORMAL"]


def open_sqlite(
    path: Path, schema: str, *, synchronous: Synchronous, across_threads: bool = False
) -> sqlite3.Connection:
    """Open the file, made where there is none, with the tables of `schema`; raises `sqlite3.Error`."""
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
    """Open a file that is safe to delete; one that is damaged, or that `probe` cannot be asked of, is made anew."""
    try:
        return _open_and_probe(path, schema, probe, across_threads)
    except sqlite3.DatabaseError as error:
        # A table of other columns is an OperationalError of no special name.
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
    """Delete a file that is closed, and what SQLite keeps beside it."""
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        file.unlink(missing_ok=True)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the error says that the file is not what was written, rather than that it cannot be reached."""
    return getattr(error, "sqlite_errorname", "").startswith(_DAMAGE)
