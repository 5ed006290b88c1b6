"""The header of a file: which column each name stands for, and what separates the cells of a CSV file.

A name is read without regard to case, blanks and punctuation, so that `Patient_ID` and `patient id` are `patient_id`;
no synonym is guessed.
"""

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from unicodedata import normalize

from clinaudit.errors import BadInputError

#: What may separate cells, and its name in messages.
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DOUBLED = "is given more than once (case, blanks and underscores in a name do not count)"
#: The first line by which spreadsheets declare a delimiter; the header follows it.
_DECLARED = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
#: Most names kept of columns that are not read, since records of JSONL may have any number of keys; and shown.
_MOST_UNREAD, _MOST_SHOWN = 1000, 20


@dataclass(frozen=True, slots=True)
class Fault:
    """What a row holds that cannot be read, or, in the place of its value, a cell."""

    what: str
    #: The column at fault of a row; empty: the row as a whole.
    column: str = ""
    #: Nothing after the row can be read.
    is_last: bool = False
    #: The row has too few cells: it may be the rest of the one before it, cut at a line break without quotes.
    is_short: bool = False


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Return the letters and digits of a name in lower case and one spelling; of one without any the name itself."""
    return "".join(filter(str.isalnum, normalize("NFKC", name).casefold())) or name.strip()


class Header:
    """What the header of one file was read as; filled while the file is read."""

    def __init__(
        self, columns: Collection[str], *, required: Collection[str] = (), keys: Mapping[str, str] | None = None
    ) -> None:
        """`keys` are the names of columns in a site's column map: `columns.sex`."""
        self.columns = tuple(columns)
        self._required, self._keys = required, keys or {}
        self.delimiter = ","
        #: Names in the CSV header; 0 before it is read, and for other formats.
        self.width = 0
        #: The columns that the file has; in JSONL those that at least one record gives.
        self.found: set[str] = set()
        #: Columns by the name that stands for them, where that is not the column's own.
        self.read_as: dict[str, str] = {}
        #: Other names, in the order they came; a mapping for its order.
        self.unread: dict[str, None] = {}
        self._by_fold = {fold(name): name for name in columns}

    def match(self, names: Iterable[str]) -> list[str | None]:
        """Return the column that each name stands for, None for a name of no column."""
        found = []
        for name in names:
            column = name if name in self.columns else self._by_fold.get(fold(name))
            found.append(column)
            if column is not None:
                self.found.add(column)
                if column != name:
                    self.read_as[name] = column
            elif name.strip() and len(self.unread) < _MOST_UNREAD:
                self.unread[name] = None
        return found

    def take(self, names: Iterable[str], where: str = "") -> list[str | None]:
        """Return what `match` does of the header of a whole file, which must name each required column, and none twice.

        `where` says in a message what was read as the header.
        """
        found = self.match(names)
        if twice := sorted({name for name in found if name is not None and found.count(name) > 1}):
            raise BadInputError(f"column {', '.join(map(self._named, twice))} {DOUBLED}")
        if missing := [self._named(name) for name in self._required if name not in found]:
            raise BadInputError(f"column {', '.join(missing)}: is missing{where}")
        return found

    def _named(self, column: str) -> str:
        return f"{column} ({self._keys[column]} of the column map)" if column in self._keys else column

    def declare(self, line: str, given: str | None) -> bool:
        """Return whether the first line of a CSV file only declares the delimiter (`sep=;`); takes it then.

        Raises `BadInputError` where it is none that is read, or another than the one that is `given`.
        """
        declared = _DECLARED.fullmatch(line)
        if declared is None:
            return False
        if given is not None and declared[1] != given:
            raise BadInputError("its first line declares another delimiter (sep=) than the column map; correct one")
        if given is None and declared[1] not in _DELIMITERS:
            *names, last = _DELIMITERS.values()
            raise BadInputError(f"declares a delimiter that is not read; use {', '.join(names)} or {last}")
        self.delimiter = declared[1]
        return True

    def find_delimiter(self, line: str) -> None:
        """Take the delimiter under which the header, given as its first line, names the most columns.

        Raises `BadInputError` where two delimiters name equally many: nothing decides between them.
        """
        scores: dict[str, int] = {}
        for mark in filter(line.__contains__, _DELIMITERS):
            with suppress(csv.Error):  # a line that is no header: a field as long as a note
                cells = next(csv.reader([line], delimiter=mark), [])
                scores[mark] = len(self._by_fold.keys() & set(map(fold, cells)))
        most = max(scores.values(), default=0)
        best = [mark for mark, score in scores.items() if score == most]
        if not most:
            return  # no column is named under any: they will be missing
        if len(best) > 1:
            names = " or ".join(_DELIMITERS[mark] for mark in best)
            raise BadInputError(f"its header can be read as separated by {names}; separate all names by one of them")
        self.delimiter = best[0]

    def require_a_column(self, names: Iterable[str]) -> None:
        """Raise `BadInputError` where the first line of a CSV file names no column, and none is required by itself."""
        if not self._required and not any(self.match(names)):
            expected = ", ".join(self.columns[:3])
            raise BadInputError(f"its first line must name the columns ({expected}, ...), and names none of them")

    @property
    def described(self) -> str:
        """What the first line of a CSV file was read as, without content."""
        return "one name" if self.width == 1 else f"{self.width} names separated by {self.separated_by}"

    @property
    def separated_by(self) -> str:
        """The name of the delimiter, in the plural."""
        return _DELIMITERS.get(self.delimiter, self.delimiter)

    def readings(self, *, is_csv: bool) -> list[str]:
        """Return what was read otherwise than the format's own way, in words, for the corpus's owner alone."""
        found = []
        if is_csv and self.delimiter != ",":
            found.append(f"its cells are separated by {self.separated_by}")
        if self.read_as:
            pairs = [f"{name.strip()} as {column}" for name, column in self.read_as.items()]
            found.append(f"columns were read by other names: {', '.join(pairs)}")
        if self.unread:
            more = " and others" if len(self.unread) > _MOST_SHOWN else ""
            shown = ", ".join(name.strip() for name in islice(self.unread, _MOST_SHOWN))
            found.append(f"columns that are not read: {shown}{more}")
        return found
