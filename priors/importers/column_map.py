"""The column map of a site's own table: which of its columns hold what (docs/importing.md, "A CSV of your own").

Owns the file's format and its errors, and how columns that are missing are named. Knows nothing of rows.
"""

import codecs
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.importers.kinds import System
from clinaudit.templates.text_file import read_toml_file

#: Columns of a corpus that a table may give; the first two must be there.
REQUIRED = ("patient_id", "text")
NOTE_COLUMNS = ("note_id", "visit_date", "provider", "practice", "note_type")
PATIENT_COLUMNS = ("split", "age", "sex", "name", "dob", "race", "marital_status", "occupation", "children")
DATES = ("visit_date", "dob")
_SYSTEMS: tuple[System, ...] = get_args(System)
_DIRECTIVES = ("%Y", "%y", "%m", "%d", "%b", "%B", "%j")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
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


def read_column_map(path: Path) -> ColumnMap:
    """Read a column map; raises `BadInputError` that lists everything wrong with it."""
    table = read_toml_file(path, role="the column map")
    problems: list[str] = []
    made = _MapReader(table, problems).read()
    if problems:
        noun = "problem" if len(problems) == 1 else "problems"
        raise BadInputError(f"the column map {printable(path.name)} has {len(problems)} {noun}; correct it", problems)
    return made


def require_columns(found: Collection[str], wanted: Collection[str], keys: Mapping[str, str], where: str) -> None:
    """Raise `BadInputError` that names missing columns, and the keys of the column map that ask for them."""
    missing = [name for name in wanted if name not in found]
    if missing:
        named = ", ".join(f"{name} ({keys[name]} of the column map)" if keys else name for name in missing)
        raise BadInputError(f"column {named}: is missing{where}")


class _MapReader:
    def __init__(self, table: Mapping[str, object], problems: list[str]) -> None:
        self._table = table
        self._problems = problems

    def read(self) -> ColumnMap:
        known = {"columns", "formats", "diagnoses", "blank", "delimiter", "encoding", "plain_text", "sheet"}
        self._problems.extend(f"{key}: unknown; known are {_listed(known)}" for key in self._table if key not in known)
        columns = self._texts("columns", (*REQUIRED, *NOTE_COLUMNS, *PATIENT_COLUMNS))
        self._problems.extend(f"columns.{name}: is missing" for name in REQUIRED if name not in columns)
        formats = self._texts("formats", DATES)
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
        return ColumnMap(
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


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
