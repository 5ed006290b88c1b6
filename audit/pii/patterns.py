"""Patterns that a module looks for: rows of `patterns.toml` beside it, in the table of the module's name.

Under `any_case` capital and small letters are the same. `${kin}` stands for the row of that name under `shared`, where
there is one, and else for the words of that name in the vocabulary that the module gives, which is that of the rules. A
long pattern is a list of its parts.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any


class Patterns:
    """The patterns of a module, compiled when asked for: `_RE = Patterns(__name__)`, then `_RE.token.findall(text)`."""

    def __init__(self, module: str, expand: Callable[[str], str] = str) -> None:
        """Take a module's `__name__`, and what puts the words of a vocabulary in the place of their names."""
        self._package, _, self._table = module.rpartition(".")
        self._expand = expand

    def __getattr__(self, name: str) -> re.Pattern[str]:
        """Return a row, compiled; raises AttributeError where there is none, KeyError where it names no known words."""
        # What copies or pickles asks for such names, before there is a package to read.
        rows = {} if name.startswith("_") else _read(self._package)[self._table]
        any_case = rows.get("any_case", {})
        row = any_case.get(name, rows.get(name))
        if not isinstance(row, str | list):
            raise AttributeError(f"there is no pattern {name!r}")
        written = "".join(row)
        for shared, text in rows.get("shared", {}).items():
            written = written.replace(f"${{{shared}}}", "".join(text))
        written = self._expand(written)
        if "${" in written:
            raise KeyError(f"the pattern {name!r} of {self._table} names words that stand nowhere")
        compiled = re.compile(written, re.IGNORECASE if name in any_case else 0)
        # From now on it is an attribute as any other.
        setattr(self, name, compiled)
        return compiled


@cache
def _read(package: str) -> Mapping[str, Any]:
    """Return the tables of a package; raises ValueError for a table of no use, and for a row that stands twice."""
    tables = tomllib.loads(files(package).joinpath("patterns.toml").read_text("utf-8"))
    for module, rows in tables.items():
        unknown = {name for name, row in rows.items() if isinstance(row, dict)} - {"any_case", "shared"}
        if unclear := unknown | (rows.keys() & rows.get("any_case", {}).keys()):
            raise ValueError(f"patterns of {package}.{module}: unknown, or twice: {', '.join(sorted(unclear))}")
    return tables
