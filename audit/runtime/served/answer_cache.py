"""A content-addressed cache of a served model's answers, on the disk, so that a resumed audit asks nothing twice. PHI.

One row for each question (SQLite, under the run's `work/`), by a digest of the model's identity and the whole question,
with the result and its tokens. Safe to delete: without it, or where a row is damaged, the question is asked again.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path

from clinaudit.audit.runtime.run.directory import RunDirectory, open_pure_cache, require_regular
from clinaudit.audit.runtime.served.access import ServedModel
from clinaudit.audit.runtime.served.question import Question, Usage

_COUNTS = [field.name for field in fields(Usage)]
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, record TEXT NOT NULL, check_sum BLOB NOT NULL,
    {", ".join(f"{count} INTEGER NOT NULL" for count in _COUNTS)}
)
"""
_PROBE = f"SELECT key, record, check_sum, {', '.join(_COUNTS)} FROM answers LIMIT 1"
_KEEP = f"""
INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    record = excluded.record, check_sum = excluded.check_sum,
    {", ".join(f"{count} = {count} + excluded.{count}" for count in _COUNTS)}
"""


@dataclass(frozen=True, slots=True)
class Settled:
    """The final result of one question: a usable answer, or why there is none, and how many times it was asked."""

    answer: str | None
    attempts: int
    reason: str | None


class AnswerCache:
    """Keeps the result of each question; may be used from several threads."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def find(self, key: bytes) -> Settled | None:
        """Return the result of the question with this key; None where it is not cached, or the row is damaged."""
        with self._lock:
            row = self._connection.execute("SELECT record, check_sum FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None or _check_sum(str(row[0])) != row[1] else Settled(**json.loads(row[0]))

    def keep(self, key: bytes, settled: Settled, usage: Usage) -> None:
        """Keep the result of a question, on the disk; its usage is added to that of earlier times."""
        record = json.dumps(asdict(settled))
        with self._lock, self._connection:
            self._connection.execute(_KEEP, (key, record, _check_sum(record), *astuple(usage)))

    def usage(self) -> Usage:
        """Return the usage of all cached answers together, over every time that the audit was run."""
        totals = ", ".join(f"TOTAL({count})" for count in _COUNTS)
        with self._lock:
            return Usage(*map(int, self._connection.execute(f"SELECT {totals} FROM answers").fetchone()))


def question_key(identity: Mapping[str, str], question: Question) -> bytes:
    """Return the cache key (SHA-256) of a question to the model that `identity` identifies."""
    content = json.dumps([identity, asdict(question)], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


@contextmanager
def open_answer_cache(run: RunDirectory) -> Iterator[AnswerCache]:
    """Open a run's cache, as `open_cache_file` does; the process must hold the run's lock."""
    path = run.work / "judge.sqlite"
    require_regular(path, "the cache of answers")
    with open_cache_file(path) as cache:
        yield cache


@contextmanager
def open_cache_file(path: Path) -> Iterator[AnswerCache]:
    """Open the cache in a file, and make it where there is none; a damaged file is replaced."""
    # A question whose answer is lost in a power cut is asked again.
    with closing(open_pure_cache(path, _SCHEMA, probe=_PROBE)) as connection:
        yield AnswerCache(connection)


@contextmanager
def open_memory_cache() -> Iterator[AnswerCache]:
    """Open a cache in memory, lost with the process."""
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.execute(_SCHEMA)
        yield AnswerCache(connection)


def _check_sum(record: str) -> bytes:
    return hashlib.blake2b(record.encode(), digest_size=8).digest()


def identity_of(model: ServedModel, *, kind: str, reading: str = "2", seed: int | None) -> dict[str, str]:
    """Return the identity of a model asked for a purpose; neither with its key nor its address, which shows a network.

    `reading` is raised whenever a change of the code (not of the wording) changes what an answer means. `seed`: None
    where none is sent, so that what was answered stands, whatever the seed.
    """
    return {
        "kind": kind,
        "version": reading,
        "model": model.name,
        "endpoint": hashlib.sha256(model.base_url.encode()).hexdigest(),
        **({} if seed is None else {"seed": str(seed)}),
        "openai": version("openai"),
    }
