"""The map of a masked file: what each tag of each record stands for, and how far the masking has come. PHI.

Owns the map's file (SQLite, mode 0600): the records done, with the reason where one is withheld, the settings, and
length and digest of the output so far. It is written in step with the output, so that a killed run goes on where both
agree.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clinaudit.audit.pii.masking.written_tags import Forms
from clinaudit.audit.runtime.run.durable_files import is_damage, open_sqlite
from clinaudit.errors import BadInputError, StorageError, UsageError

_SQLITE: Final = b"SQLite format 3\0"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tags INTEGER NOT NULL, withheld TEXT,
    clinical_terms INTEGER NOT NULL, forms TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class MappedRecord:
    """What a map holds of one record."""

    id: str
    tags: int
    #: Why it is withheld, in fixed words; None where it was given out.
    withheld: str | None
    #: Clinical terms that stood in something masked.
    clinical_terms: int
    forms: Forms


@dataclass(frozen=True, slots=True)
class MaskedCounts:
    """How many records a map holds, and what became of them."""

    records: int
    tags: int
    clinical_terms: int
    #: By reason.
    withheld: Mapping[str, int]


class TagMap:
    """The map of a file that is being masked; one process at a time holds it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def settings(self) -> Mapping[str, str] | None:
        """Return the settings that the run was begun with; None of a new one."""
        found = self._value("settings")
        return None if found is None else {str(key): str(value) for key, value in json.loads(found).items()}

    def begin(self, settings: Mapping[str, str]) -> None:
        """Record the settings of a new run."""
        with self._connection:
            self._put("settings", json.dumps(dict(settings), sort_keys=True))

    def forget(self) -> None:
        """Be the map of no run again."""
        self._connection.executescript("BEGIN; DELETE FROM run; DELETE FROM records; COMMIT")

    @property
    def output_bytes(self) -> int:
        """How long the output is, as far as its records are in the map."""
        return int(self._value("output_bytes") or 0)

    @property
    def output_digest(self) -> str | None:
        """The hexadecimal SHA-256 of the output, as far as its records are in the map; None before the first."""
        return self._value("output_sha256")

    @property
    def is_finished(self) -> bool:
        """Whether all records are done, and the output is in its place."""
        return self._value("finished") is not None

    def count(self) -> MaskedCounts:
        """Return what became of the records so far."""
        records, tags, terms = self._connection.execute(
            "SELECT COUNT(*), TOTAL(tags), TOTAL(clinical_terms) FROM records"
        ).fetchone()
        withheld = self._connection.execute(
            "SELECT withheld, COUNT(*) FROM records WHERE withheld IS NOT NULL GROUP BY withheld ORDER BY withheld"
        ).fetchall()
        return MaskedCounts(int(records), int(tags), int(terms), dict(withheld))

    def add(self, first: int, records: Iterable[MappedRecord], *, output_bytes: int, output_digest: str) -> None:
        """Add records, the first of which is number `first`; they are in the output, which is on the disk by now."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (number, one.id, one.tags, one.withheld, one.clinical_terms, json.dumps(dict(one.forms)))
                    for number, one in enumerate(records, start=first)
                ),
            )
            self._put("output_bytes", str(output_bytes))
            self._put("output_sha256", output_digest)

    def finish(self) -> None:
        """Record that the output is in its place."""
        with self._connection:
            self._put("finished", "yes")

    def close_up(self) -> None:
        """Make one file of a finished map, which can be moved and read alone, from a disk without write access too."""
        if self.is_finished:
            self._connection.execute("PRAGMA journal_mode = DELETE")

    def forms_of(self, record: str) -> Forms | None:
        """Return what the tags of a record stand for; None where the map does not know it."""
        row = self._connection.execute("SELECT forms FROM records WHERE id = ?", (record,)).fetchone()
        return None if row is None else {name: tuple(forms) for name, forms in json.loads(row[0]).items()}

    def _value(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (key, value))


@contextmanager
def open_map(path: Path) -> Iterator[TagMap]:
    """Open a map to write, and make it where there is none; raises `StorageError` where another process holds it."""
    _require_map_or_none(path)
    with _told(path), closing(open_sqlite(path, "")) as connection:
        # Held until it is closed: a second run of the command would write between the lines of this one.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and tables != {"run", "records"}:
            raise BadInputError(f"{path.name} is a database of something else; name a new file with --map")
        connection.executescript(_SCHEMA)
        tag_map = TagMap(connection)
        try:
            yield tag_map
        finally:
            # Also where nothing was done: opening it to write parts it in two.
            tag_map.close_up()


@contextmanager
def read_map(path: Path) -> Iterator[TagMap]:
    """Open a finished map to read; raises `BadInputError` for anything else."""
    if not path.is_file():
        raise BadInputError(f"there is no map {path.name}; give the one that clinaudit mask wrote")
    with _told(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        tag_map = TagMap(connection)
        try:
            is_finished = tag_map.is_finished
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            raise BadInputError(f"{path.name} is no map; give the one that clinaudit mask wrote") from None
        if not is_finished:
            raise BadInputError(f"the masking of {path.name} is not finished; run the same clinaudit mask again first")
        yield tag_map


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours; its own words may hold what stands in the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StorageError(f"another command is writing to the map {path.name}; wait for it") from None
        if is_damage(error):
            raise BadInputError(f"{path.name} is no map, or damaged; give another one with --map") from None
        raise StorageError(f"the map {path.name} cannot be read or written; mend its disk, then run again") from None


def _require_map_or_none(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"the map {path.name} is a link or no regular file; name another place with --map")
    if path.exists():
        # Before anything is done to it: opening it would close it to others.
        with path.open("rb") as file:
            begin = file.read(len(_SQLITE))
        # Empty: a run that was killed as it began.
        if begin and begin != _SQLITE:
            raise BadInputError(f"{path.name} is no map; name a new file with --map")
