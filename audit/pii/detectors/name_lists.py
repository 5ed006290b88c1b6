"""The word lists of philter-lite (BSD-3-Clause; Norgeot et al. 2020): words that are no names, first and last names.

A word can stand in several: "mary" and "white" are listed as no names as well. Only the data file of the package is
read: its code is never imported.
"""

import json
import re
import unicodedata
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from clinaudit.errors import BadInputError

_PACKAGE: Final = "philter_lite"
_PARTS: Final = re.compile(r"[-'’.]+")
#: Of two letters there are too many abbreviations.
_FEWEST_LETTERS: Final = 3


def is_plain_word(word: str) -> bool:
    """Whether a word is listed as no name; so are some that are names too: "surgeon", "metformin", "mary"."""
    return _fold(word) in _lists()["nonames"]


def is_first_name(word: str) -> bool:
    """Whether a word, or each part of a hyphenated one, is listed as a first name."""
    return _is_listed(word, ("firstnames",))


def is_last_name(word: str) -> bool:
    """Whether a word, or each part of a hyphenated one, is listed as a last name."""
    return _is_listed(word, ("lastnames",))


def is_sure_name(word: str) -> bool:
    """Whether a word is listed as a name and not as a word: "Keturah", "Villanueva-Cruz", and not "Mary"."""
    return _is_listed(word, ("firstnames", "lastnames")) and not is_plain_word(word)


@lru_cache(maxsize=100_000)
def _is_listed(word: str, lists: tuple[str, ...]) -> bool:
    parts = [_fold(part) for part in _PARTS.split(word) if part]
    whole = any(_fold(word) in _lists()[name] for name in lists)
    return len(_fold(word)) >= _FEWEST_LETTERS and (
        whole or (bool(parts) and all(any(part in _lists()[name] for name in lists) for part in parts))
    )


def _fold(word: str) -> str:
    """Return the letters of a word, small and without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word.lower()) if letter.isalpha())


@cache
def _lists() -> dict[str, frozenset[str]]:
    """Return the lists by name; a line of the file is one of them: reading all of it as TOML takes seconds."""
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise BadInputError(
            "the word lists of philter-lite are not installed: pip install --no-deps philter-lite==0.6.0"
        )
    lists = {}
    with Path(found.origin).with_name("filters").joinpath("set.toml").open(encoding="utf-8") as file:
        for line in file:
            name, _, written = line.partition(" = ")
            lists[name] = frozenset(json.loads(written.rstrip().removesuffix("]").removesuffix(",") + "]"))
    return lists
