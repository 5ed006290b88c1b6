"""The sheet by which a person checks the panel, blind to it; and how the judges compare with the person (AMNESIA, F.3).

Owns the sheet's columns and the confusion matrices. The sheet shows a title and its category, in a drawn order, and no
verdict. It is PHI. Knows nothing of how a judge is asked.
"""

import csv
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from clinaudit.audit.run.durable_files import write_atomically
from clinaudit.audit.statistics.agreement import cohen_kappa
from clinaudit.priors.corpus.files import find_given_file
from clinaudit.priors.corpus.header import Header
from clinaudit.priors.corpus.records import Problems, iter_records

SHEET_COLUMNS: Final = ("item_id", "title", "category", "supported")
_ROLE: Final = "the sheet"
_SUPPORTED, _UNSUPPORTED = "supported", "unsupported"
_ANSWERS: Final = {"yes": True, "no": False}
#: A spreadsheet would take a cell that begins so for a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A title that the panel judges."""

    item_id: str
    title: str
    #: The category's name.
    category: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """A judge, or the panel, against the person (Table 11)."""

    #: Person and judge both say supported.
    both_supported: int
    #: The person says so, the judge does not.
    human_only: int
    #: The judge says so, the person does not.
    judge_only: int
    neither: int
    #: Verdicts that are neither, such as ambiguous ones; in no cell.
    left_out: int

    @property
    def items(self) -> int:
        """Items in the matrix."""
        return self.both_supported + self.human_only + self.judge_only + self.neither

    @property
    def agreement(self) -> float | None:
        """Share of the items on which person and judge agree; None without items."""
        return (self.both_supported + self.neither) / self.items if self.items else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where both give one verdict throughout."""
        table = [[self.both_supported, self.human_only], [self.judge_only, self.neither]]
        kappa = float(cohen_kappa(np.array(table, dtype=np.float64)))
        return None if np.isnan(kappa) else kappa


def write_sheet(path: Path, rows: Sequence[SheetRow], *, seed: int) -> None:
    """Write the sheet to be filled in: `supported` is empty, for yes or no."""
    drawn = sorted(rows, key=lambda row: row.item_id)
    random.Random(f"clinaudit unlearning sheet {seed}").shuffle(drawn)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SHEET_COLUMNS)
    writer.writerows((row.item_id, _harmless(row.title), row.category, "") for row in drawn)
    write_atomically(path, text.getvalue())


def read_sheet(path: Path, items: Sequence[str]) -> dict[str, bool]:
    """Return by item whether the person says that the title supports the category; empty cells are left out.

    Raises `BadInputError` listing all problems: items that the sheet did not have, answers that are neither yes nor no,
    and an item that stands twice.
    """
    file = find_given_file(path, _ROLE)
    known, problems, first_rows = frozenset(items), Problems(), dict[str, int]()
    found: dict[str, bool] = {}
    for row, record in iter_records(file, header=Header(SHEET_COLUMNS), problems=problems):
        item, answer = (str(record.get(column) or "").strip() for column in ("item_id", "supported"))
        if item not in known:
            problems.add(file.name, "is no item of this panel", row=row, column="item_id")
        elif first_rows.setdefault(item, row) != row:
            problems.add(file.name, f"stood in row {first_rows[item]} already", row=row, column="item_id")
        elif answer.lower() in _ANSWERS:
            found[item] = _ANSWERS[answer.lower()]
        elif answer:
            problems.add(file.name, "is neither yes nor no", row=row, column="supported")
    if not found and not len(problems):
        problems.add(file.name, "answers nothing", column="supported")
    problems.raise_any(_ROLE)
    return found


def confusion(human: Mapping[str, bool], verdicts: Mapping[str, str]) -> Confusion:
    """Return the matrix of one judge's verdicts, or the panel's, over the items that the person answered."""
    cells = [(human[item], verdict) for item, verdict in verdicts.items() if item in human]

    def count(says: bool, verdict: str) -> int:
        return cells.count((says, verdict))

    both, human_only = count(True, _SUPPORTED), count(True, _UNSUPPORTED)
    judge_only, neither = count(False, _SUPPORTED), count(False, _UNSUPPORTED)
    left_out = len(cells) - both - human_only - judge_only - neither
    return Confusion(both, human_only, judge_only, neither, left_out)


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
