"""Where an entry of a TOML text stands: its line. Knows nothing of what entries mean.

`tomllib` tells no positions. A prefix of the lines that parses holds an entry if and only if the entry ends in it, so
the first such prefix ends where the entry does, and bisection finds it. The parser itself thus finds the line; no
second reading of TOML is needed. The search is done for wrong files only.
"""

import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

#: Keys of tables, and places in lists (from 0), from the root down.
EntryPath = Sequence[str | int]


class TomlLines:
    """The lines of one text that is valid TOML."""

    def __init__(self, text: str) -> None:
        # Not `splitlines`: TOML's lines end in nothing else.
        self._lines = text.replace("\r\n", "\n").split("\n")
        #: What a prefix of so many lines holds; None where it is not valid TOML.
        self._prefixes: dict[int, dict[str, Any] | None] = {}

    def line_of(self, path: EntryPath) -> int:
        """Return the line (from 1) of an entry, or of the nearest table around it where it is missing."""
        while path:
            line = self._line(path)
            if line is not None:
                return line
            path = path[:-1]
        return 1

    def first_line_of(self, paths: Sequence[EntryPath]) -> int | None:
        """Return the line of the first of these entries that is there, or None."""
        return next((line for path in paths if (line := self._line(path)) is not None), None)

    def _line(self, path: EntryPath) -> int | None:
        if _entry(self._first_valid(len(self._lines))[1], path) is None:
            return None
        # Smallest number of lines whose first valid prefix, of so many lines or more, holds the entry.
        count = (
            bisect_left(
                range(1, len(self._lines) + 1),
                True,
                key=lambda lines: _entry(self._first_valid(lines)[1], path) is not None,
            )
            + 1
        )
        end, document = self._first_valid(count)
        held = _entry(document, path)
        assert held is not None
        return self._within(count - 1, end, held[0])

    def _within(self, before: int, end: int, value: object) -> int:
        """Return the line of an entry that ends in line `end` and starts after line `before`."""
        if isinstance(value, str):
            # A text of a list over several lines: the line that writes it, where one does.
            for number, line in enumerate(self._lines[before:end], start=before + 1):
                written = f'"{value}"' in line or f"'{value}'" in line
                if written and not line.lstrip().startswith("#"):
                    return number
        return before + 1

    def _first_valid(self, least: int) -> tuple[int, dict[str, Any]]:
        """Return the shortest prefix of at least so many lines that is valid: its length and what it holds."""
        for count in range(least, len(self._lines) + 1):
            if count not in self._prefixes:
                try:
                    self._prefixes[count] = tomllib.loads("\n".join(self._lines[:count]))
                except tomllib.TOMLDecodeError:
                    self._prefixes[count] = None
            document = self._prefixes[count]
            if document is not None:
                return count, document
        return len(self._lines), {}


def _entry(document: object, path: EntryPath) -> tuple[object] | None:
    """Return the entry at `path` in a tuple, or None where there is none."""
    for key in path:
        in_table = isinstance(document, dict) and key in document
        in_list = isinstance(document, list) and isinstance(key, int) and key < len(document)
        if not (in_table or in_list):
            return None
        document = document[key]  # type: ignore[index]
    return (document,)
