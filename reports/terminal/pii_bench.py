"""The benchmark of filters on a terminal: the scores by subset, differences, and what must be known beside them."""

from collections.abc import Mapping
from typing import Final

from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, PiiBench
from clinaudit.reports.tables.pii_bench import (
    differences_table,
    headline,
    measured_domains,
    scores_table,
    weakest_sentence,
)
from clinaudit.reports.tables.table import Table
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.escaped_text import harmless_text

#: Of the columns of a page those that a terminal has room for, by place, and what they are called in short.
_SCORES: Final = {0: "system", 1: "finds, F1", 3: "needed, F1", 5: "takes needed", 6: "leaves unneeded"}
_DIFFERENCES: Final = {0: "systems", 1: "task", 2: "texts", 4: "difference of F1", 5: "right alone", 6: "p, adjusted"}


def bench_text(bench: PiiBench) -> str:
    """Return the scores of each subset, the differences, then what must be known beside them."""
    scores = (scores_table(bench, domain, subset) for domain in measured_domains(bench) for subset in BENCH_SUBSETS)
    tables = [_text(table, _SCORES) for table in scores if table.rows]
    tables += [_text(differences_table(bench), _DIFFERENCES)] if bench.differences else []
    lines = (headline(bench), weakest_sentence(bench), *bench.warnings)
    return "\n\n".join([*tables, *(wrap(line, indent="") for line in lines if line)])


def _text(table: Table, columns: Mapping[int, str]) -> str:
    """Return some columns of a table; no name is cut: those of a model's strategies differ in their ends alone."""
    rows = [list(columns.values()), *([harmless_text(row[place]) for place in columns] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([table.caption, lines[0], "-" * sum(widths, 2 * len(widths) - 2), *lines[1:]])
