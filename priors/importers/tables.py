"""Tables of an export, of any format, found by name and read row by row as text.

A fault concerns one row, which is rejected, or the whole file, which is an error. Cells come without the blanks around
them; the text of a note as it stands.
"""

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus import cells
from clinaudit.priors.corpus import files as on_disk
from clinaudit.priors.corpus.files import DataFile, printable
from clinaudit.priors.corpus.header import Fault, Header
from clinaudit.priors.corpus.records import Layout, read_rows
from clinaudit.priors.importers.corpus_writer import ImportLedger, Place, RecordError

#: Folders of an export below the one that is given (physionet.org/files/mimiciv/3.1/hosp).
_MAX_DEPTH = 5
_STEP_BYTES = 1 << 20
#: Quotes of which a CSV knows none, or that it does not see behind a blank.
_QUOTED = re.compile(r"\s*(['\"`´‘“„«]).*(['\"`´’”“»])\s*", re.DOTALL)
#: From here on a number with a fraction (IEEE 754, 53 bits) does not hold every whole number of so many digits, and
#: Excel keeps 15.
_MOST_EXACT = 1e15
_MOST_DIGITS = 15
#: A date as the reader of workbooks writes it.
_A_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T.*)?")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that are read, and how the table is written."""

    required: Collection[str]
    optional: Collection[str] = ()
    #: Columns whose cells keep the blanks around them: the text of a note.
    exact: Collection[str] = ()
    #: Columns of identifiers, by which tables are joined.
    ids: Collection[str] = ()
    layout: Layout = field(default_factory=Layout)
    #: The column that says whose a row is, of a table with codes of diagnoses.
    whose: str = ""
    #: What the column map that names a column calls it: `columns.sex`. Empty: there is no map. Of a column that a map
    #: does not name nothing goes into the corpus, so that no cell of it rejects a row, or is counted.
    keys: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, written: str, layout: Layout | None = None) -> "Columns":
        """Return the columns that are named between blanks: `..._id` is an identifier, `...?` may not be there."""
        required = [name for name in written.split() if not name.endswith("?")]
        optional = [name.rstrip("?") for name in written.split() if name.endswith("?")]
        ids = [name for name in (*required, *optional) if name.endswith("_id")]
        return cls(required, optional, ids=ids, layout=layout or Layout())

    @property
    def wanted(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.required, *self.optional)


Row = Mapping[str, str | None]


class Reader:
    """Reads the files of one import, counts their records and says how far it is."""

    def __init__(self, ledger: ImportLedger, advance: Callable[[int], None], *, blank: Collection[str] = ()) -> None:
        self.ledger = ledger
        #: Words for nothing, of cells and of identifiers.
        self._words, self._id_words = cells.NOTHING_WRITTEN.union(blank), cells.NO_IDENTIFIER.union(blank)
        #: Columns of the table that is read; filled while it is.
        self.found: Set[str] = set()
        #: Rows that could not be read, and those of them with too few cells.
        self.refused = self.short = 0
        self._advance = advance
        #: By table: texts with quotes around them, and others.
        self._texts: Counter[tuple[str, bool]] = Counter()

    def rows(self, table: str, file: DataFile, columns: Columns) -> Iterator[tuple[Place, Row]]:
        """Yield each row with the named columns, None where a cell is blank or an optional column is not there.

        The ledger must be told what becomes of each. Rows that cannot be read are rejected. Raises `BadInputError`,
        with file and row, on what cannot be read on.
        """
        self.ledger.seen(table, 0)
        header = Header(columns.wanted, required=columns.required, keys=columns.keys)
        self.found = header.found
        is_sheet = file.format == "xlsx"
        unit = "sheet row" if is_sheet else "row"
        with located(file, has_map=bool(columns.keys)):
            for number, record in read_rows(file, header, columns.layout, at=self.tracker()):
                place, whose = Place(file.name, unit, number), None
                if isinstance(record, Fault):
                    if record.is_last:
                        raise BadInputError(f"{unit} {number}: {record.what}")
                    self.short += record.is_short
                    reason = f"{record.column} {record.what}".strip()
                elif not record:
                    continue
                else:
                    try:
                        row = self._cells(table, record, columns, is_sheet=is_sheet)
                    except RecordError as error:
                        reason = str(error)
                        with suppress(RecordError, KeyError):
                            own = {columns.whose: record[columns.whose]}
                            whose = self._cells(table, own, columns, is_sheet=is_sheet)[columns.whose]
                    else:
                        self.ledger.seen(table)
                        yield place, row
                        continue
                self.refused += 1
                self.ledger.seen(table)
                self.ledger.reject(table, place, reason, [whose])
            if file.format == "csv" and self._texts[table, True] > 1 and not self._texts[table, False]:
                raise BadInputError(
                    "all texts stand in quotes that are no quotes of CSV: write cells in double quotes, without a "
                    "blank before them"
                )
        if file.format in ("parquet", "xlsx"):  # another process has read them
            self._advance(file.identity[2])
        if columns.keys:
            written = {column: name for name, column in header.read_as.items()}
            others = [written.get(name, name) for name in columns.optional if name in header.found]
            self.ledger.columns_not_read = (*header.unread, *others)

    def tracker(self) -> Callable[[int], None]:
        """Return what is told at which byte of a file its reader stands, and passes on how far it came."""
        last = 0

        def at(byte: int) -> None:
            nonlocal last
            if byte - last >= _STEP_BYTES:
                self._advance(byte - last)
                last = byte

        return at

    def _is_nothing(self, cell: str) -> bool:
        # A word of letters alone may be a name, or say how many: Nil, None.
        return cell in self._words or (cells.says_nothing(cell) and not cell.isalpha())

    def _cells(
        self, table: str, record: Mapping[str, object], columns: Columns, *, is_sheet: bool
    ) -> dict[str, str | None]:
        """Return the cells as text, None where one is blank, without the blanks around them but for `exact`.

        Databases pad texts of a fixed length, also ids, and programs write a word where there is nothing. The ledger
        counts what was taken off, and which words were read as nothing.
        """
        found: dict[str, str | None] = dict.fromkeys(columns.wanted)
        has_map = bool(columns.keys)
        for name, value in record.items():
            if has_map and name not in columns.keys:
                with suppress(RecordError):
                    bare = _as_text(name, value).strip()
                    found[name] = None if not bare or self._is_nothing(bare) else bare
                continue
            text = _as_text(name, value)
            bare = text.strip()
            # Excel writes the error of a formula to a CSV, too.
            if has_map and cells.FORMULA_ERROR.fullmatch(bare) and bare not in self._words:
                raise RecordError(f"{name} holds {bare}, an error of Excel")
            quoted = cells.FORMULA_TEXT.fullmatch(bare)
            if name in columns.exact:
                if quoted and has_map:
                    text = quoted[1].replace('""', '"')
                    self.ledger.trimmed[f"{name} of {table}"] += 1
                found[name] = text or None
                self._texts[table, _QUOTED.fullmatch(text) is not None] += bool(bare)
                continue
            bare = bare if quoted is None else quoted[1].replace('""', '"').strip()
            if not bare:
                continue
            if bare in self._id_words if name in columns.ids else self._is_nothing(bare):
                self.ledger.left_blank[f"{name} of {table}: {bare}"] += 1
                continue
            if name in columns.ids:
                if isinstance(value, float) and value != int(value):
                    raise RecordError(f"{name} is a number with a fraction; keep identifiers as text in the export")
                if is_sheet and _A_DAY.fullmatch(bare):
                    raise RecordError(f"{name} is a date, as Excel makes one of 3-5; keep identifiers as text")
                # Those of a public format are whole numbers, to which data frames add a fraction where some are blank.
                if not has_map and bare.endswith(".0") and bare[:-2].isdigit() and len(bare) < _MOST_DIGITS:
                    bare = bare[:-2]
                elif cells.ABBREVIATED.fullmatch(bare):
                    raise RecordError(f"{name} {cells.SHORTENED}")
                else:
                    bare = cells.without_marks(bare)
            found[name] = bare
            if bare != text:
                self.ledger.trimmed[f"{name} of {table}"] += 1
        return found


def _as_text(name: str, value: object) -> str:
    """Return a value of any format as text; raises `RecordError` where it is none, or has lost digits."""
    match value:
        case None:
            return ""
        case Fault():
            raise RecordError(f"{name} {value.what}")
        case str():
            return value
        case float() if math.isnan(value):
            return ""
        case float() if abs(value) >= _MOST_EXACT:
            raise RecordError(
                f"{name} is a number of more digits than its type holds, of which the last are lost; keep it as text "
                "in the export"
            )
        case int() | float() if not isinstance(value, bool):
            # A column of whole numbers with gaps, as data frames write it, has 7.0.
            return str(int(value)) if value == int(value) else str(value)
    raise RecordError(f"{name} is neither text nor a number")


@contextmanager
def located(file: DataFile, *, has_map: bool = False) -> Iterator[None]:
    """Put the name of the file before the message of a `BadInputError`, and say that nothing was written."""
    try:
        yield
    except BadInputError as error:
        has_place = error.message.startswith(("row ", "sheet row ", "line ", "entry ", "column "))
        place = f"{file.name}{', ' if has_place else ': '}"
        faulty = "the export or the column map" if has_map else "the export"
        raise BadInputError(f"{place}{error.message}; nothing was written: correct {faulty} and try again") from None


def required(row: Row, column: str) -> str:
    """Return a cell; raises `RecordError` where it is blank."""
    cell = row[column]
    if cell is None:
        raise RecordError(f"{column} is blank")
    return cell


def find_tables(source: Path, names: Collection[str]) -> dict[str, DataFile]:
    """Return the files under a directory that hold the named tables, whatever the case of their names.

    Raises `BadInputError` for a source that is no directory, and where two files hold one table, or a file that is not
    read seems to hold one, or more of it: by its name, or in a folder of the table's name.
    """
    shown = printable(str(source))
    try:
        on_disk.stat_input(source, shown)
    except BadInputError as error:
        raise BadInputError(f"{shown} {error.message}; give the folder of the export") from None
    if not source.is_dir():
        raise BadInputError(f"{shown} is not a folder; give the folder of the export")
    found: defaultdict[str, list[Path]] = defaultdict(list)
    #: Names for messages of what is not read; of files in a folder that of the folder, since theirs may be patients'.
    others: defaultdict[str, set[str]] = defaultdict(set)
    for path in files_below(source, shown, most_depth=_MAX_DEPTH):
        place, file_name = path.relative_to(source), path.name.lower()
        table = next((name for name in names if file_name in {name + ending for ending in on_disk.FILE_ENDINGS}), None)
        if table is not None:
            found[table].append(path)
            continue
        for name in names:
            if on_disk.is_named_for(path.name, name):
                others[name].add(printable(str(place)))
            elif file_name.endswith(tuple(on_disk.FILE_ENDINGS)):
                above = [one for one in place.parents if one.name.lower().partition(".")[0] == name]
                if above:
                    others[name].add(f"files in {printable(str(above[0]))}")
    files = {}
    for name in sorted(found.keys() | others.keys()):
        paths, unread = found[name], sorted(others[name])
        if len(paths) > 1 or unread:
            listed = ", ".join([*sorted(printable(str(path.relative_to(source))) for path in paths), *unread])
            more = "more than one file" if paths or len(unread) > 1 else "a file that is not read"
            raise BadInputError(
                f"the table {name} is given by {more}: {listed}; leave one under SOURCE that holds all its rows, named "
                f"{name}.csv (.csv.gz, .csv.zst, .jsonl, .parquet)"
            )
        files[name] = on_disk.find_given_file(paths[0], "the table", name=printable(str(paths[0].relative_to(source))))
    return files


def files_below(source: Path, shown: str, *, most_depth: int | None = None) -> Iterator[Path]:
    """Yield the files of a folder and of those below it; messages call the folder `shown`.

    Links to folders are followed down to a depth; without one they are yielded, and not followed.
    """

    def stop(error: OSError) -> None:
        raise on_disk.unreadable(shown, error)

    follows = most_depth is not None
    for folder, folders, names in os.walk(source, followlinks=follows, onerror=stop):
        here = Path(folder)
        links = [] if follows else [name for name in folders if (here / name).is_symlink()]
        if most_depth is not None and len(here.relative_to(source).parts) >= most_depth:
            folders.clear()
        folders.sort()
        yield from (here / name for name in sorted([*names, *links]))
