"""The phrases by which the offline judge reads (`phrases.toml`): fragments of patterns, rules, sections."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_FRAGMENT = re.compile(r"@(\w+)@")
_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
_FRAGMENTS: Final[dict[str, str]] = {}


def expand(pattern: str | Sequence[str]) -> str:
    """Return a pattern as a regular expression, its parts joined and its fragments filled in."""
    return _FRAGMENT.sub(lambda name: _FRAGMENTS[name[1]], "".join(pattern))


for _name, _pattern in _TABLES["fragments"].items():
    _FRAGMENTS[_name] = expand(_pattern)
#: Names of a relative or a partner.
KIN: Final = _FRAGMENTS["KIN"]
#: A family history that says that there is none, up to the sign that ends its words.
NO_FAMILY_HISTORY: Final = _FRAGMENTS["NO_FAMILY_HISTORY"]
#: Headers by the kind of section that they open.
SECTION_NAMES: Final = tuple((row["kind"], expand(row["names"])) for row in _TABLES["sections"])
#: The rows of the rules, in the order in which they decide.
RULE_ROWS: Final[list[dict[str, Any]]] = _TABLES["rules"]
