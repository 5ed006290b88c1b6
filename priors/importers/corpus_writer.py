"""The corpus that an import writes, and what became of each record of the export: used, not needed, or rejected.

Notes are written as they come, patients and diagnoses at the end; the texts of notes are not held. A single record is
refused for what a corpus refuses of it (blank text, an id twice, a visit before birth). No record is missing from the
counts, and a reason is in fixed words: it never holds what a record holds. The corpus grows in a hidden directory
beside its place, closed to others, and is renamed when it is finished: whatever stops the import removes that
directory, but for a kill that cannot be caught.
"""

import csv
import errno
import glob
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import zstandard

from clinaudit.errors import MAX_LISTED_PROBLEMS, IntegrityError, StorageError, UsageError
from clinaudit.priors.corpus import cells
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.schema import NOTES, PATIENTS

Record = TypeVar("Record")
Meaning = TypeVar("Meaning")
REJECTED_NAME = "rejected.csv"


class RecordError(ValueError):
    """One record that cannot be used; the message says why, in fixed words."""


def read_as(what: str, parse: Callable[[str], Meaning], text: str | None) -> Meaning | None:
    """Return what a cell means to a corpus, None for none; raises `RecordError`, which names it, as `parse` does."""
    try:
        return None if text is None else parse(text)
    except cells.CellError as error:
        raise RecordError(f"{what} {error}") from None


class Place(NamedTuple):
    """Where a record stands; `number` counts units of a file: row (from 1, header excluded), line, entry, sheet row."""

    file: str
    unit: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number}"


@dataclass(slots=True)
class TableCount:
    """The records of one table or type of resource."""

    #: Counted by the reader, before anything is decided.
    total: int = 0
    #: They went into the corpus.
    used: int = 0
    #: Read, and nothing in them belongs in a corpus: another type, another code, a patient without notes.
    not_needed: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    @property
    def read(self) -> int:
        """Records that were not rejected."""
        return self.used + self.not_needed


class ImportLedger:
    """Counts the records of an import by table, and lists the rejected in the file `rejected`."""

    def __init__(self, rejected: Path) -> None:
        self.tables: defaultdict[str, TableCount] = defaultdict(TableCount)
        #: Values read as unknown, by what they are: no record is lost by them.
        self.left_blank: Counter[str] = Counter()
        #: What stood in the export and was not read, by what it is: a log, an older version, another form of a text.
        self.left_aside: Counter[str] = Counter()
        #: Values read without the blanks around them, by column and table: `patient_id of person`.
        self.trimmed: Counter[str] = Counter()
        #: Columns of a site's own table that the column map does not name.
        self.columns_not_read: tuple[str, ...] = ()
        #: What the owner should look at, in words.
        self.hints: list[str] = []
        #: By table: whose the rejected records were, None where they do not say it.
        self.rejected_of: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
        #: By table and reason: where it was first met.
        self._first: dict[tuple[str, str], Place] = {}
        self._file = rejected.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(["file", "unit", "number", "table", "reason"])
        self.close = self._file.close

    def as_json(self) -> dict[str, object]:
        """Return what `import.json` holds of the records."""
        tables = {
            name: {
                **{part: getattr(count, part) for part in ("total", "read", "used", "not_needed")},
                "rejected": count.rejected.total(),
                "rejected_by_reason": dict(sorted(count.rejected.items())),
            }
            for name, count in sorted(self.tables.items())
        }
        return {
            "tables": tables,
            "left_blank": dict(sorted(self.left_blank.items())),
            "left_aside": dict(sorted(self.left_aside.items())),
            "taken_off": dict(sorted(self.trimmed.items())),
            "columns_not_read": list(self.columns_not_read),
            "look": self.hints,
        }

    def seen(self, table: str, records: int = 1) -> None:
        """Count what the reader has met, 0 for a table that may be empty; `take` or `reject` must follow for each."""
        self.tables[table].total += records

    def take(
        self,
        table: str,
        places: Sequence[Place],
        record: Record,
        read: Callable[[Record], bool | None],
        whose: Collection[str | None] = (None,),
    ) -> None:
        """Read what one record, or several together, say: what becomes of it becomes of each of them.

        `read` returns False where it was not needed, or raises `RecordError`. `whose`: as `reject` takes it.
        """
        try:
            needed = read(record)
        except RecordError as error:
            for place in places:
                self.reject(table, place, str(error), whose)
        else:
            self.tables[table].used += len(places)
            if needed is False:
                self.not_needed_after_all(table, len(places))

    def reject(self, table: str, place: Place, reason: str, whose: Collection[str | None] = (None,)) -> None:
        """Count a rejected record, and list it; `whose` is its patient, None where nobody knows, or nobody at all."""
        self.rejected_of[table].update(whose)
        self.tables[table].rejected[reason] += 1
        self._rows.writerow([*place, table, reason])
        self._first.setdefault((table, reason), place)

    def not_needed_after_all(self, table: str, number: int) -> None:
        """Count records as not needed that were taken for used: of patients to whom no note belongs."""
        self.tables[table].used -= number
        self.tables[table].not_needed += number

    @property
    def rejected(self) -> int:
        """Rejected records of all tables."""
        return sum(count.rejected.total() for count in self.tables.values())

    def require_balanced(self) -> None:
        """Raise `IntegrityError` where read and rejected records do not make the total: one was dropped in silence."""
        wrong = [name for name, count in self.tables.items() if count.read + count.rejected.total() != count.total]
        if wrong:
            raise IntegrityError(
                f"the import lost count of records of {', '.join(wrong)}; nothing was written: please report this line"
            )

    def listed(self) -> list[str]:
        """Return a line for each table and reason of rejected records: where it was first met, and how often."""
        counts = {key: self.tables[key[0]].rejected[key[1]] for key in islice(self._first, MAX_LISTED_PROBLEMS)}
        return [
            f"{self._first[key]}: {key[1]}{f' ({number - 1:,} more like it)' if number > 1 else ''}"
            for key, number in counts.items()
        ]


_SUFFIX = ".partial"


@contextmanager
def made_whole(destination: Path) -> Iterator[Path]:
    """Yield a private directory that becomes `destination` when the block ends, and is removed when it raises.

    Raises `UsageError` where `destination` is not a new or empty directory, and `StorageError` where the disk does not
    take what is written.
    """
    _require_free(destination)
    # Not as it was given: `.` has no name.
    final = Path(os.path.abspath(destination))  # noqa: PTH100 (`resolve` would follow links)
    final.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{final.name}.", suffix=_SUFFIX, dir=final.parent))
    try:
        yield staging
        for path in staging.iterdir():
            path.chmod(0o600)  # PHI: for the owner alone, as `mkdtemp` makes a directory
            _flush(path)
        _flush(staging)
        _require_free(final)
        try:
            staging.rename(final)
        except OSError:
            _require_free(final)  # something may have come there meanwhile
            raise
        _flush(final.parent)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is None:
            # A write tells no name.
            raise StorageError(
                f"cannot write {printable(str(final))}: {os.strerror(error.errno or errno.EIO)}; nothing was written "
                "there: mend it, or give another DEST"
            ) from None
        raise


def left_behind(destination: Path) -> list[Path]:
    """Return what imports to `destination` have left beside it that were killed, or that still run."""
    final = Path(os.path.abspath(destination))  # noqa: PTH100
    return sorted(final.parent.glob(f".{glob.escape(final.name)}.*{_SUFFIX}"))


def _require_free(destination: Path) -> None:
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        raise UsageError("DEST is not a directory; give the name of a new one")
    if destination.is_dir() and any(destination.iterdir()):
        raise UsageError("DEST holds other things; give a new or an empty directory")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


NOTES_NAME, PATIENTS_NAME, DIAGNOSES_NAME = "notes.csv.zst", "patients.csv", "diagnoses.csv"
_KINDS = {**PATIENTS.columns, **NOTES.columns}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientRecord:
    """One patient; None is unknown."""

    patient_id: str
    #: As the corpus reads it: years, or `22-month`.
    age: str | None = None
    #: Age in years in a calendar year, where the export says no more (MIMIC's `anchor_age`, `anchor_year`).
    age_in_year: tuple[int, int] | None = None
    sex: str | None = None
    name: str | None = None
    #: A day, or the year alone.
    dob: date | int | None = None
    race: str | None = None
    marital_status: str | None = None
    occupation: str | None = None
    children: str | None = None


_AS_THEY_COME: Final = "they come as they are: export them anew, unless the model was trained on them so"
#: What a text may show that the owner should look at.
_LOOK: Final[Mapping[str, Callable[[str], bool]]] = {
    "notes are a word such as N/A, nil or none alone; where it stands for no text, say so with --blank WORD": (
        lambda text: cells.says_nothing(text) and not cells.is_misread(text)
    ),
    "notes hold signs (Ã©, U+FFFD, control and private characters) of a wrong encoding or font in which they were read "
    f"before; {_AS_THEY_COME}": cells.is_misread,
    "notes hold quotes with a backslash before them, as a program writes cells without quotes; "
    f"{_AS_THEY_COME}": lambda text: '\\"' in text,
}
_REPEATED: Final = (
    "notes have the text of the note before them, of the same patient and moment: a join of tables may have given rows "
    "twice"
)
_WITHOUT_DAY: Final = (
    "notes are of a day that programs write for none, such as 1900-01-01 or 9999-12-31: where it is none, leave it "
    "blank in the export, or another note counts as the latest"
)
_NOTE_COLUMNS = ("patient_id", "note_id", "text", "visit_date", "provider", "practice", "note_type")
#: Facts that a patients table has.
PATIENT_COLUMNS = tuple(
    field.name for field in fields(PatientRecord) if field.name not in ("patient_id", "age_in_year")
)


class CorpusWriter:
    """Writes the tables of a corpus into a directory."""

    def __init__(self, directory: Path, ledger: ImportLedger, *, blank: Collection[str] = ()) -> None:
        self.patients: dict[str, PatientRecord] = {}
        #: The day of the latest note of each patient with notes, None where all are undated.
        self.latest_visit: dict[str, date | None] = {}
        self.notes = 0
        #: Notes that may be read otherwise than they were meant, by what they are.
        self.look: Counter[str] = Counter()
        #: Patient, moment and text of the note before.
        self._before: tuple[object, ...] = ()
        #: The most characters that a text has, and digests of the texts that have as many.
        self.longest: tuple[int, set[int]] = (0, set())
        #: Where the tables are written.
        self.directory = directory
        self._ledger = ledger
        #: Texts that are no note.
        self._words = cells.NOTHING_WRITTEN.union(blank)
        self._note_ids: set[str] = set()
        #: Ids of patients by their looks, where these are another text.
        self._looks: dict[str, str] = {}
        self._notes_file = zstandard.open(directory / NOTES_NAME, "wb", cctx=zstandard.ZstdCompressor(level=3))
        self._notes_file.write(_csv_line(_NOTE_COLUMNS))

    def close(self) -> None:
        """Close the notes, finished or not."""
        self._notes_file.close()

    def set_patient(self, patient: PatientRecord) -> None:
        """Put what is known of a patient in place of what was; raises `RecordError` for what a corpus cannot hold."""
        patient_id = patient.patient_id
        if patient_id not in self.patients:
            _require_id(patient_id, "patient_id")
            # An id that a reader may take for another patient's is refused.
            like = cells.look(patient_id)
            if self._looks.get(like, like if like in self.patients else patient_id) != patient_id:
                raise RecordError(f"patient_id {cells.ALIKE}")
            if like != patient_id:
                self._looks[like] = patient_id
        for column in ("patient_id", *PATIENT_COLUMNS):
            value = getattr(patient, column)
            if isinstance(value, str):
                _require_text(value, column)
        self.patients[patient_id] = patient

    def add_note(self, note: Mapping[str, str | None], visit: tuple[date, time] | None) -> None:
        """Write a note, given by columns of the notes table but its date; raises `RecordError` for what cannot be one.

        The time of the visit is midnight where none is known.
        """
        patient_id, note_id, given = (note[name] or "" for name in ("patient_id", "note_id", "text"))
        patient = self.patients.get(patient_id)
        if patient is None:
            raise RecordError("its patient is not in the export")
        _require_id(note_id, "note_id")
        if note_id in self._note_ids:
            raise RecordError(
                "the note id stood in the table already; where a note stands in several rows, they must be joined first"
            )
        text = given.strip()
        if not text or text in self._words:
            raise RecordError("the text is blank" if not text else "the text is a word for nothing")
        stamp = None if visit is None else datetime.combine(*visit).isoformat().removesuffix("T00:00:00")
        row = {**note, "visit_date": stamp}
        for column in _NOTE_COLUMNS:
            _require_text(row.get(column) or "", column)
        birth = patient.dob if patient.age_in_year is None else patient.age_in_year[1] - patient.age_in_year[0]
        if visit is not None and birth is not None:
            try:
                cells.completed_years(birth, visit[0])
            except cells.CellError:
                raise RecordError("the visit is before the patient's birth, or over 130 years after it") from None
        self._note_ids.add(note_id)
        self.notes += 1
        self.look.update(words for words, shows in _LOOK.items() if shows(text))
        now = (patient_id, stamp, text)
        self.look[_REPEATED] += now == self._before
        self._before = now
        self.look[_WITHOUT_DAY] += visit is not None and visit[0].isoformat() in cells.NO_DAYS
        if len(given) > self.longest[0]:
            self.longest = len(given), set()
        if len(given) == self.longest[0]:
            self.longest[1].add(hash(given))
        days = (self.latest_visit.get(patient_id), None if visit is None else visit[0])
        self.latest_visit[patient_id] = max(filter(None, days), default=None)
        self._notes_file.write(_csv_line(map(row.get, _NOTE_COLUMNS)))

    def finish(self, *, train: Collection[str] | None, labels: Iterable[tuple[str, str, bool]] | None) -> None:
        """Write the patients who have notes, with their split where `train` names it, and the labels given."""
        self._notes_file.close()
        rows = (
            (
                patient_id,
                *(() if train is None else ("train" if patient_id in train else "nontrain",)),
                self._age(self.patients[patient_id]),
                *(getattr(self.patients[patient_id], name) for name in PATIENT_COLUMNS[1:]),
            )
            for patient_id in sorted(self.latest_visit)
        )
        self._write_table(PATIENTS_NAME, ("patient_id", *(() if train is None else ("split",)), *PATIENT_COLUMNS), rows)
        if labels is not None:
            flags = ((patient, diagnosis, "true" if present else "false") for patient, diagnosis, present in labels)
            self._write_table(DIAGNOSES_NAME, ("patient_id", "diagnosis", "present"), flags)

    def _write_table(self, name: str, head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
        with (self.directory / name).open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)  # \r\n (RFC 4180): by other line ends a cell with \r alone goes unquoted
            table.writerow(head)
            table.writerows(rows)

    def _age(self, patient: PatientRecord) -> str | None:
        if patient.age is not None or patient.age_in_year is None:
            return patient.age
        latest = self.latest_visit[patient.patient_id]
        if latest is None:
            self._ledger.left_blank["age: the patient has no dated note"] += 1
            return None
        age, year = patient.age_in_year
        return str(age + latest.year - year)


def _csv_line(texts: Iterable[str | None]) -> bytes:
    """Return a row of which each cell is quoted; `csv` looks at every character to find whether it must be."""
    quoted = ("" if text is None else '"' + text.replace('"', '""') + '"' for text in texts)
    return (",".join(quoted) + "\n").encode("utf-8")


def _require_text(text: str, column: str) -> None:
    """Raise `RecordError` where a corpus, which is read with the same check, cannot hold a text."""
    read_as(column, lambda _: cells.as_text(text, _KINDS[column]), text)


def _require_id(text: str, column: str) -> None:
    if not text or text != text.strip():
        raise RecordError(f"{column} is blank" if not text.strip() else f"{column} has blanks around it")
