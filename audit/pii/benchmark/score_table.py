"""What `clinaudit pii score` prints: one table of systems and tasks, and one of their differences. Computes nothing."""

import io
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clinaudit.reports.wording.escaped_text import harmless_text

#: Columns.
_WIDTH: Final = 100
_TASKS: Final = {"detection": "detection", "query_related": "query-related", "masking": "masking"}
_NONE: Final = "–"


def score_text(document: dict[str, Any]) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    tables = [_score_table(document)]
    if document["differences"]:
        tables.append(_difference_table(document))
    # Not printed by rich: it would end with a status of its own where the reader has enough.
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, force_terminal=False, highlight=False, markup=False, emoji=False)
    for table in tables:
        console.print(table)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return "\n".join(lines).rstrip("\n")


def _score_table(document: dict[str, Any]) -> Table:
    table = _table(
        f"{document['sample_count']:,} samples; means over samples, and the 95% interval of strict F1",
        ("system", "task"),
        ("strict F1", "interval", "entity F1", "Rouge-L F", "needed, masked", "unneeded, left", "no answer"),
    )
    for system, tasks in document["systems"].items():
        for task, name in _TASKS.items():
            scores = tasks[task]
            if scores is None:
                continue
            table.add_row(
                harmless_text(system),
                name,
                f"{scores['strict_f1']['f1']:.3f}",
                _interval(scores["intervals"]["strict_f1"]["f1"]),
                f"{scores['ent_f1']['f1']:.3f}",
                f"{scores['rouge_l_f']['f1']:.3f}",
                *(_share(scores.get(error)) for error in ("over_masking", "leak")),
                _lacking(scores["answers"]),
            )
    return table


def _difference_table(document: dict[str, Any]) -> Table:
    table = _table(
        "Strict F1 of the first less that of the second, on the same samples; p: McNemar's test of who is exactly "
        "right, adjusted over the pairs of a task (Holm)",
        ("task", "first", "second"),
        ("difference", "interval", "only first exact", "only second exact", "p"),
    )
    for row in document["differences"]:
        table.add_row(
            _TASKS[row["task"]],
            harmless_text(row["first"]),
            harmless_text(row["second"]),
            f"{row['strict_f1']:+.3f}",
            _interval(row["interval"], sign="+"),
            str(row["exact_in_first_only"]),
            str(row["exact_in_second_only"]),
            _p_value(row["p_value_adjusted"]),
        )
    return table


def _table(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in words:
        # A long name is folded, never cut: names may differ in their ends alone.
        table.add_column(heading, overflow="fold", no_wrap=heading == "task")
    for heading in numbers:
        widest = max(map(len, heading.split()))
        table.add_column(heading, justify="right", no_wrap=heading == "interval", min_width=widest)
    return table


def _interval(interval: list[float], *, sign: str = "") -> str:
    low, high = interval
    return f"{low:{sign}.2f} to {high:{sign}.2f}"


def _share(share: dict[str, Any] | None) -> str:
    return _NONE if share is None or share["value"] is None else f"{share['value']:.0%}"


def _lacking(answers: dict[str, int]) -> str:
    """Return how many samples had no answer: no row, or a row without one that could be read."""
    lacking = answers["unparsed"] + answers["missing"]
    return f"{lacking:,}"


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
