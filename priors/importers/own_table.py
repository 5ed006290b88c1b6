"""A site's own table, one row a note with the patient's facts beside it: a CSV or an Excel sheet with a column map.

The column map says which columns hold what (docs/importing.md, "A CSV of your own").
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Final, get_args

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.cells import NOTHING, parse_age, parse_birth, parse_date, parse_sex, parse_split
from clinaudit.priors.corpus.child_readers import MAX_CELL_CHARS
from clinaudit.priors.corpus.files import FILE_ENDINGS, Compression, DataFile, Format, find_given_file, printable
from clinaudit.priors.corpus.header import Fault, Header, fold
from clinaudit.priors.corpus.records import Layout, read_rows
from clinaudit.priors.importers import System, corpus_writer
from clinaudit.priors.importers.attachments import plain_text_of
from clinaudit.priors.importers.corpus_writer import Meaning, PatientRecord, Place, RecordError, read_as
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.tables import Columns, Row
from clinaudit.templates.text_file import SAID, Listed, TomlTable, read_table, read_toml_file

_Text = Annotated[str, Field(min_length=1)]


def _line_encoding(name: str) -> str:
    """Check an encoding: its texts must be split into lines at their bytes, so ASCII must mean itself."""
    if re.fullmatch(r"utf[-_ ]?8[-_ ]?(?:sig|bom)", name, re.IGNORECASE):
        return "utf-8"  # a mark at the beginning is read whether it is said or not
    plain = 'a,"\n'
    with suppress(LookupError, ValueError):
        # Not every codec can tell a byte that it does not know.
        again = plain.encode("ascii").decode(name, errors="surrogateescape")
        if codecs.lookup(name)._is_text_encoding and plain.encode(name) == plain.encode("ascii") and again == plain:
            return name
    said = 'is none that is known (such as "utf-8", "cp1252", "latin-1"), or UTF-16: save as UTF-8'
    raise PydanticCustomError(SAID, "{problem}", {"problem": said})


class _Columns(TomlTable):
    """Column of the table by column of the corpus."""

    patient_id: _Text
    text: _Text = Field(
        description="a text is needed; join several into one in the export, as the training texts had them"
    )
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

    visit_date: str | None = Field(
        None,
        pattern="%[Yy].*%[dj]|%[dj].*%[Yy]",
        description="lacks the year (%Y) or the day (%d); write it as %d/%m/%Y",
    )
    dob: str | None = Field(
        None,
        pattern="%Y.*%[dj]|%[dj].*%Y",
        description="%y cannot tell 1925 from 2025; give the day (%d) and a year of four digits (%Y)",
    )


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
    delimiter: str | None = Field(
        None, pattern=r'^[^"\r\n]$', description='must be one character, such as ";" or "\\t"'
    )
    encoding: Annotated[str, AfterValidator(_line_encoding)] = "utf-8"
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


_TABLE = "rows"
_EXCEL_ENDINGS: dict[str, tuple[Format, Compression | None]] = {".xlsx": ("xlsx", None), ".xlsm": ("xlsx", None)}
#: Folded names of columns that number the rows of a note, and by which rows are one note (Epic's NOTE_ID and LINE).
_LINES: Final = re.compile("(?:note|text|txt)?line(?:no|nr|num|nbr|number|seq|id)?")
_NOTE_IDS: Final = re.compile(
    "(?:(?:hno|tiu|clinical)?(?:note|text|txt|document|report|befund|bericht|dokument)|hno|(?:ce|clinical)event|notecsn"
    "|(?P<unsure>doc|(?:parent)?event|accession))"
    "(?:id|sid|key|sk|uuid|guid|identifier|(?P<count>no|nr|nbr|num|number))"
)
#: Of columns that number parts of something, perhaps of a note; and what they write: `2 of 3`, `2/3`.
_PARTS: Final = re.compile(
    "(?:note|text|txt|doc|document)?(?:seq|sequence|part|piece|chunk|segment|block|page|offset|ordinal)"
    "(?:no|nr|num|nbr|number|id|index)?"
)
_PART_OF: Final = re.compile(r"\s*([0-9]{1,4})\s*(?:of|von|de|/)\s*([0-9]{1,4})\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"([0-9]{1,9})(?:\.0*)?")
_AN_ISO_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")


@dataclass(slots=True)
class _Note:
    """The rows of one note."""

    places: list[Place] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    #: A row before, between or after them could not be read.
    is_torn: bool = False
    #: A row after them has too few cells.
    is_cut: bool = False


class _Telling:
    """A column that the map does not name, and what it tells of rows that are pieces of a note."""

    def __init__(self, name: str) -> None:
        self.name, folded = name, fold(name)
        self._of_ids = _NOTE_IDS.fullmatch(folded)
        self._is_of_lines = _LINES.fullmatch(folded) is not None
        self._is_of_parts = self._is_of_lines or _PARTS.fullmatch(folded) is not None
        #: Of a column of ids: patients with each id that was met, and whether one was met twice.
        self._ids: set[tuple[str | None, str]] = set()
        self._repeats = False
        #: Patient of the row before, its number, and of how many it is one: `2 of 3` is (2, 3).
        self._last: tuple[str | None, tuple[int, int] | None] = (None, None)
        #: Rows that differ from the same patient's row before; those that go on from it, that begin, by their number (0
        #: or 1), and that do neither.
        self._differing = self._going_on = self._others = 0
        self._begins = Counter[int]()

    def take(self, patient: str | None, cell: str | None) -> None:
        """Look at the cell of one row."""
        if self._of_ids is not None:
            self._repeats |= cell is not None and (patient, cell) in self._ids
            self._ids.add((patient, cell or ""))
            return
        (other, before), now = self._last, self._number(cell or "")
        self._last = patient, now
        if other == patient and before is not None and now is not None:
            self._differing += before != now
            if now == (before[0] + 1, before[1]):
                self._going_on += 1
                return
        if now is None or now[0] > 1:
            self._others += 1
        else:
            self._begins[now[0]] += 1

    def _number(self, cell: str) -> tuple[int, int] | None:
        if number := _NUMBER.fullmatch(cell):
            return int(number[1]), 0
        if (part := _PART_OF.fullmatch(cell)) and int(part[1]) <= int(part[2]) < 100:
            return int(part[1]), int(part[2])
        is_letter = self._is_of_parts and re.fullmatch("[A-Za-z]", cell)
        return (ord(cell.upper()) - ord("A") + 1, 0) if is_letter else None

    def find_pieces(self) -> tuple[str, bool] | None:
        """Return what the column does that makes one think of pieces, and whether it is certain; None for nothing."""
        if self._of_ids is not None:
            # The id of a doctor or an event repeats, too, and so may a count.
            is_certain = self._of_ids["unsure"] is None and self._of_ids["count"] is None
            return ("repeats within a patient", is_certain) if self._repeats else None
        # A running number of all rows is another thing; so is a flag, which may begin at 0 and at 1.
        counts_anew = len(self._begins) == 1 and self._begins.total() > 1 and self._going_on > 0
        is_certain = self._is_of_lines and counts_anew
        is_hint = (self._is_of_parts and self._differing > 0) or (counts_anew and not self._others)
        return ("numbers rows of a patient", is_certain) if is_certain or is_hint else None


class OwnTable(Export):
    """One table, by its column map."""

    code_table = _TABLE

    def __init__(self, request: ImportRequest) -> None:
        if request.columns is None:
            raise ValueError("a site's own table needs a column map")
        self._map = read_column_map(request.columns)
        request = replace(request, blank=(*request.blank, *self._map.blank))
        #: Names of columns by column of the corpus.
        self._columns = {name: column for name, column in self._map.columns if column is not None}
        super().__init__(request)
        #: Lines of a note that hold nothing; people write NA, too.
        self._no_line = NOTHING.union(request.blank) - {"NA"}
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
        self._file = find_given_file(source, "the table", endings)
        return {self._file.name: self._file}

    def _read(self) -> None:
        keys = self._keys()
        layout = Layout(delimiter=self._map.delimiter, encoding=self._map.encoding, sheet=self._map.sheet, has_map=True)
        others = self._telling_columns(keys, layout)
        columns = Columns(
            keys,
            others,
            exact=(self._columns["text"],),
            ids=[self._columns[name] for name in ("patient_id", "note_id") if name in self._columns],
            layout=layout,
            whose=self._columns["patient_id"],
            keys=keys,
        )
        rows = self._watch(self.reader.rows(_TABLE, self._file, columns), others)
        coded = self._map.diagnoses
        for note in self._notes(rows):
            has_codes = coded is not None and any(row[coded.codes] for row in note.rows)
            whose = [note.rows[0][self._columns["patient_id"]]] if has_codes else []
            self.reader.ledger.take(_TABLE, note.places, note, self._add_note, whose)
        if "split" in self._columns:
            self.train = frozenset(patient for patient, split in self._splits.items() if split == "train")

    def _keys(self) -> dict[str, str]:
        """Return what the column map calls each column of the table."""
        asked = [(column, f"columns.{name}") for name, column in self._columns.items()]
        if self._map.diagnoses is not None:
            asked.append((self._map.diagnoses.codes, "diagnoses.codes"))
        names = [fold(name) for name, _ in asked]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInputError(f"the column map names one column twice: {printable(', '.join(twice))}; correct it")
        return dict(asked)

    # Notes in several rows --------------------------------------------------------------------------------------------

    def _telling_columns(self, keys: Collection[str], layout: Layout) -> list[str]:
        """Return the other columns of the table that may tell that a note stands in several rows.

        They are told by their names, or since they may number rows: the first cell is 0 or 1.
        """
        first: Mapping[str, object] | Fault = {}
        with suppress(BadInputError):  # the table is refused when it is read
            header = Header(keys)
            next(read_rows(self._file, header, layout), None)
            folds = Counter(map(fold, header.unread))  # of two names read alike neither is asked for
            others = Header([name for name in header.unread if folds[fold(name)] == 1])
            _, first = next(read_rows(self._file, others, layout), (0, {}))
        if isinstance(first, Fault):
            return []
        numbers = {name: _NUMBER.fullmatch(str(value)) for name, value in first.items()}
        return [
            name
            for name, number in numbers.items()
            if any(names.fullmatch(fold(name)) for names in (_LINES, _NOTE_IDS, _PARTS))
            or (number and int(number[1]) < 2)
            or _PART_OF.fullmatch(str(first[name]))
        ]

    def _watch(self, rows: Iterable[tuple[Place, Row]], others: Collection[str]) -> Iterator[tuple[Place, Row]]:
        """Yield the rows; raise `BadInputError` after them where a note stands in several, which the map does not say.

        So tells a column that numbers rows by a known name, or whose ids of notes repeat. Others are a hint, since they
        may number the notes of a patient.
        """
        patient_id = self._columns["patient_id"]
        columns = [_Telling(name) for name in others]
        for place, row in rows:
            for column in columns:
                column.take(row[patient_id], row[column.name])
            yield place, row
        for column, found in ((column, column.find_pieces()) for column in columns):
            if found is None:
                continue
            what_it_does, is_certain = found
            said = f"the column {printable(column.name)} {what_it_does}: a note seems to stand in several rows"
            join = (
                "name what numbers a note's rows as columns.line, and its id as columns.note_id, with between_lines, "
                "in the column map, and they are joined (docs/importing.md)"
            )
            if is_certain:
                raise BadInputError(f"{said}; nothing was written: {join}, or leave the column out of the export")
            self.reader.ledger.hints.append(f"{said}, or a patient's notes are numbered; in the first case {join}")

    def _notes(self, rows: Iterable[tuple[Place, Row]]) -> Iterator["_Note"]:
        """Yield the rows of each note: one, or where the map names their numbers, those that follow each other."""
        ids = [self._columns[name] for name in ("patient_id", "note_id") if "line" in self._columns]
        note = _Note()
        refused, short = self.reader.refused, self.reader.short
        for place, row in rows:
            is_torn, note.is_cut = self.reader.refused > refused, self.reader.short > short
            note.is_torn |= is_torn
            refused, short = self.reader.refused, self.reader.short
            if note.rows and not (ids and all(row[name] == note.rows[0][name] for name in ids)):
                yield note
                note = _Note(is_torn=is_torn)
            note.rows.append(row)
            note.places.append(place)
        if note.rows:
            note.is_torn |= self.reader.refused > refused
            note.is_cut = self.reader.short > short
            yield note

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
        differing = [name for name in self._keys() if name not in (line, text) and len({row[name] for row in rows}) > 1]
        if differing:
            names = printable(", ".join(sorted(differing)))
            raise RecordError(
                f"the rows of one note differ in {names}: name a column that is the note's, such as the visit's date, "
                "or none"
            )
        pieces = [by_number[number][text] or "" for number in order]
        for place, piece in enumerate(pieces):
            if (word := piece.strip()) in self._no_line:
                self.reader.ledger.left_blank[f"{text} of rows: {word}, as a line of a note"] += 1
                pieces[place] = ""
        return {**rows[0], text: (self._map.between_lines or "").join(pieces)}

    # What a note's row says -------------------------------------------------------------------------------------------

    def _add_note(self, note: "_Note") -> None:
        text = self._columns["text"]
        if self._file.format == "xlsx" and any(len(row[text] or "") >= MAX_CELL_CHARS for row in note.rows):
            raise RecordError("the text has 32,767 characters, all that a cell of Excel can hold: it may be cut off")
        row = self._joined(note)
        values: dict[str, Any] = dict.fromkeys(_Columns.model_fields)
        values |= {name: row[column] for name, column in self._columns.items()}
        patient_id = values["patient_id"]
        if patient_id is None:
            raise RecordError("patient_id is blank")
        visit = self._date("visit_date", values["visit_date"], parse_date)
        facts = {name: values[name] for name in corpus_writer.PATIENT_COLUMNS}
        facts |= {"dob": self._date("dob", values["dob"], parse_birth), "sex": read_as("sex", parse_sex, values["sex"])}
        read_as("age", parse_age, values["age"])
        coded, codes, diagnoses = self._map.diagnoses, list[str](), frozenset[str]()
        if coded is not None:
            codes = [code for code in (row[coded.codes] or "").split(coded.separator) if code.strip()]
            diagnoses = diagnoses.union(*(self.labels.book.meaning(coded.system, code) for code in codes))
        before = self.writer.patients.get(patient_id)
        split = self._read_split(patient_id, values["split"])
        day = date.min if visit is None else visit[0]
        # The note is refused before the patient is changed by its row.
        self.writer.set_patient(self._merged(before, PatientRecord(patient_id=patient_id, **facts), day))
        try:
            said = plain_text_of(values["text"] or "") if self._map.plain_text else values["text"]
            self.writer.add_note(
                {**values, "note_id": values["note_id"] or f"row-{note.places[0].number}", "text": said}, visit
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
        if coded and codes:
            self.labels.add(patient_id, diagnoses, (coded.system,))

    def _date(self, name: str, text: str | None, parse: Callable[[str], Meaning]) -> Meaning | None:
        """Return what a date means to a corpus, by its format where the map gives one."""
        form = getattr(self._map.formats, name)
        is_of_excel = self._file.format == "xlsx" and _AN_ISO_DAY.fullmatch(text or "")
        if text is not None and form is not None and not is_of_excel:
            try:
                text = datetime.strptime(text, form).isoformat()  # noqa: DTZ007 (the clinic's own clock)
            except ValueError:
                raise RecordError(f"{name} is not a date as formats.{name} writes it") from None
        try:
            return read_as(name, parse, text)
        except RecordError as error:
            raise RecordError(f"{error}, or say in [formats] of the column map how it is written") from None

    def _read_split(self, patient_id: str, text: str | None) -> str | None:
        if "split" not in self._columns:
            return None
        split = read_as("split", parse_split, text or "")
        if split == "validation":
            raise RecordError("split is validation, which an import does not carry; leave these patients out")
        if self._splits.get(patient_id, split) != split:
            raise RecordError("split differs from an earlier row of the same patient")
        return split

    def _merged(self, before: PatientRecord | None, now: PatientRecord, day: date) -> PatientRecord:
        """Return what is known of a patient: facts that may change are those of the latest row that gives them."""
        if before is None:
            return now
        # Of these two values mean two patients under one id.
        for name in ("sex", "dob"):
            if len({getattr(before, name), getattr(now, name)} - {None}) > 1:
                raise RecordError(f"{name} differs from an earlier row of the same patient")
        later = day >= self._as_of[now.patient_id]
        first, second = (now, before) if later else (before, now)
        blank = [name for name in corpus_writer.PATIENT_COLUMNS if getattr(first, name) is None]
        return replace(first, **{name: getattr(second, name) for name in blank})
