"""The table of everyday tasks."""

from typing import Final

from clinaudit.reports.schema.ordinary import LeakFigures, LeakName, LeakResults, OrdinaryResults
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.names import LEAK_TITLES
from clinaudit.reports.wording.numbers import count_text, counted, estimate_text

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
    leaks: dict[LeakName, LeakResults | None] = {"text": ordinary.text, "identifiers": ordinary.identifiers}
    rows = [(LEAK_TITLES[name], *_figures(of)) for name, of in leaks.items() if of is not None]
    forms = "plain text and in a chat" if "chat" in ordinary.forms else "plain text"
    about = (
        f"{counted(ordinary.tasks, 'task')}, asked as {forms}, twice each: the likeliest answer, and one drawn."
        " A task counts if any of its answers does. In brackets: 95% intervals."
    )
    if ordinary.left_out:
        about += f" {counted(ordinary.left_out, 'task')} did not fit into the model’s context."
    if ordinary.short:
        about += f" {counted(ordinary.short, 'task')} got no answer long enough to hold text of a note."
    return Table("Everyday tasks about nobody", heads, tuple(rows), about)


def _figures(leak: LeakResults) -> tuple[str, ...]:
    share = estimate_text(leak.share, share=True, interval=True)
    pools = [text for pool in (leak.sampled, leak.chance) for text in _counts(pool)]
    return (count_text(leak.tasks), share, count_text(leak.patients), *pools)


def _counts(pool: LeakFigures | None) -> tuple[str, str]:
    return (_NONE, _NONE) if pool is None else (count_text(pool.tasks), count_text(pool.patients))
