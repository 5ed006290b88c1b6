"""Plain text on a terminal: columns, wrapping, colour.

Owns when colour is wanted and what it looks like. A colour only repeats what a word says. Knows nothing of results.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from clinaudit.reports.schema.verdict import Status
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.escaped_text import harmless_text

WIDTH = 100


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text in columns, the first row underlined as headings."""
    # What is too wide is cut in the first column: numbers are never cut.
    lines = align_rows(rows, cut=(0,))
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def table_text(table: Table) -> str:
    """Return a table of a page as plain text: caption, columns, note."""
    parts = [table.caption, align_columns([table.columns, *table.rows]), wrap(table.note, indent="")]
    return "\n".join(part for part in parts if part)


def align_rows(rows: Sequence[Sequence[str]], *, cut: Sequence[int]) -> list[str]:
    """Return a line a row, in columns; where they are wider than `WIDTH`, the widest of the columns `cut` is cut."""
    cells = [[harmless_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widest = max(cut, key=lambda column: widths[column])
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    return [
        "  ".join(
            (cell if len(cell) <= width else f"{cell[: width - 1]}…").ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def wrap(text: str, *, indent: str, most_lines: int | None = None) -> str:
    """Return text in lines, those after the first indented; `most_lines`: what goes beyond is left out, with "…"."""
    return "\n".join(
        textwrap.wrap(
            harmless_text(text), width=WIDTH, subsequent_indent=indent, max_lines=most_lines, placeholder=" …"
        )
    )


_BOLD: Final[dict[Status, int]] = {"pass": 32, "fail": 31, "incomplete": 33, "inconclusive": 33}


def wants_colour(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Whether to write colour: never with NO_COLOR, else always with FORCE_COLOR, else on a terminal that knows it.

    Both variables count when they are not empty; FORCE_COLOR=0 forces nothing. `stream` is None where it is closed.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream is not None and stream.isatty() and environment.get("TERM") != "dumb"


def paint(word: str, status: Status, *, colour: bool) -> str:
    """Return a word in the bold colour of a status, or as it is."""
    return f"\x1b[1;{_BOLD[status]}m{word}\x1b[0m" if colour else word
