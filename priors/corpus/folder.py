"""Which files of a corpus directory hold its tables. Opens none of them.

Names of files may hold names of patients (a letter a file): only names of tables and spreadsheets are ever shown, where
there are few; the others are counted by their endings.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import FILE_ENDINGS, DataFile, find_file, printable, unreadable
from clinaudit.priors.corpus.problems import Problems
from clinaudit.priors.corpus.tables import NOTES, SCHEMAS

#: Endings of files that hold tables, read or not.
_TABLE_ENDINGS = (
    *FILE_ENDINGS,
    ".json",
    ".ndjson",
    ".xlsx",
    ".xls",
    ".xlsm",
    ".ods",
    ".feather",
    ".arrow",
    ".sas7bdat",
)
#: How the name of a file begins that was meant as a table.
_MEANT = {"notes": "note", "patients": "patient", "diagnoses": "diagnos"}
#: Most names and endings shown.
_MOST_SHOWN = 5


def find_tables(path: Path, problems: Problems) -> dict[str, DataFile]:
    """Return the files of a corpus directory by table; letters of either case are read.

    Two files for one table, a file that seems to be meant as a table that is not there otherwise, and anything that is
    not a regular file, are problems.
    """
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise unreadable("the corpus directory", error) from None
    found: dict[str, DataFile] = {}
    for schema in SCHEMAS:
        ours = [name for name in names if name.lower() in {schema.name + ending for ending in FILE_ENDINGS}]
        if len(ours) > 1:
            problems.add(schema.name, f"is given by more than one file: {', '.join(ours)}; keep one")
        for name in ours:
            try:
                found[schema.name] = find_file(path / name, name)
            except BadInputError as error:
                problems.add(name, error.message)
        if not ours and schema is NOTES:
            problems.add(NOTES.name, _describe_absence(path, names))
        elif not ours:
            for name in [name for name in names if _is_meant_as(schema.name, name)][:_MOST_SHOWN]:
                what = f"is not read; save it as {schema.name}.csv, or move it out of the corpus"
                problems.add(printable(name), what)
    return found


def _is_meant_as(table: str, name: str) -> bool:
    return name.lower().startswith(_MEANT[table]) and name.lower().endswith(_TABLE_ENDINGS)


def _describe_absence(path: Path, names: Sequence[str]) -> str:
    """Return what to say where there is no notes table: what must be there, and what is."""
    tables = [name for name in names if name.lower().endswith(_TABLE_ENDINGS)]
    if len(tables) > _MOST_SHOWN:
        tables = []  # a table a patient, it may be
    others = [name for name in names if name not in tables and not name.startswith(".")]
    endings = Counter("folders" if (path / name).is_dir() else _ending(name) for name in others)
    shown = [printable(name) for name in tables]
    shown += [f"{ending} ({count})" for ending, count in endings.most_common(_MOST_SHOWN)]
    return (
        "there is no notes table: notes.parquet, notes.csv or notes.jsonl (.csv.gz, .jsonl.zst, ...); "
        f"found: {', '.join(shown) or 'nothing'}{advise_import(tables[0]) if len(tables) == 1 else ''}"
    )


def advise_import(name: str) -> str:
    """Return what to say after a problem of a file that is a workbook: the command that reads it; else nothing."""
    if not name.lower().endswith(".xlsx"):
        return ""
    command = f"clinaudit import excel {shlex.quote(printable(name))} corpus/ --columns columns.toml"
    return f"; a workbook is read by {command} (docs/importing.md)"


def _ending(name: str) -> str:
    """Return words for the files that end like this one; an ending that is no common one may be part of a name."""
    ending = Path(name).suffix.lower()
    return f"files ending in {ending}" if ending[1:].isalnum() and len(ending) <= 5 else "other files"
