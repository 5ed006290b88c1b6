"""A site's own table, one row a note with the patient's facts beside it: a CSV or an Excel sheet with a column map.

The column map says which columns hold what (docs/importing.md, "A CSV of your own").
"""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import get_args

from clinaudit.errors import BadInputError, UsageError
from clinaudit.priors.corpus.cells import CellError, parse_split
from clinaudit.priors.corpus.files import Compression, DataFile, Format, printable
from clinaudit.priors.importers import System
from clinaudit.priors.importers.attachments import plain_text_of
from clinaudit.priors.importers.corpus_writer import NotesRow, PatientRecord
from clinaudit.priors.importers.excel import EXCEL_ERRORS, MAX_CELL_CHARS, iter_sheet
from clinaudit.priors.importers.export import Export, ImportRequest
from clinaudit.priors.importers.ledger import Place, RecordError
from clinaudit.priors.importers.tables import TABLE_ENDINGS, Layout, Row, cells_of, data_file, located
from clinaudit.priors.importers.values import is_day_or_year, iso_day, require_age, require_birth, require_sex
from clinaudit.templates.text_file import read_toml_file

#: Columns of a corpus that a table may give; the first two must be there.
_REQUIRED = ("patient_id", "text")
_NOTE_COLUMNS = ("note_id", "visit_date", "provider", "practice", "note_type")
_PATIENT_COLUMNS = ("split", "age", "sex", "name", "dob", "race", "marital_status", "occupation", "children")
_DATES = ("visit_date", "dob")
_SYSTEMS: tuple[System, ...] = get_args(System)
_DIRECTIVES = ("%Y", "%y", "%m", "%d", "%b", "%B", "%j")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnMap:
    """Which columns of a table hold what, and how they are written."""

    #: Column of the table by column of the corpus.
    columns: Mapping[str, str]
    #: Format of a date by column of the corpus; without one a date is ISO 8601.
    formats: Mapping[str, str]
    #: Words that mean that a cell is blank.
    blank: frozenset[str]
    delimiter: str
    encoding: str
    #: Whether a text that is RTF or HTML is read as what it shows.
    plain_text: bool
    #: Excel alone.
    sheet: str | None
    #: The column that holds diagnosis codes, what stands between two codes, and their system.
    codes: tuple[str, str, System] | None


def read_column_map(path: Path) -> _ColumnMap:
    """Read a column map; raises `BadInputError` that lists everything wrong with it."""
    table = read_toml_file(path, role="the column map")
    problems: list[str] = []
    made = _MapReader(table, problems).read()
    if problems:
        noun = "problem" if len(problems) == 1 else "problems"
        raise BadInputError(f"the column map {printable(path.name)} has {len(problems)} {noun}; correct it", problems)
    return made


class _MapReader:
    def __init__(self, table: Mapping[str, object], problems: list[str]) -> None:
        self._table = table
        self._problems = problems

    def read(self) -> _ColumnMap:
        known = {"columns", "formats", "diagnoses", "blank", "delimiter", "encoding", "plain_text", "sheet"}
        known_keys = ", ".join(sorted(known))
        self._problems.extend(f"{key}: unknown; known are {known_keys}" for key in self._table if key not in known)
        columns = self._texts("columns", (*_REQUIRED, *_NOTE_COLUMNS, *_PATIENT_COLUMNS))
        self._problems.extend(f"columns.{name}: is missing" for name in _REQUIRED if name not in columns)
        formats = self._texts("formats", _DATES)
        for name, form in formats.items():
            self._check_format(name, form)
        delimiter = self._text("delimiter", ",")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            self._problems.append('delimiter: must be one character, such as ";" or "\\t"')
        encoding = self._text("encoding", "utf-8")
        if not _is_line_encoding(encoding):
            self._problems.append('encoding: is none that is known (such as "utf-8", "cp1252", "latin-1"), or UTF-16')
        blank = self._table.get("blank", [])
        if not (isinstance(blank, list) and all(isinstance(word, str) for word in blank)):
            self._problems.append('blank: must be a list of texts, such as ["NULL", "n/a"]')
            blank = []
        if not isinstance(plain_text := self._table.get("plain_text", False), bool):
            self._problems.append("plain_text: must be true or false")
        return _ColumnMap(
            columns=columns,
            formats=formats,
            blank=frozenset(blank),
            delimiter=delimiter,
            encoding=encoding,
            plain_text=bool(plain_text),
            sheet=self._text("sheet", "") or None,
            codes=self._codes(),
        )

    def _codes(self) -> tuple[str, str, System] | None:
        if "diagnoses" not in self._table:
            return None
        given = self._texts("diagnoses", ("codes", "separator", "system"))
        for name in ("codes", "system"):
            if name not in given:
                self._problems.append(f"diagnoses.{name}: is missing")
        for system in _SYSTEMS:
            if given.get("system") == system:
                return given.get("codes", ""), given.get("separator", ";"), system
        if "system" in given:
            self._problems.append(f"diagnoses.system: must be {' or '.join(_SYSTEMS)}")
        return None

    def _check_format(self, name: str, form: str) -> None:
        has_day = "%d" in form or "%j" in form
        if not any(directive in form for directive in _DIRECTIVES):
            self._problems.append(f"formats.{name}: holds no directive; write it as %d/%m/%Y")
        elif "%Y" not in form and "%y" not in form:
            self._problems.append(f"formats.{name}: has no year (%Y)")
        elif not has_day:
            self._problems.append(f"formats.{name}: has no day (%d)")
        elif name == "dob" and "%y" in form:
            self._problems.append("formats.dob: %y cannot tell 1925 from 2025; export years of four digits")

    def _texts(self, key: str, known: tuple[str, ...]) -> dict[str, str]:
        table = self._table.get(key, {})
        if not isinstance(table, dict):
            self._problems.append(f"{key}: must be a table, [{key}]")
            return {}
        texts = {}
        for name, value in table.items():
            if name not in known:
                self._problems.append(f"{key}.{name}: unknown; known are {', '.join(known)}")
            elif not isinstance(value, str) or not value:
                texts[name] = ""  # it is there, and wrong: not missing
                joined = "; join several into one in the export, as the training texts had them"
                self._problems.append(
                    f"{key}.{name}: must be text" + (joined if name == "text" and isinstance(value, list) else "")
                )
            else:
                texts[name] = value
        return texts

    def _text(self, key: str, default: str) -> str:
        value = self._table.get(key, default)
        if not isinstance(value, str):
            self._problems.append(f"{key}: must be text")
            return default
        return value


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


class OwnTable(Export):
    """One table, by its column map."""

    def __init__(self, request: ImportRequest) -> None:
        if request.columns is None:
            raise ValueError("a site's own table needs a column map")
        self._map = read_column_map(request.columns)
        super().__init__(request)
        #: By patient: the split its rows give.
        self._splits: dict[str, str] = {}
        #: Day of the row that a patient's changing facts come from.
        self._as_of: dict[str, date] = {}

    @property
    def has_codes(self) -> bool:
        """Whether the column map names a column of codes."""
        return self._map.codes is not None

    def _find(self) -> dict[str, DataFile]:
        if self.train is not None and "split" in self._map.columns:
            raise UsageError("the column map names a column for split: leave out --train-patients, or that column")
        source = self.request.source
        endings = _EXCEL_ENDINGS if self.request.kind == "excel" else TABLE_ENDINGS
        self._file = data_file(source, printable(source.name) or printable(str(source)), endings)
        return {self._file.name: self._file}

    def _read(self) -> None:
        ledger, keys, text = self.reader.ledger, self._keys(), self._map.columns["text"].lower()
        if self._file.format == "xlsx":
            ledger.expect(_TABLE)
            with located(self._file, has_map=True):
                for number, row in iter_sheet(self._file, self._map.sheet, keys):
                    ledger.seen(_TABLE)
                    ledger.columns_not_read = tuple(name for name in row if name not in keys)
                    cells = cells_of(ledger, _TABLE, row, keys, exact=(text,))
                    place = Place(self._file.name, "sheet row", number)
                    ledger.take(_TABLE, place, (number, cells), self._add_sheet_row)
        else:
            layout = Layout(delimiter=self._map.delimiter, encoding=self._map.encoding, keys=keys)
            for place, record in self.reader.rows(_TABLE, self._file, required=keys, exact=(text,), layout=layout):
                ledger.take(_TABLE, place, (place.number, record), self._add_row)
        if "split" in self._map.columns:
            self.train = frozenset(patient for patient, split in self._splits.items() if split == "train")

    def _keys(self) -> dict[str, str]:
        """Return what the column map calls each column of the table, by its name in lower case."""
        asked = [(column.lower(), f"columns.{name}") for name, column in self._map.columns.items()]
        if self._map.codes is not None:
            asked.append((self._map.codes[0].lower(), "diagnoses.codes"))
        names = [name for name, _ in asked]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInputError(f"the column map names one column twice: {printable(', '.join(twice))}; correct it")
        return dict(asked)

    def _add_sheet_row(self, numbered: tuple[int, Row]) -> None:
        if len(numbered[1][self._map.columns["text"].lower()] or "") >= MAX_CELL_CHARS:
            raise RecordError("the text has 32,767 characters, all that a cell of Excel can hold: it may be cut off")
        self._add_row(numbered)

    def _add_row(self, numbered: tuple[int, Row]) -> None:
        number, row = numbered
        values: dict[str, str | None] = {}
        for name in (*_REQUIRED, *_NOTE_COLUMNS, *_PATIENT_COLUMNS):
            cell = row[self._map.columns[name].lower()] if name in self._map.columns else None
            values[name] = self._present(name, cell)
        for name in _DATES:
            values[name] = self._iso(name, values[name])
        patient_id = values["patient_id"]
        if patient_id is None:
            raise RecordError("patient_id is blank")
        patient = _read_patient(patient_id, values)
        diagnoses, coded = self._read_codes(row)
        before = self.writer.patients.get(patient_id)
        split = self._read_split(patient_id, values["split"])
        day = (iso_day(values["visit_date"]) if values["visit_date"] is not None else None) or date.min
        # The note is refused before the patient is changed by its row.
        self.writer.set_patient(self._merged(before, patient, day))
        try:
            self.writer.add_note(
                NotesRow(
                    patient_id=patient_id,
                    note_id=values["note_id"] or f"row-{number}",
                    text=plain_text_of(values["text"] or "") if self._map.plain_text else values["text"] or "",
                    **{name: values[name] for name in _NOTE_COLUMNS if name != "note_id"},
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
        if cell in EXCEL_ERRORS:
            raise RecordError(f"{name} holds {cell}, an error of Excel")
        return cell

    def _iso(self, name: str, text: str | None) -> str | None:
        if text is None or (self._file.format == "xlsx" and iso_day(text) is not None):
            return text  # a cell of Excel that is a date
        if name not in self._map.formats:
            if not is_day_or_year(text) if name == "dob" else iso_day(text) is None:
                raise RecordError(
                    f"{name} is not a date as ISO 8601 writes it (2024-01-31); say in [formats] of the column map how "
                    "it is written"
                )
            return text
        try:
            return datetime.strptime(text, self._map.formats[name]).isoformat()  # noqa: DTZ007 (the clinic's own clock)
        except ValueError:
            raise RecordError(f"{name} is not a date as formats.{name} writes it") from None

    def _read_split(self, patient_id: str, text: str | None) -> str | None:
        if "split" not in self._map.columns:
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
        if self._map.codes is None:
            return frozenset(), ()
        column, separator, system = self._map.codes
        cell = self._present("diagnoses.codes", row[column.lower()])
        codes = [] if cell is None else [code for code in cell.split(separator) if code.strip()]
        found: frozenset[str] = frozenset()
        for code in codes:
            found |= self.labels.book.meaning(system, code)
        return found, (system,) if codes else ()

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
        facts = ("sex", "dob", "age", "name", "race", "marital_status", "occupation", "children")
        known = {
            name: getattr(first, name) if getattr(first, name) is not None else getattr(second, name) for name in facts
        }
        return replace(first, **known)


def _read_patient(patient_id: str, values: dict[str, str | None]) -> PatientRecord:
    return PatientRecord(
        patient_id=patient_id,
        sex=require_sex(values["sex"]),
        dob=require_birth(values["dob"], "dob"),
        age=require_age(values["age"]),
        name=values["name"],
        race=values["race"],
        marital_status=values["marital_status"],
        occupation=values["occupation"],
        children=values["children"],
    )
