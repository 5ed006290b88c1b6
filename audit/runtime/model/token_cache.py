"""A content-addressed cache of the notes' token ids, on the disk, so that a resumed audit need not tokenize again.

Owns the cache's file (SQLite, under the run's `work/`): one row for each distinct text, by a digest of the text, with
its number of tokens and, for texts that were matched, its ids. A pure cache, safe to delete: a damaged or missing row
is tokenized again.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.audit.runtime.run.directory import RunDirectory, require_regular
from clinaudit.audit.runtime.run.durable_files import is_damage, open_pure_cache, remove_sqlite

#: Texts tokenized at a time: enough for all processors, little enough for memory.
BATCH = 256
_KEY_BYTES = 16
_CHECK_BYTES = 8
_SCHEMA = "CREATE TABLE IF NOT EXISTS tokens (key BLOB PRIMARY KEY, length INTEGER NOT NULL, ids BLOB NOT NULL)"
_SELECT = "SELECT length, ids FROM tokens WHERE key = ?"
Ids = npt.NDArray[np.uint32]
Answer = TypeVar("Answer")


class TokenCache:
    """Tokenizes texts, each distinct text once."""

    def __init__(self, path: Path, tokenizer_digest: str, tokenizer: ModelTokenizer) -> None:
        self._path = path
        self._salt = hashlib.sha256(tokenizer_digest.encode()).digest()
        self.tokenizer = tokenizer
        self._connection = _open(path)

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text alone, without special tokens; each of shape (tokens,)."""
        keys = [self._key(text) for text in texts]
        known = [row[1] for row in self._known(keys)]
        missing = [index for index, ids in enumerate(known) if ids is None]
        fresh = self.tokenizer.encode_many([texts[index] for index in missing])
        self._keep([(keys[index], len(ids), ids) for index, ids in zip(missing, fresh, strict=True)])
        tokenized = dict(zip(missing, fresh, strict=True))
        return [tokenized[index] if ids is None else ids for index, ids in enumerate(known)]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text alone; caches no ids, since a whole corpus has too many."""
        keys = [self._key(text) for text in texts]
        known = [row[0] for row in self._known(keys)]
        missing = [index for index, length in enumerate(known) if length is None]
        fresh = [len(ids) for ids in self.tokenizer.encode_many([texts[index] for index in missing])]
        self._keep([(keys[index], length, None) for index, length in zip(missing, fresh, strict=True)])
        counted = dict(zip(missing, fresh, strict=True))
        return [counted[index] if length is None else length for index, length in enumerate(known)]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode("utf-8"), digest_size=_KEY_BYTES, key=self._salt).digest()

    def _known(self, keys: Sequence[bytes]) -> list[tuple[int | None, Ids | None]]:
        """Return for each key the length and the ids; None where they are missing or damaged."""
        rows = self._try(lambda: [self._connection.execute(_SELECT, (key,)).fetchone() for key in keys])
        return [_unpack(key, row) for key, row in zip(keys, rows or [None] * len(keys), strict=True)]

    def _keep(self, rows: Sequence[tuple[bytes, int, Ids | None]]) -> None:
        def insert() -> None:
            with self._connection:
                packed = [(key, length, _pack(key, length, ids)) for key, length, ids in rows]
                self._connection.executemany("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)", packed)

        if rows:
            self._try(insert)

    def _try(self, work: Callable[[], Answer]) -> Answer | None:
        """Return the result of `work` on the file; a damaged file is replaced by an empty one, and gives None."""
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._connection.close()
            remove_sqlite(self._path)
            self._connection = _open(self._path)
            return None


@contextmanager
def open_token_cache(run: RunDirectory, tokenizer_digest: str, tokenizer: ModelTokenizer) -> Iterator[TokenCache]:
    """Open a run's cache, and make it where there is none; a damaged file is replaced.

    The process must hold the run's lock.
    """
    cache = TokenCache(run.work / "tokens.sqlite", tokenizer_digest, tokenizer)
    try:
        yield cache
    finally:
        cache.close()


def _open(path: Path) -> sqlite3.Connection:
    # Rows lost in a power cut are tokenized again.
    require_regular(path, "the cache of token ids")
    return open_pure_cache(path, _SCHEMA, probe="SELECT key, length, ids FROM tokens LIMIT 1")


def _pack(key: bytes, length: int, ids: Ids | None) -> bytes:
    data = b"" if ids is None else ids.astype("<u4").tobytes()
    return data + _check(key, length, data)


def _unpack(key: bytes, row: tuple[object, object] | None) -> tuple[int | None, Ids | None]:
    """Return the length and the ids of a row, each None where the row lacks it or is damaged.

    The checksum covers the key too: a damaged index could lead to the row of another text.
    """
    if row is None:
        return None, None
    length, packed = row
    if not isinstance(length, int) or not 0 <= length < 1 << 62 or not isinstance(packed, bytes):
        return None, None
    data = packed[:-_CHECK_BYTES]
    if packed[-_CHECK_BYTES:] != _check(key, length, data):
        return None, None
    return length, np.frombuffer(data, dtype="<u4").astype(np.uint32) if len(data) == 4 * length else None


def _check(key: bytes, length: int, data: bytes) -> bytes:
    return hashlib.blake2b(key + length.to_bytes(8, "little") + data, digest_size=_CHECK_BYTES).digest()
