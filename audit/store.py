"""The run store: finished units of work, kept durably under `evidence/work/` so that a killed audit goes on.

Owns the lock, the settings a run was begun with, and one row a finished generation or verdict (SQLite). Knows nothing
of what the units mean. Each unit is committed, and on the disk, before the next one is reported done.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from clinaudit.audit.storage import FILE_MODE, make_private_directory
from clinaudit.templates.errors import StorageError, UsageError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS generations (
    key TEXT PRIMARY KEY, token_ids TEXT NOT NULL, finish_reason TEXT NOT NULL, text TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS judgements (
    generation_id TEXT, diagnosis TEXT, judgement TEXT NOT NULL, PRIMARY KEY (generation_id, diagnosis)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    """What an engine gave for one prompt."""

    token_ids: tuple[int, ...]
    finish_reason: str
    #: From engines without token ids only.
    text: str | None


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Where everything of a run stands."""

    root: Path

    @property
    def evidence(self) -> Path:
        """PHI."""
        return self.root / "evidence"

    @property
    def work(self) -> Path:
        """State, caches and temporary files; not in the manifest."""
        return self.evidence / "work"

    def create(self) -> None:
        """Make the directories; raises `UsageError` where something else stands there."""
        if self.root.exists() and not self.root.is_dir():
            raise UsageError("--out names something that is not a directory; name a new or an earlier run's directory")
        if self.root.is_dir() and not self.evidence.is_dir() and any(self.root.iterdir()):
            raise UsageError(
                "--out names a directory that holds other things; name a new or an earlier run's directory"
            )
        for directory in (self.root, self.evidence, self.work):
            make_private_directory(directory)


class RunStore:
    """The open store of one run; only one process holds it at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def bind_settings(self, settings: Mapping[str, object]) -> None:
        """Record what the run depends on, or refuse what differs from the first time, naming the fields."""
        known = self.settings()
        changed = sorted(field for field, value in settings.items() if field in known and known[field] != value)
        if changed:
            raise UsageError(
                f"this run was begun with other settings: {', '.join(changed)}; "
                "use the same ones to resume it, or another --out"
            )
        rows = [(field, json.dumps(value, sort_keys=True)) for field, value in settings.items() if field not in known]
        with self._connection:
            self._connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)

    def settings(self) -> dict[str, Any]:
        """Return everything `bind_settings` recorded."""
        return {field: json.loads(value) for field, value in self._connection.execute("SELECT * FROM settings")}

    def add_generation(self, key: str, generation: StoredGeneration) -> None:
        """Commit one finished generation."""
        row = (key, json.dumps(generation.token_ids), generation.finish_reason, generation.text)
        with self._connection:
            self._connection.execute("INSERT INTO generations VALUES (?, ?, ?, ?)", row)

    def generations(self) -> dict[str, StoredGeneration]:
        """Return all finished generations by key."""
        rows = self._connection.execute("SELECT key, token_ids, finish_reason, text FROM generations")
        return {key: StoredGeneration(tuple(json.loads(ids)), reason, text) for key, ids, reason, text in rows}

    def add_judgement(self, generation_id: str, diagnosis: str, judgement: Mapping[str, object]) -> None:
        """Commit one verdict (or that there is none)."""
        row = (generation_id, diagnosis, json.dumps(judgement))
        with self._connection:
            self._connection.execute("INSERT INTO judgements VALUES (?, ?, ?)", row)

    def judgements(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return all verdicts by generation and diagnosis."""
        rows = self._connection.execute("SELECT generation_id, diagnosis, judgement FROM judgements")
        return {(generation_id, diagnosis): json.loads(text) for generation_id, diagnosis, text in rows}


@contextmanager
def open_store(run: RunDirectory) -> Iterator[RunStore]:
    """Open a run's store, made where there is none; raises `StorageError` where another audit holds it."""
    run.create()
    lock = FileLock(run.work / "lock", mode=FILE_MODE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise StorageError("another audit is writing to this run; wait for it, or use another --out") from None
    try:
        connection = sqlite3.connect(run.work / "state.sqlite")
        try:
            (run.work / "state.sqlite").chmod(FILE_MODE)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_SCHEMA)
            yield RunStore(connection)
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"the run's state cannot be read or written ({error.sqlite_errorname}); "
                "free disk space or restore the file, then run the same command again"
            ) from None
        finally:
            connection.close()
    finally:
        lock.release()
