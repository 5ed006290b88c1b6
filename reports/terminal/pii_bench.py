"""The benchmark of filters on a terminal: the scores by subset, and what must be known beside them."""

from typing import Final

from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, PiiBench
from clinaudit.reports.tables.pii_bench import headline, measured_domains, scores_table, weakest_sentence
from clinaudit.reports.tables.table import Table
from clinaudit.reports.terminal.layout import wrap
from clinaudit.reports.wording.escaped_text import harmless_text

#: Of the columns of a page those that a terminal has room for, by place, and what they are called in short.
_SCORES: Final = {0: "system", 1: "finds, F1", 3: "needed, F1", 5: "takes needed", 6: "leaves unneeded"}


def bench_text(bench: PiiBench) -> str:
    """Return the scores of each subset, then what must be known beside them."""
    scores = (scores_table(bench, domain, subset) for domain in measured_domains(bench) for subset in BENCH_SUBSETS)
    tables = [_text(table) for table in scores if table.rows]
    lines = (headline(bench), weakest_sentence(bench), *bench.warnings)
    return "\n\n".join([*tables, *(wrap(line, indent="") for line in lines if line)])


def _text(table: Table) -> str:
    """Return some columns of a table; no name is cut: those of a model's strategies differ in their ends alone."""
    rows = [list(_SCORES.values()), *([harmless_text(row[place]) for place in _SCORES] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([table.caption, lines[0], "-" * sum(widths, 2 * len(widths) - 2), *lines[1:]])
