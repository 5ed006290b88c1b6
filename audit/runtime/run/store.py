"""The run store (SQLite, in `work/`): the settings that a run was begun with, and each finished unit of work.

Each unit is committed, durably, before the next one is reported done, so that a killed audit can resume. Each row has a
check sum: a disk may damage what SQLite still reads, and figures of it would stand in the report.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from pydantic import TypeAdapter

from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, open_sqlite, require_regular
from clinaudit.errors import BadInputError, StorageError, UsageError

#: Of what a run keeps to go on with: another number where the same settings or tables come to mean something else.
STATE_VERSION: Final = 3
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS settings (field TEXT PRIMARY KEY, value TEXT NOT NULL, check_sum BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS generations (key TEXT PRIMARY KEY, made TEXT NOT NULL, check_sum BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, of_each INTEGER, numbers BLOB, check_sum BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS judgements (
    generation_id TEXT, diagnosis TEXT, judgement TEXT NOT NULL, check_sum BLOB, PRIMARY KEY (generation_id, diagnosis)
) WITHOUT ROWID;
"""
_Key = TypeVar("_Key")
_Unit = TypeVar("_Unit")

#: `stop`: end of sequence; `length`: the budget was used up; `repetition`: cut by the repetition guard.
FinishReason = Literal["stop", "length", "repetition"]


@dataclass(frozen=True, slots=True)
class GenerationOutput:
    """One finished generation."""

    key: str
    #: After the guard, end-of-sequence removed; empty where `text` is given. The evidence has them in 32 bits.
    token_ids: tuple[Annotated[int, Ge(0), Le(2**31 - 1)], ...]
    finish_reason: FinishReason
    #: Only from engines that give no token ids (served models), before any guard; None otherwise.
    text: str | None = None
    #: Tokens before the first end that was barred; None where none was, or the engine does not know.
    first_end: Annotated[int, Ge(0)] | None = None


_GENERATION: Final = TypeAdapter(GenerationOutput)


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """The scores of one text, from the first token that was asked for; float32, shape (tokens scored,)."""

    key: str
    #: Natural logarithms of the probabilities, at temperature 1.
    log_probs: npt.NDArray[np.float32]
    #: Mean and standard deviation of log p over the vocabulary, each token weighted by its p (Min-K%++); None where the
    #: engine gives the scored tokens alone.
    means: npt.NDArray[np.float32] | None = None
    deviations: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Raise `BadInputError` where a model gives no numbers: figures made of them would mean nothing."""
        if np.isnan(self.log_probs).any():
            raise BadInputError(
                "the model's probabilities of a text are no numbers; look at its training, or save it in another type "
                "(float32 holds what float16 does not)"
            )


class RunStore:
    """The open store of one run; one process at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def bind_settings(self, settings: Mapping[str, object]) -> None:
        """Record the settings that the run depends on; raises `UsageError` that names those changed since it began."""
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (is_begun,) = self._connection.execute("SELECT EXISTS (SELECT * FROM settings)").fetchone()
        # Its work may mean something else.
        if is_begun and version != STATE_VERSION:
            raise UsageError("this run was begun by another version of clinaudit; give another --out")
        known = self.settings()
        changed = sorted(field for field, value in settings.items() if field in known and known[field] != value)
        if changed:
            raise UsageError(
                f"this run was begun with other settings: {', '.join(changed)}; "
                "use the same ones to resume it, or another --out"
            )
        rows = [(field, json.dumps(value, sort_keys=True)) for field, value in settings.items() if field not in known]
        with self._connection:
            self._connection.execute(f"PRAGMA user_version = {STATE_VERSION}")
            self._connection.executemany("INSERT INTO settings VALUES (?, ?, ?)", map(_with_check_sum, rows))

    def settings(self) -> dict[str, Any]:
        """Return all settings that `bind_settings` recorded."""
        return self._read("settings", lambda field, value: (field, json.loads(value)))

    def add_generation(self, made: GenerationOutput) -> None:
        """Commit one finished generation."""
        self._add("generations", made.key, _GENERATION.dump_json(made))

    def generations(self) -> dict[str, GenerationOutput]:
        """Return all finished generations by key."""
        return self._read("generations", lambda key, made: (key, _GENERATION.validate_json(made, strict=True)))

    def add_scores(self, scores: TokenScores) -> None:
        """Commit the scores of one text."""
        numbers = [of for of in (scores.log_probs, scores.means, scores.deviations) if of is not None]
        self._add("scores", scores.key, len(numbers), np.concatenate(numbers).astype("<f4").tobytes())

    def scores(self) -> dict[str, TokenScores]:
        """Return all scores that `add_scores` committed, by key."""

        def unpack(key: str, of_each: int, packed: bytes) -> tuple[str, TokenScores]:
            return key, TokenScores(key, *np.frombuffer(packed, "<f4").astype(np.float32).reshape(of_each, -1))

        return self._read("scores", unpack)

    def add_judgement(self, generation_id: str, diagnosis: str, row: Mapping[str, object]) -> None:
        """Commit the judgement of one generation and diagnosis, as its row."""
        self._add("judgements", generation_id, diagnosis, json.dumps(row))

    def judgements(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return all rows that `add_judgement` committed, by generation and diagnosis."""
        return self._read("judgements", lambda of, diagnosis, text: ((of, diagnosis), json.loads(text)))

    def _add(self, table: str, *row: object) -> None:
        marks = ", ".join("?" * (len(row) + 1))
        with self._connection:
            self._connection.execute(f"INSERT INTO {table} VALUES ({marks})", _with_check_sum(row))

    def _read(self, table: str, unpack: Callable[..., tuple[_Key, _Unit]]) -> dict[_Key, _Unit]:
        """Return what each row holds, by its key; raises `StorageError` for a row that no audit wrote."""

        def held(row: tuple[Any, ...]) -> Sequence[Any]:
            if _with_check_sum(row[:-1]) != row:
                raise damaged_state()
            return row[:-1]

        try:
            return dict(unpack(*held(row)) for row in self._connection.execute(f"SELECT * FROM {table}"))
        except (ValueError, TypeError, RecursionError):  # pydantic's errors are ValueErrors
            raise damaged_state() from None


def _with_check_sum(row: Sequence[object]) -> tuple[object, ...]:
    digest = hashlib.blake2b(digest_size=8)
    for value in row:
        content = value if isinstance(value, bytes) else str(value).encode()
        digest.update(len(content).to_bytes(8) + content)
    return *row, digest.digest()


@contextmanager
def open_store(run: RunDirectory) -> Iterator[RunStore]:
    """Open or make a run's store under its lock; raises `StorageError` where it is held, or the file cannot be used."""
    run.create()
    with hold_lock(run):
        try:
            path = run.work / "state.sqlite"
            require_regular(path, "the run's state")
            with closing(open_sqlite(path, _SCHEMA, synchronous="FULL")) as connection:
                yield RunStore(connection)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise StorageError(
                f"the run's state cannot be read or written ({name}); "
                "free disk space or restore the file, then run the same command again"
            ) from None


def damaged_state() -> StorageError:
    """Return the error for a row that no audit wrote."""
    return StorageError("the run's state holds something the audit did not write; restore it, or use another --out")
