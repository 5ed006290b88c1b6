"""The problems of an input, collected so that all of them are reported at once (docs/corpus-format.md).

Owns the place of a problem (file, row, column) and its wording in a message: one line for all cells of a column with
the same problem, so that a column in an unknown form does not hide the other problems. A problem is described in
fixed words: it never holds the content of a cell, which may be note text or a name.
"""

from collections.abc import Sequence

from clinaudit.errors import BadInputError

#: Rows named of those that share a problem.
_ROWS_NAMED = 5


class Problems:
    """Collects problems; at most one for a cell, the first found."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], str] = {}

    def __len__(self) -> int:
        """The number of cells (or files, or rows) with a problem."""
        return len(self._lines)

    def add(self, file: str, what: str, *, row: int = 0, column: str = "") -> None:
        """Add the problem `what` of `file`; rows count from 1 without the header, and 0 is the file as a whole."""
        self._lines.setdefault((file, row, column), what)

    def overrule(self, others: "Problems") -> None:
        """Add the problems of `others`; they replace those of the same cells."""
        self._lines.update(others._lines)

    def listed(self) -> tuple[str, ...]:
        """Return one line for each problem of a column, by file and first row, with the rows that have it.

        `notes.csv, row 3, column text: is blank`; `notes.csv, column text, in 31 rows (1, 2, 5, 6, 9, ...): is blank`.
        """
        rows: dict[tuple[str, str, str], list[int]] = {}
        for (file, row, column), what in sorted(self._lines.items()):
            rows.setdefault((file, column, what), []).append(row)
        in_order = sorted(rows.items(), key=lambda item: (item[0][0], item[1][0], item[0][1:]))
        return tuple(_line(*key, found) for key, found in in_order)

    def raise_any(self, what: str) -> None:
        """Raise one `BadInputError` that lists all problems, if there are any; `what` names the input."""
        if not self._lines:
            return
        lines = self.listed()
        noun = "problem" if len(lines) == 1 else "problems"
        raise BadInputError(f"{len(lines)} {noun} in {what}; nothing was run: correct and try again", lines)


def _line(file: str, column: str, what: str, rows: Sequence[int]) -> str:
    """Return the line of a problem that some rows of a column share; row 0 is the file or the column as a whole."""
    place = [file]
    if len(rows) == 1 and rows[0]:
        place.append(f"row {rows[0]}")
    if column:
        place.append(f"column {column}")
    if len(rows) > 1:
        first = ", ".join(map(str, rows[:_ROWS_NAMED])) + (", ..." if len(rows) > _ROWS_NAMED else "")
        place.append(f"in {len(rows):,} rows ({first})")
    return f"{', '.join(place)}: {what}"
