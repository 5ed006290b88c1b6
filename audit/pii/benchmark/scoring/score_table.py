"""What `clinaudit pii score` prints: a table a task, and one of the systems' differences. Computes nothing."""

import io
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

#: Columns.
_WIDTH: Final = 100
_TASKS: Final = {"detection": "detection", "query_related": "query-related", "masking": "masking"}
_TITLES: Final = {
    "detection": "Detection: which texts, of which type, of which subject",
    "query_related": "Query-related: which texts the question needs",
    "masking": "Masking: which texts the question does not need",
}
_COLUMNS: Final = {
    "detection": ("strict F1", "interval", "precision", "recall", "entity F1", "Rouge-L F", "no answer"),
    "query_related": ("F1", "interval", "precision", "recall", "Rouge-L F", "no answer"),
    "masking": ("F1", "interval", "precision", "recall", "Rouge-L F", "needed, masked", "unneeded, left", "no answer"),
}
_NONE: Final = "–"


def score_text(document: dict[str, Any]) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    tables = [_score_table(task, document["systems"]) for task in _TASKS]
    if document["differences"]:
        tables.append(_difference_table(document))
    if "real" in document:
        tables.append(_real_table(document))
    # Not printed by rich: it would end with a status of its own where the reader has enough.
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, force_terminal=False, highlight=False, markup=False, emoji=False)
    console.print(f"{counted(document['sample_count'], 'sample')}; means over samples, 95% intervals\n")
    for table in tables:
        if table.row_count:
            console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([*lines, *_real_lines(document)]).strip("\n")


def _score_table(task: str, systems: dict[str, Any]) -> Table:
    is_detection = task == "detection"
    table = _table(_TITLES[task], ("system",), _COLUMNS[task])
    for system, tasks in systems.items():
        scores = tasks[task]
        if scores is None:
            continue
        strict = scores["strict_f1"]
        table.add_row(
            harmless_text(system),
            f"{strict['f1']:.3f}",
            _interval(scores["intervals"]["strict_f1"]["f1"]),
            f"{strict['precision']:.3f}",
            f"{strict['recall']:.3f}",
            *((f"{scores['ent_f1']['f1']:.3f}",) if is_detection else ()),
            f"{scores['rouge_l_f']['f1']:.3f}",
            *((_share(scores["over_masking"]), _share(scores["leak"])) if task == "masking" else ()),
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
            str(row["only_first_exact"]),
            str(row["only_second_exact"]),
            _p_value(row["p_value_adjusted"]),
        )
    return table


def _real_table(document: dict[str, Any]) -> Table:
    real = document["real"]
    table = _table(
        f"Beside {counted(real['sample_count'], 'real text')}: F1 (of detection strict); PCS is 1 for equal ones",
        ("task", "system"),
        ("samples", "real texts", "interval", "PCS"),
    )
    for task, compared in real["consistency"].items():
        for system, performance in compared["performance"].items():
            there = real["systems"][system][task]
            table.add_row(
                _TASKS[task],
                harmless_text(system),
                f"{document['systems'][system][task]['strict_f1']['f1']:.3f}",
                f"{there['strict_f1']['f1']:.3f}",
                _interval(there["intervals"]["strict_f1"]["f1"]),
                f"{performance['strict_f1']:.3f}",
            )
    return table


def _real_lines(document: dict[str, Any]) -> list[str]:
    """Return whether systems stand in one order on samples and real texts, and who was scored on one of them alone."""
    if "real" not in document:
        return []
    real = document["real"]
    lines = []
    for task, compared in real["consistency"].items():
        ranking = compared["ranking"]["strict_f1"]
        said = ranking["reason"] if ranking["rho"] is None else f"Spearman's rho {ranking['rho']:.3f}"
        lines.append(f"{_TASKS[task]}, order of {counted(ranking['systems'], 'system')}: {said}")
    alone = len(real["only_on_samples"]) + len(real["only_on_real"])
    return [*lines, *([f"{counted(alone, 'system')} scored on one of the two alone: not compared"] if alone else [])]


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
    return f"{low:{sign}.3f} to {high:{sign}.3f}"


def _share(share: dict[str, Any]) -> str:
    return _NONE if share["value"] is None else f"{share['value']:.0%}"


def _lacking(answers: dict[str, int]) -> str:
    """Return how many samples had no answer: no row, or a row without one that could be read."""
    lacking = answers["unparsed"] + answers["missing"]
    return f"{lacking:,}"


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
