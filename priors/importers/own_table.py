"""A site's own table, one row a note with the patient's facts beside it: a CSV or an Excel sheet with a column map.

The column map says which columns hold what (docs/importing.md, "A CSV of your own").
"""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.cells import FORMULA_ERROR, CellError, parse_split
from clinaudit.priors.corpus.excel import MAX_CELL_CHARS
from clinaudit.priors.corpus.files import FILE_ENDINGS, Compression, DataFile, Format, printable
from clinaudit.priors.corpus.header import Fault, Header, fold
from clinaudit.priors.corpus.records import Layout, read_rows
from clinaudit.priors.importers import System
from clinaudit.priors.importers.attachments import plain_text_of
from clinaudit.priors.importers.corpus_writer import PATIENT_COLUMNS, NotesRow, PatientRecord
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.ledger import Place, RecordError
from clinaudit.priors.importers.tables import Columns, Row, data_file
from clinaudit.priors.importers.values import is_day_or_year, iso_day, require_age, require_birth, require_sex
from clinaudit.templates.text_file import SAID, Listed, TomlTable, read_table, read_toml_file

_DATES = ("visit_date", "dob")
_DIRECTIVES = ("%Y", "%y", "%m", "%d", "%b", "%B", "%j")


def _date_format(form: str) -> str:
    problem = None
    if not any(directive in form for directive in _DIRECTIVES):
        problem = "holds no directive; write it as %d/%m/%Y"
    elif "%Y" not in form and "%y" not in form:
        problem = "has no year (%Y)"
    elif "%d" not in form and "%j" not in form:
        problem = "has no day (%d)"
    return _said(form, problem)


def _birth_format(form: str) -> str:
    return _said(form, "%y cannot tell 1925 from 2025; export years of four digits" if "%y" in form else None)


def _said(value: str, problem: str | None) -> str:
    if problem is not None:
        raise PydanticCustomError(SAID, "{problem}", {"problem": problem})
    return value


def _delimiter(mark: str) -> str:
    is_one = len(mark) == 1 and mark not in '"\r\n'
    return _said(mark, None if is_one else 'must be one character, such as ";" or "\\t"')


def _encoding(name: str) -> str:
    known = 'is none that is known (such as "utf-8", "cp1252", "latin-1"), or UTF-16'
    return _said(name, None if _is_line_encoding(name) else known)


def _one_column(name: object) -> object:
    joined = "a text is needed; join several into one in the export, as the training texts had them"
    return _said("", joined) if isinstance(name, list) else name


_Text = Annotated[str, Field(min_length=1)]


class _Columns(TomlTable):
    """Column of the table by column of the corpus."""

    patient_id: _Text
    text: Annotated[_Text, BeforeValidator(_one_column)]
    note_id: _Text | None = None
    visit_date: _Text | None = None
    provider: _Text | None = None
    practice: _Text | None = None
    note_type: _Text | None = None
    split: _Text | None = None
    age: _Text | None = None
    sex: _Text | None = None
    name: _Text | None = None
    dob: _Text | None = None
    race: _Text | None = None
    marital_status: _Text | None = None
    occupation: _Text | None = None
    children: _Text | None = None
    #: The number of a row among those of its note.
    line: _Text | None = None


class _Formats(TomlTable):
    """Format of a date by column of the corpus; without one a date is ISO 8601."""

    visit_date: Annotated[_Text, AfterValidator(_date_format)] | None = None
    dob: Annotated[_Text, AfterValidator(_date_format), AfterValidator(_birth_format)] | None = None


class _Codes(TomlTable):
    """The column that holds diagnosis codes, what stands between two codes, and their system."""

    codes: _Text
    system: System = Field(description=f"must be {' or '.join(get_args(System))}")
    separator: _Text = ";"


class _ColumnMap(TomlTable):
    """Which columns of a table hold what, and how they are written."""

    columns: _Columns = Field(description="must be a table, [columns]")
    formats: _Formats = _Formats()
    diagnoses: _Codes | None = None
    #: Texts that mean that a cell is blank.
    blank: Listed[str] = Field((), description='must be a list of texts, such as ["NULL", "n/a"]')
    #: None: the header decides.
    delimiter: Annotated[str, AfterValidator(_delimiter)] | None = None
    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"
    #: Whether a text that is RTF or HTML is read as what it shows.
    plain_text: bool = False
    #: Excel alone.
    sheet: str | None = None
    #: What stands between two rows of one note.
    between_lines: str | None = None

    @model_validator(mode="after")
    def _lines_can_be_joined(self) -> "_ColumnMap":
        if self.columns.line is not None and (self.columns.note_id is None or self.between_lines is None):
            problem = (
                'needs columns.note_id, by which rows are one note, and between_lines: "" where the system cuts notes '
                'anywhere (Epic), "\\n" where each row is a line'
            )
            raise PydanticCustomError(SAID, "{problem}", {"problem": f"columns.line: {problem}"})
        return self


def read_column_map(path: Path) -> _ColumnMap:
    """Read a column map; raises `BadInputError` that lists everything wrong with it."""
    table = read_table(_ColumnMap, read_toml_file(path, role="the column map"))
    if isinstance(table, list):
        noun = "problem" if len(table) == 1 else "problems"
        said = f"the column map {printable(path.name)} has {len(table)} {noun}; correct it"
        raise BadInputError(said, [str(problem) for problem in table])
    return table


def _is_line_encoding(name: str) -> bool:
    """Whether text in this encoding can be split into lines at its bytes: ASCII means itself."""
    try:
        plain = 'a,"\n'
        return (
            codecs.lookup(name)._is_text_encoding
            and plain.encode(name) == plain.encode("ascii")
            # Not every codec can tell a byte that it does not know.
            and plain.encode("ascii").decode(name, errors="surrogateescape") == plain
        )
    except (LookupError, ValueError):
        return False


_TABLE = "rows"
_EXCEL_ENDINGS: dict[str, tuple[Format, Compression | None]] = {".xlsx": ("xlsx", None), ".xlsm": ("xlsx", None)}
#: Facts that do not change from visit to visit: two values mean two patients under one id.
_FIXED = ("sex", "dob")
#: Names of a column that numbers the rows of a note (Epic's NOTE_ID and LINE), and of one that may: a patient's notes
#: are numbered so too.
_OF_NOTE, _NUMBERED = ("", "note", "text", "txt"), ("", "no", "nr", "num", "nbr", "number", "seq", "id")
_LINES: Final = tuple(f"{of}line{number}" for of in _OF_NOTE for number in _NUMBERED)
_PERHAPS_LINES: Final = tuple(
    f"{of}{word}{number}"
    for of in _OF_NOTE
    for word in ("seq", "sequence", "part", "segment", "chunk", "piece", "page")
    for number in _NUMBERED
)
#: Names of a column by which rows are one note.
_NOTE_IDS: Final = tuple(
    f"{of}{word}"
    for of in ("note", "text", "document", "report")
    for word in ("id", "key", "no", "nr", "num", "number")
)
_NUMBER = re.compile(r"([0-9]{1,9})(?:\.0*)?")


@dataclass(slots=True)
class _Note:
    """The rows of one note."""

    #: That of the first row.
    number: int
    rows: list[Row] = field(default_factory=list)
    #: A row before, between or after them could not be read.
    is_torn: bool = False
    #: A row after them has too few cells.
    is_cut: bool = False


class OwnTable(Export):
    """One table, by its column map."""

    code_table = _TABLE

    def __init__(self, request: ImportRequest) -> None:
        if request.columns is None:
            raise ValueError("a site's own table needs a column map")
        self._map = read_column_map(request.columns)
        #: Names of columns by column of the corpus.
        self._columns = {name: column for name, column in self._map.columns if column is not None}
        self._formats = {name: form for name, form in self._map.formats if form is not None}
        super().__init__(request)
        #: By patient: the split its rows give.
        self._splits: dict[str, str] = {}
        #: Day of the row that a patient's changing facts come from.
        self._as_of: dict[str, date] = {}

    @property
    def has_codes(self) -> bool:
        """Whether the column map names a column of codes."""
        return self._map.diagnoses is not None

    def _find(self) -> dict[str, DataFile]:
        if self.train is not None and "split" in self._columns:
            raise UsageError("the column map names a column for split: leave out --train-patients, or that column")
        source = self.request.source
        endings = _EXCEL_ENDINGS if self.request.kind == "excel" else FILE_ENDINGS
        self._file = data_file(source, printable(source.name) or printable(str(source)), endings)
        return {self._file.name: self._file}

    def _read(self) -> None:
        keys = self._keys()
        named = {fold(name) for name in keys}
        layout = Layout(delimiter=self._map.delimiter, encoding=self._map.encoding, sheet=self._map.sheet, has_map=True)
        known = [name for name in (*_LINES, *_PERHAPS_LINES, *_NOTE_IDS) if fold(name) not in named]
        others = self._perhaps_counters({*keys, *known}, layout)
        columns = Columns(
            keys,
            (*known, *others),
            exact=(self._columns["text"],),
            ids=[self._columns[name] for name in ("patient_id", "note_id") if name in self._columns],
            layout=layout,
            whose=self._columns["patient_id"],
            keys=keys,
        )
        rows = self._watch(self.reader.rows(_TABLE, self._file, columns), known, others)
        for places, note in self._notes(rows):
            self.reader.ledger.take_all(_TABLE, places, note, self._add_note)
        self.reader.refused_of = [cell for cell in self.reader.refused_of if self._owner(cell) is not None]
        if "split" in self._columns:
            self.train = frozenset(patient for patient, split in self._splits.items() if split == "train")

    def _perhaps_counters(self, known: Collection[str], layout: Layout) -> list[str]:
        """Return the other columns of the table that may number rows: the first cell is 0 or 1."""
        first: list[tuple[int, Mapping[str, object] | Fault]] = []
        with suppress(BadInputError):  # the table is refused when it is read
            names = Header(known)
            next(read_rows(self._file, names, layout), None)
            folds = Counter(map(fold, names.unread))  # of two names read alike neither is asked for
            header = Header([name for name in names.unread if folds[fold(name)] == 1])
            first.extend(islice(read_rows(self._file, header, layout), 1))
        if not first or isinstance(first[0][1], Fault):
            return []
        numbers = {name: _NUMBER.fullmatch(str(value)) for name, value in first[0][1].items()}
        return [name for name, number in numbers.items() if number and int(number[1]) < 2]

    def _notes(self, rows: Iterable[tuple[Place, Row]]) -> Iterator[tuple[list[Place], "_Note"]]:
        """Yield the rows of each note: one, or where the map names their numbers, those that follow each other."""
        ids = [self._columns[name] for name in ("patient_id", "note_id") if "line" in self._columns]
        places: list[Place] = []
        note = _Note(0)
        refused, short = self.reader.refused, self.reader.short
        for place, row in rows:
            is_torn, refused = self.reader.refused > refused, self.reader.refused
            note.is_torn |= is_torn
            note.is_cut, short = self.reader.short > short, self.reader.short
            if places and not (ids and all(row[name] == note.rows[0][name] for name in ids)):
                yield places, note
                places, note = [], _Note(0, is_torn=is_torn)
            note.number = note.number or place.number
            note.rows.append(row)
            places.append(place)
        note.is_torn |= self.reader.refused > refused
        note.is_cut = self.reader.short > short
        if places:
            yield places, note

    def _joined(self, note: "_Note") -> Row:
        """Return the rows of a note as one; raises `RecordError` where they are not its lines, each once."""
        rows = note.rows
        if "line" not in self._columns:
            if note.is_cut:
                raise RecordError(
                    "the row after it has too few cells: a line break without quotes may have cut the text"
                )
            return rows[0]
        if note.is_torn:
            raise RecordError("a row beside it, which may be of the same note, cannot be read")
        line, text = self._columns["line"], self._columns["text"]
        numbers = [_NUMBER.fullmatch(row[line] or "") for row in rows]
        by_number = {int(number[1]): row for number, row in zip(numbers, rows, strict=True) if number}
        order = sorted(by_number)
        if len(order) < len(rows) or order[0] not in (0, 1) or order[-1] != order[0] + len(rows) - 1:
            raise RecordError("the lines of its note are not 1, 2, 3, ..., each once and together in the table")
        if differing := sorted(
            name for name in self._keys() if name not in (line, text) and len({row[name] for row in rows}) > 1
        ):
            raise RecordError(f"the rows of one note differ in {printable(', '.join(differing))}")
        pieces = (self._present("text", by_number[number][text]) or "" for number in order)
        whole = (self._map.between_lines or "").join(pieces)
        return {**rows[0], text: whole}

    def _keys(self) -> dict[str, str]:
        """Return what the column map calls each column of the table."""
        asked = [(column, f"columns.{name}") for name, column in self._columns.items()]
        if self._map.diagnoses is not None:
            asked.append((self._map.diagnoses.codes, "diagnoses.codes"))
        names = [fold(name) for name, _ in asked]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInputError(f"the column map names one column twice: {printable(', '.join(twice))}; correct it")
        return dict(asked)

    def _add_note(self, note: "_Note") -> None:
        coded = self._map.diagnoses
        with self.labels.placed_if_rejected(
            self._owner(note.rows[0][self._columns["patient_id"]]),
            records=len(note.rows),
            coded=coded is not None and any(row[coded.codes] for row in note.rows),
        ):
            self._add_whole(note)

    def _add_whole(self, note: "_Note") -> None:
        text = self._columns["text"]
        if self._file.format == "xlsx" and any(len(row[text] or "") >= MAX_CELL_CHARS for row in note.rows):
            raise RecordError("the text has 32,767 characters, all that a cell of Excel can hold: it may be cut off")
        row = self._joined(note)
        values: dict[str, str | None] = dict.fromkeys(_Columns.model_fields)
        values |= {name: self._present(name, row[column]) for name, column in self._columns.items()}
        for name in _DATES:
            values[name] = self._iso(name, values[name])
        patient_id = values["patient_id"]
        if patient_id is None:
            raise RecordError("patient_id is blank")
        facts: dict[str, Any] = {name: values[name] for name in PATIENT_COLUMNS}
        facts |= {"sex": require_sex(values["sex"]), "dob": require_birth(values["dob"], "dob")}
        patient = PatientRecord(patient_id=patient_id, **{**facts, "age": require_age(values["age"])})
        diagnoses, coded = self._read_codes(row)
        before = self.writer.patients.get(patient_id)
        split = self._read_split(patient_id, values["split"])
        day = iso_day(values["visit_date"] or "") or date.min
        # The note is refused before the patient is changed by its row.
        self.writer.set_patient(self._merged(before, patient, day))
        try:
            self.writer.add_note(
                NotesRow(
                    patient_id=patient_id,
                    note_id=values["note_id"] or f"row-{note.number}",
                    text=plain_text_of(values["text"] or "") if self._map.plain_text else values["text"] or "",
                    **{name: values[name] for name in ("visit_date", "provider", "practice", "note_type")},
                )
            )
        except RecordError:
            if before is None:
                del self.writer.patients[patient_id]
            else:
                self.writer.patients[patient_id] = before
            raise
        self._as_of[patient_id] = max(day, self._as_of.get(patient_id, day))
        if split is not None:
            self._splits[patient_id] = split
        if coded:
            self.labels.add(patient_id, diagnoses, coded)

    def _present(self, name: str, cell: str | None) -> str | None:
        """Return a cell, None where it is blank; raises `RecordError` for an error, which Excel writes to a CSV too."""
        if cell in self._map.blank:
            return None
        if cell is not None and FORMULA_ERROR.fullmatch(cell.strip()):
            raise RecordError(f"{name} holds {cell.strip()}, an error of Excel")
        return cell

    def _owner(self, cell: str | None) -> str | None:
        """Return whose a row is; None where its cell names nobody."""
        try:
            return self._present("patient_id", cell)
        except RecordError:
            return None

    def _iso(self, name: str, text: str | None) -> str | None:
        if text is None or (self._file.format == "xlsx" and iso_day(text) is not None):
            return text  # a cell of Excel that is a date
        if name not in self._formats:
            if not is_day_or_year(text) if name == "dob" else iso_day(text) is None:
                raise RecordError(
                    f"{name} is not a date as ISO 8601 writes it (2024-01-31); say in [formats] of the column map how "
                    "it is written"
                )
            return text
        try:
            return datetime.strptime(text, self._formats[name]).isoformat()  # noqa: DTZ007 (the clinic's own clock)
        except ValueError:
            raise RecordError(f"{name} is not a date as formats.{name} writes it") from None

    def _read_split(self, patient_id: str, text: str | None) -> str | None:
        if "split" not in self._columns:
            return None
        try:
            split = parse_split(text or "")
        except CellError as error:
            raise RecordError(f"split {error}") from None
        if split == "validation":
            raise RecordError("split is validation, which an import does not carry; leave these patients out")
        if self._splits.get(patient_id, split) != split:
            raise RecordError("split differs from an earlier row of the same patient")
        return split

    def _read_codes(self, row: Row) -> tuple[frozenset[str], tuple[str, ...]]:
        coded = self._map.diagnoses
        if coded is None:
            return frozenset(), ()
        cell = self._present("diagnoses.codes", row[coded.codes])
        codes = [] if cell is None else [code for code in cell.split(coded.separator) if code.strip()]
        found: frozenset[str] = frozenset()
        for code in codes:
            found |= self.labels.book.meaning(coded.system, code)
        return found, (coded.system,) if codes else ()

    def _merged(self, before: PatientRecord | None, now: PatientRecord, day: date) -> PatientRecord:
        """Return what is known of a patient: facts that may change are those of the latest row that gives them."""
        if before is None:
            return now
        for name in _FIXED:
            values = {getattr(before, name), getattr(now, name)} - {None}
            if len(values) > 1:
                raise RecordError(f"{name} differs from an earlier row of the same patient")
        later = day >= self._as_of[now.patient_id]
        first, second = (now, before) if later else (before, now)
        blank = [name for name in PATIENT_COLUMNS if getattr(first, name) is None]
        return replace(first, **{name: getattr(second, name) for name in blank})

    def _watch(
        self, rows: Iterable[tuple[Place, Row]], known: Sequence[str], others: Sequence[str]
    ) -> Iterator[tuple[Place, Row]]:
        """Yield the rows; raise `BadInputError` after them where a note stands in several, which the map does not say.

        A column unknown to the map tells so that numbers rows by a known name, or whose ids of notes repeat. One that
        may do so, or number the notes of a patient, is a hint: by its name, or since it counts anew, without a gap.
        """
        reader, patient_id = self.reader, self._columns["patient_id"]
        firsts: Counter[str] = Counter()
        later: Counter[str] = Counter()
        last: dict[str, tuple[str | None, int]] = {}
        no_counters: set[str] = set()
        seen: set[tuple[str, str | None, str]] = set()
        repeated: set[str] = set()
        unmapped, ids = {*known, *others}, set(_NOTE_IDS)
        for place, row in rows:
            of_file = reader.found & unmapped
            for name in of_file & ids:
                if (identifier := row[name]) is not None:
                    key = (name, row[patient_id], identifier)
                    if key in seen:
                        repeated.add(name)
                    seen.add(key)
            for name in of_file - ids:
                number = _NUMBER.fullmatch(row[name] or "")
                if number is None:
                    no_counters.add(name)
                    continue
                now = int(number[1])
                if now > 1 and last.get(name) != (row[patient_id], now - 1):
                    no_counters.add(name)
                last[name] = (row[patient_id], now)
                (firsts if now == 1 else later)[name] += now > 0
            yield place, row
        for name in sorted(repeated):
            raise BadInputError(
                f"{self._said(name)} repeats within a patient: a note seems to stand in several rows; nothing was "
                "written: name it as columns.note_id, with columns.line and between_lines, in the column map, and they "
                "are joined (docs/importing.md), or leave the column out of the export"
            )
        join = "name it as columns.line, with between_lines, in the column map, and they are joined (docs/importing.md)"
        for name in (*known, *(one for one in others if one not in no_counters)):
            # A number that begins anew: a running number of all rows is another thing.
            if firsts[name] > 1 and later[name]:
                said = f"{self._said(name)} numbers rows anew and anew: a note seems to stand in several rows"
                if name in _LINES:
                    raise BadInputError(f"{said}; nothing was written: {join}, or leave the column out of the export")
                reader.ledger.hints.append(f"{said}, or a patient's notes are numbered; in the first case {join}")

    def _said(self, name: str) -> str:
        unread = self.reader.ledger.columns_not_read
        return f"the column {printable(next(one for one in unread if fold(one) == fold(name)))}"
