"""The phrases by which the offline judge reads a note's layout (`phrases.toml`): rules, sections, and how it is cut."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_FRAGMENT = re.compile(r"@(\w+)@")
PHRASE_TABLES: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8")
)
_FRAGMENTS: Final[dict[str, str]] = {}


def expand(pattern: str | Sequence[str]) -> str:
    """Return a pattern as a regular expression, its parts joined and its fragments filled in."""
    return _FRAGMENT.sub(lambda name: _FRAGMENTS[name[1]], "".join(pattern))


for _name, _pattern in PHRASE_TABLES["fragments"].items():
    _FRAGMENTS[_name] = expand(_pattern)
#: The patterns by which a note is cut, by name.
LAYOUT: Final = {name: re.compile(expand(row), re.IGNORECASE) for name, row in PHRASE_TABLES["layout"].items()}
#: Headers by the kind of section that they open.
SECTION_NAMES: Final = tuple((row["kind"], expand(row["names"])) for row in PHRASE_TABLES["sections"])
