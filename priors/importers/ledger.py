"""What became of each record of an export: used, not needed, or rejected; and that none is missing.

A reason is in fixed words: it never holds what a record holds.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TextIO, TypeVar

from clinaudit.errors import MAX_LISTED_PROBLEMS, BadInputError, IntegrityError
from clinaudit.priors.corpus.cells import CellError

Record = TypeVar("Record")
Meaning = TypeVar("Meaning")
REJECTED_NAME = "rejected.csv"


class RecordError(ValueError):
    """One record that cannot be used; the message says why, in fixed words."""


def read_as(what: str, parse: Callable[[str], Meaning], text: str | None) -> Meaning | None:
    """Return what a cell means to a corpus, None for none; raises `RecordError`, which names it, as `parse` does."""
    try:
        return None if text is None else parse(text)
    except CellError as error:
        raise RecordError(f"{what} {error}") from None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands."""

    file: str
    #: What `number` counts: row (from 1, header excluded), line, entry, sheet row.
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
        self.tables: dict[str, TableCount] = {}
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
        #: By table and reason: where it was first met, and how often.
        self._faults: dict[tuple[str, str], tuple[Place, int]] = {}
        self._file: TextIO = rejected.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(["file", "unit", "number", "table", "reason"])

    def as_json(self) -> dict[str, object]:
        """Return what `import.json` holds of the records."""
        tables = {
            name: {
                "total": count.total,
                "read": count.read,
                "used": count.used,
                "not_needed": count.not_needed,
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

    def close(self) -> None:
        """Close the list of rejected records."""
        self._file.close()

    def expect(self, table: str) -> None:
        """Name a table that is read, so that it is counted when it is empty too."""
        self.tables.setdefault(table, TableCount())

    def seen(self, table: str) -> None:
        """Count a record that the reader has met; `take` or `reject` must follow."""
        self.tables.setdefault(table, TableCount()).total += 1

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
            return
        if needed is False:
            self.tables[table].not_needed += len(places)
        else:
            self.tables[table].used += len(places)

    def reject(self, table: str, place: Place, reason: str, whose: Collection[str | None] = (None,)) -> None:
        """Count a rejected record, and list it; `whose` is its patient, None where nobody knows, or nobody at all."""
        self.rejected_of[table].update(whose)
        self.tables[table].rejected[reason] += 1
        self._rows.writerow([place.file, place.unit, place.number, table, reason])
        first, number = self._faults.get((table, reason), (place, 0))
        self._faults[table, reason] = first, number + 1

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

    def require_nothing_rejected(self) -> None:
        """Raise `BadInputError` with a line for each table and reason, if any record was rejected."""
        if self.rejected:
            noun = "record" if self.rejected == 1 else "records"
            raise BadInputError(
                f"{self.rejected} {noun} cannot be used; nothing was written: correct the export, or leave "
                "them out with --allow-rejected",
                self.listed(),
            )

    def listed(self) -> list[str]:
        """Return a line for each table and reason of rejected records: where it was first met, and how often."""
        return [
            f"{place}: {reason}{f' ({number - 1:,} more like it)' if number > 1 else ''}"
            for (_, reason), (place, number) in islice(self._faults.items(), MAX_LISTED_PROBLEMS)
        ]
