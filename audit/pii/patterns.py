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
    """The patterns of a module, as attributes; each is compiled when it is first asked for."""

    def __init__(self, module: str, expand: Callable[[str], str] = str) -> None:
        """Take a module's `__name__`, and what puts the words of a vocabulary in the place of their names."""
        self._package, _, self._table = module.rpartition(".")
        self._expand = expand

    def __getattr__(self, name: str) -> re.Pattern[str]:
        table = _read(self._package)[self._table]
        any_case = table.get("any_case", {})
        if name not in table and name not in any_case:
            raise AttributeError(f"no pattern {name!r} of {self._table} in {self._package}")
        written = "".join(any_case.get(name) or table[name])
        for shared, text in table.get("shared", {}).items():
            written = written.replace(f"${{{shared}}}", "".join(text))
        compiled = re.compile(self._expand(written), re.IGNORECASE if name in any_case else 0)
        # From now on it is an attribute as any other.
        setattr(self, name, compiled)
        return compiled


@cache
def _read(package: str) -> Mapping[str, Any]:
    return tomllib.loads(files(package).joinpath("patterns.toml").read_text("utf-8"))
