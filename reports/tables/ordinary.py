"""The table of ordinary use."""

from collections.abc import Iterator
from typing import Final

from clinaudit.reports.schema.ordinary import LeakFigures, LeakResults, OrdinaryResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import count_text, counted, estimate_text
from clinaudit.reports.wording.ordinary import ASKED_AS

_NONE: Final = "–"


def ordinary_table(ordinary: OrdinaryResults) -> Table:
    """Return what everyday tasks brought back, of whom, and what chance gives."""
    heads = (
        "What",
        "Tasks answered with it",
        "Share of tasks",
        "Patients trained on whose it is",
        "Tasks, in pools of equal size",
        "Patients",
        "Tasks, by chance: never seen",
        "Patients never seen",
    )
    rows = [("Text of one patient’s notes", *_figures(ordinary.text))]
    if ordinary.identifiers is not None:
        rows.append(("Verified identifiers", *_figures(ordinary.identifiers)))
    left_out = (
        f" {counted(ordinary.left_out, 'task')} did not fit into the model’s context." if ordinary.left_out else ""
    )
    about = (
        f"{counted(ordinary.tasks, 'task')}, asked as {ASKED_AS[max(0, len(ordinary.forms) - 1)]}, twice each: the likeliest"
        " answer, and one drawn. A task counts if any of its answers does. In brackets: 95% intervals."
    )
    return Table("Everyday tasks about nobody", heads, tuple(rows), about + left_out)


def _figures(leak: LeakResults) -> Iterator[str]:
    yield count_text(leak.tasks)
    yield estimate_text(leak.share, share=True, interval=True)
    yield count_text(leak.patients)
    for pool in (leak.sampled, leak.chance):
        yield from _counts(pool)


def _counts(pool: LeakFigures | None) -> tuple[str, str]:
    return (_NONE, _NONE) if pool is None else (count_text(pool.tasks), count_text(pool.patients))
