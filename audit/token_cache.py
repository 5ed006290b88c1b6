"""Token ids of notes, kept on the disk by content, so that a resumed audit does not tokenize its corpus again.

Owns the cache's file (SQLite, under the run's `work/`): a row a distinct text, by a digest of the text, with its number
of tokens and, for texts that were matched, their ids. It is only ever a shortcut: what is damaged or missing is
tokenized again. Knows nothing of patients.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clinaudit.audit.storage import FILE_MODE
from clinaudit.audit.store import RunDirectory
from clinaudit.audit.tokens import ModelTokenizer

#: Texts tokenized at a time: enough for all processors, little enough for memory.
BATCH = 256

_KEY_BYTES = 16
_CHECK_BYTES = 8
_SCHEMA = "CREATE TABLE IF NOT EXISTS tokens (key BLOB PRIMARY KEY, length INTEGER NOT NULL, ids BLOB)"
_SELECT = "SELECT length, ids FROM tokens WHERE key = ?"


class TokenCache:
    """Tokenizes texts, or remembers how it did."""

    def __init__(self, connection: sqlite3.Connection, tokenizer_digest: str, tokenizer: ModelTokenizer) -> None:
        self._connection = connection
        self.tokenizer = tokenizer
        self._salt = hashlib.sha256(tokenizer_digest.encode()).digest()

    def ids(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the ids of each text alone, without special tokens."""
        keys = [self._key(text) for text in texts]
        known = [_unpack(*(self._row(key) or (0, None))) for key in keys]
        missing = [index for index, ids in enumerate(known) if ids is None]
        fresh = self.tokenizer.encode_many([texts[index] for index in missing])
        rows = [(keys[index], len(ids), _pack(ids)) for index, ids in zip(missing, fresh, strict=True)]
        self._keep(rows)
        tokenized = dict(zip(missing, fresh, strict=True))
        return [tokenized[index] if ids is None else ids for index, ids in enumerate(known)]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text alone; keeps no ids, which a whole corpus has too many of."""
        keys = [self._key(text) for text in texts]
        known = [self._row(key) for key in keys]
        missing = [index for index, row in enumerate(known) if row is None]
        fresh = [len(ids) for ids in self.tokenizer.encode_many([texts[index] for index in missing])]
        self._keep([(keys[index], length, None) for index, length in zip(missing, fresh, strict=True)])
        counted = dict(zip(missing, fresh, strict=True))
        return [counted[index] if row is None else row[0] for index, row in enumerate(known)]

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8"), digest_size=_KEY_BYTES, key=self._salt).digest()

    def _row(self, key: bytes) -> tuple[int, bytes | None] | None:
        row: tuple[int, bytes | None] | None = self._connection.execute(_SELECT, (key,)).fetchone()
        return row

    def _keep(self, rows: Sequence[tuple[bytes, int, bytes | None]]) -> None:
        if rows:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)", rows)


@contextmanager
def open_token_cache(run: RunDirectory, tokenizer_digest: str, tokenizer: ModelTokenizer) -> Iterator[TokenCache]:
    """Open a run's cache, made where there is none; a file that is no cache any more is made anew.

    For a process that holds the run's lock.
    """
    connection = _connect(run.work / "tokens.sqlite")
    try:
        yield TokenCache(connection, tokenizer_digest, tokenizer)
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return _prepare(path)
    except sqlite3.DatabaseError:
        for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            file.unlink(missing_ok=True)
        return _prepare(path)


def _prepare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    try:
        path.chmod(FILE_MODE)
        # What a power cut loses is tokenized again; it must only never be half there.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
        connection.execute("SELECT key, length, ids FROM tokens LIMIT 1").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _pack(ids: npt.NDArray[np.uint32]) -> bytes:
    data = ids.astype("<u4").tobytes()
    return data + hashlib.blake2b(data, digest_size=_CHECK_BYTES).digest()


def _unpack(length: int, packed: bytes | None) -> npt.NDArray[np.uint32] | None:
    if packed is None:
        return None
    data, check = packed[:-_CHECK_BYTES], packed[-_CHECK_BYTES:]
    if len(data) != 4 * length or hashlib.blake2b(data, digest_size=_CHECK_BYTES).digest() != check:
        return None
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)
