"""The judges of a panel, as a file names them (docs/unlearning.md).

Owns the file: TOML with three tables `[[judge]]`, each with a `name`, a `url`, a `model` and if need be a `key_file`.
Knows nothing of what is asked.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from clinaudit.audit.unlearning.benchmark.panel.verdicts import JUDGES, PANEL
from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import printable
from clinaudit.templates.text_file import read_text_file

_NEEDED: Final = ("name", "url", "model")
_KNOWN: Final = frozenset({*_NEEDED, "key_file"})


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge: a served model."""

    name: str
    url: str
    model: str
    key_file: Path | None


def read_judges(path: Path) -> tuple[Judge, ...]:
    """Return the three judges of a file; raises `BadInputError` listing all problems. Key files lie beside it."""
    what = f"the panel {printable(path.name)}"
    try:
        tables = tomllib.loads(read_text_file(path, role="the panel")).get("judge")
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{what} is no TOML: {error}") from None
    if not isinstance(tables, list) or len(tables) != JUDGES:
        raise BadInputError(f"{what} must have {JUDGES} tables [[judge]], of models of different families")
    problems = [problem for place, table in enumerate(tables, start=1) for problem in _problems(place, table)]
    if not problems and len({table["name"] for table in tables}) < JUDGES:
        problems = ["two judges have one name; give each its own"]
    if not problems and PANEL in {table["name"] for table in tables}:
        problems = [f"a judge is named {PANEL}, as the majority of all three is; give it another name"]
    if problems:
        raise BadInputError(f"{what} cannot be used", problems)
    return tuple(
        Judge(
            table["name"],
            table["url"],
            table["model"],
            None if "key_file" not in table else path.parent / table["key_file"],
        )
        for table in tables
    )


def _problems(place: int, table: Any) -> list[str]:
    if not isinstance(table, dict):
        return [f"judge {place} is no table"]
    lacking = [f"judge {place} has no {name}" for name in _NEEDED if not _is_text(table.get(name))]
    if "key_file" in table and not _is_text(table["key_file"]):
        lacking.append(f"judge {place}: key_file is no path")
    return lacking + [f"judge {place}: {printable(str(name))} is no field" for name in table if name not in _KNOWN]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
