"""A content-addressed cache of a served model's answers, on the disk, so that a resumed audit asks nothing twice. PHI.

One row for each question (SQLite, under the run's `work/`), by a digest of the model's identity and the whole question,
with the result and its tokens. Safe to delete: without it, or where a row is damaged, the question is asked again. A
caller validates a cached answer again. The identity holds neither a key nor the address, which shows a site's network.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from clinaudit.audit.runtime.run.directory import RunDirectory, require_regular
from clinaudit.audit.runtime.run.durable_files import open_pure_cache
from clinaudit.audit.runtime.served.access import ServedModel
from clinaudit.audit.runtime.served.question import Question, Usage

_CHECK_BYTES = 8
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, record TEXT NOT NULL, check_sum BLOB NOT NULL,
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    uncounted_calls INTEGER NOT NULL
)
"""
_PROBE = "SELECT key, record, check_sum, calls, prompt_tokens, completion_tokens, uncounted_calls FROM answers LIMIT 1"


@dataclass(frozen=True, slots=True)
class Settled:
    """The final result of one question: a usable answer, or why there is none."""

    #: The text of the usable answer; None where no answer was usable.
    answer: str | None
    #: How many times the question was asked.
    attempts: int
    #: Why the last answer could not be used; None with an answer.
    reason: str | None


class AnswerCache:
    """Keeps the result of each question; may be used from several threads."""

    def __init__(self, connection: sqlite3.Connection, *, lasts: bool) -> None:
        #: Whether the next run of the same command finds what this one kept.
        self.lasts = lasts
        self._connection = connection
        self._lock = threading.Lock()

    def find(self, key: bytes) -> Settled | None:
        """Return the result of the question with this key; None where it is not cached, or the row is damaged."""
        with self._lock:
            row = self._connection.execute("SELECT record, check_sum FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None or _check_sum(str(row[0])) != row[1]:
            return None
        return Settled(**json.loads(row[0]))

    def keep(self, key: bytes, settled: Settled, usage: Usage) -> None:
        """Keep the result of a question, on the disk; its usage is added to that of earlier times."""
        record = json.dumps(asdict(settled))
        counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.uncounted_calls)
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET record = "
                "excluded.record, check_sum = excluded.check_sum, calls = calls + excluded.calls, prompt_tokens = "
                "prompt_tokens + excluded.prompt_tokens, completion_tokens = completion_tokens + "
                "excluded.completion_tokens, uncounted_calls = uncounted_calls + excluded.uncounted_calls",
                (key, record, _check_sum(record), *counts),
            )

    def usage(self) -> Usage:
        """Return the usage of all cached answers together, over every time that the audit was run."""
        with self._lock:
            row = self._connection.execute(
                "SELECT TOTAL(calls), TOTAL(prompt_tokens), TOTAL(completion_tokens), TOTAL(uncounted_calls) "
                "FROM answers"
            ).fetchone()
        return Usage(*(int(count) for count in row))


def question_key(identity: Mapping[str, str], question: Question, *, repeat: int = 0) -> bytes:
    """Return the cache key (SHA-256) of a question to the model that `identity` identifies, asked the nth time."""
    content = json.dumps([identity, asdict(question), repeat], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


@contextmanager
def open_answer_cache(run: RunDirectory) -> Iterator[AnswerCache]:
    """Open a run's cache, and make it where there is none; a damaged file is replaced.

    The process must hold the run's lock.
    """
    path = run.work / "judge.sqlite"
    require_regular(path, "the cache of answers")
    with open_cache_file(path) as cache:
        yield cache


@contextmanager
def open_cache_file(path: Path) -> Iterator[AnswerCache]:
    """Open the cache in a file, and make it where there is none; a damaged file is replaced."""
    # A question whose answer is lost in a power cut is asked again.
    with closing(open_pure_cache(path, _SCHEMA, probe=_PROBE, across_threads=True)) as connection:
        yield AnswerCache(connection, lasts=True)


@contextmanager
def open_memory_cache() -> Iterator[AnswerCache]:
    """Open a cache in memory, lost with the process."""
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.execute(_SCHEMA)
        yield AnswerCache(connection, lasts=False)


def _check_sum(record: str) -> bytes:
    return hashlib.blake2b(record.encode(), digest_size=_CHECK_BYTES).digest()


def identity_of(model: ServedModel, *, kind: str, reading: str, seed: int) -> dict[str, str]:
    """Return the identity of a model asked for a purpose; `reading` is raised when an answer comes to mean another."""
    return {
        "kind": kind,
        "version": reading,
        "model": model.name,
        "endpoint": hashlib.sha256(model.base_url.encode()).hexdigest(),
        "seed": str(seed),
        "openai": version("openai"),
    }
