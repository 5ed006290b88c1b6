"""The problems of an input, collected so that all of them are reported at once (docs/corpus-format.md).

Owns the place of a problem (file, row, column) and its wording in a message. A problem is described in fixed words: it
never holds the content of a cell, which may be note text or a name.
"""

from clinaudit.errors import BadInputError


class Problems:
    """Collects problems; at most one for a cell, the first found."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str], str] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, file: str, what: str, *, row: int = 0, column: str = "") -> None:
        """Add the problem `what` of `file`; rows count from 1 without the header, and 0 is the file as a whole."""
        self._lines.setdefault((file, row, column), what)

    def overrule(self, others: "Problems") -> None:
        """Add the problems of `others`; they replace those of the same cells."""
        self._lines.update(others._lines)

    def listed(self) -> tuple[str, ...]:
        """Return one line for each problem, by file and row: `notes.csv, row 3, column text: is blank`."""
        lines = []
        for (file, row, column), what in sorted(self._lines.items()):
            place = [file] + ([f"row {row}"] if row else []) + ([f"column {column}"] if column else [])
            lines.append(f"{', '.join(place)}: {what}")
        return tuple(lines)

    def raise_any(self, what: str) -> None:
        """Raise one `BadInputError` that lists all problems, if there are any; `what` names the input."""
        if not self._lines:
            return
        count = len(self._lines)
        noun = "problem" if count == 1 else "problems"
        raise BadInputError(f"{count} {noun} in {what}; nothing was run: correct and try again", self.listed())
