"""The run store: finished generations and judgements, kept durably in `work/`, so that a killed audit can resume.

Owns the settings that a run was begun with, and one row for each finished unit of work: a generation,
the scores of a text or a judgement (SQLite). Knows nothing of how a unit came about. Each unit is committed, durably,
before the next one is reported done.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from pydantic import TypeAdapter, ValidationError

from clinaudit.audit.runtime.run.directory import RunDirectory, hold_lock, require_regular
from clinaudit.audit.runtime.run.durable_files import open_sqlite
from clinaudit.errors import BadInputError, StorageError, UsageError

#: Token ids are kept as 32-bit integers in the evidence.
_MAX_ID = 2**31 - 1
#: Of what a run keeps to go on with: another number where the same settings or tables come to mean something else.
STATE_VERSION: Final = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS generations (key TEXT PRIMARY KEY, made TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, of_each INTEGER, numbers BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS judgements (
    generation_id TEXT, diagnosis TEXT, judgement TEXT NOT NULL, PRIMARY KEY (generation_id, diagnosis)
) WITHOUT ROWID;
"""


#: `stop`: end of sequence; `length`: the budget was used up; `repetition`: cut by the repetition guard.
FinishReason = Literal["stop", "length", "repetition"]


@dataclass(frozen=True, slots=True)
class GenerationOutput:
    """One finished generation."""

    key: str
    #: After the guard, where the request is guarded; end-of-sequence removed; empty where `text` is given.
    token_ids: tuple[Annotated[int, Ge(0), Le(_MAX_ID)], ...]
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
        """Record the settings that the run depends on; raises `UsageError` that names those changed since it began.

        A run that another version began is refused, too: its work may mean something else.
        """
        known = self.settings()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if known and version != STATE_VERSION:
            raise UsageError("this run was begun by another version of clinaudit; give another --out")
        changed = sorted(field for field, value in settings.items() if field in known and known[field] != value)
        if changed:
            raise UsageError(
                f"this run was begun with other settings: {', '.join(changed)}; "
                "use the same ones to resume it, or another --out"
            )
        rows = [(field, json.dumps(value, sort_keys=True)) for field, value in settings.items() if field not in known]
        with self._connection:
            self._connection.execute(f"PRAGMA user_version = {STATE_VERSION}")
            self._connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)

    def settings(self) -> dict[str, Any]:
        """Return all settings that `bind_settings` recorded."""
        rows = self._connection.execute("SELECT field, value FROM settings")
        try:
            return {field: json.loads(value) for field, value in rows}
        except (ValueError, TypeError, RecursionError):
            raise damaged_state() from None

    def add_generation(self, made: GenerationOutput) -> None:
        """Commit one finished generation."""
        with self._connection:
            self._connection.execute("INSERT INTO generations VALUES (?, ?)", (made.key, _GENERATION.dump_json(made)))

    def generations(self) -> dict[str, GenerationOutput]:
        """Return all finished generations by key."""
        rows = self._connection.execute("SELECT key, made FROM generations")
        try:
            return {key: _GENERATION.validate_json(made, strict=True) for key, made in rows}
        except ValidationError:
            raise damaged_state() from None

    def add_scores(self, scores: TokenScores) -> None:
        """Commit the scores of one text."""
        numbers = [of for of in (scores.log_probs, scores.means, scores.deviations) if of is not None]
        packed = np.concatenate(numbers).astype("<f4").tobytes()
        with self._connection:
            self._connection.execute("INSERT INTO scores VALUES (?, ?, ?)", (scores.key, len(numbers), packed))

    def scores(self) -> dict[str, TokenScores]:
        """Return all scores that `add_scores` committed, by key."""
        rows = self._connection.execute("SELECT key, of_each, numbers FROM scores")
        try:
            return {
                key: TokenScores(key, *np.frombuffer(packed, dtype="<f4").astype(np.float32).reshape(of_each, -1))
                for key, of_each, packed in rows
            }
        except (ValueError, TypeError):
            raise damaged_state() from None

    def add_judgement(self, generation_id: str, diagnosis: str, row: Mapping[str, object]) -> None:
        """Commit the judgement of one generation and diagnosis, as its row."""
        with self._connection:
            self._connection.execute(
                "INSERT INTO judgements VALUES (?, ?, ?)", (generation_id, diagnosis, json.dumps(row))
            )

    def judgements(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return all rows that `add_judgement` committed, by generation and diagnosis."""
        rows = self._connection.execute("SELECT generation_id, diagnosis, judgement FROM judgements")
        try:
            return {(generation_id, diagnosis): json.loads(text) for generation_id, diagnosis, text in rows}
        except (ValueError, TypeError, RecursionError):
            raise damaged_state() from None


@contextmanager
def open_store(run: RunDirectory) -> Iterator[RunStore]:
    """Open a run's store under the run's lock, and make it where there is none.

    Raises `StorageError` where another process holds the lock, or the file cannot be read or written.
    """
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
