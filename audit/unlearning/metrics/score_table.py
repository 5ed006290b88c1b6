"""What `clinaudit unlearn score` prints: a table a model. Computes nothing."""

import io
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clinaudit.reports.wording.escaped_text import harmless_text

#: Columns.
_WIDTH: Final = 100
_COLUMNS: Final = {
    "LS": "ls",
    "echo-free": "ls_echo_free",
    "ROUGE-L": "rouge_l",
    "CS": "cs",
    "TE": "te",
    "DS": "ds",
    "MU": "mu_without_em",
    "AFE": "afe_without_em",
}
_NONE: Final = "–"


def score_text(document: dict[str, Any]) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    # Not printed by rich: it would end with a status of its own where the reader has enough.
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, force_terminal=False, highlight=False, markup=False, emoji=False)
    console.print(
        f"{document['question_count']:,} questions, split {document['split']}; means over answers, MU and AFE without "
        "exact memorization"
    )
    for model, scores in document["models"].items():
        console.print(_table(harmless_text(model), scores))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip("\n")


def _table(title: str, scores: dict[str, Any]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("questions", no_wrap=True)
    for heading in ("patients", *_COLUMNS):
        table.add_column(heading, justify="right", no_wrap=True)
    for role, kinds in scores["counts"].items():
        for kind, uses in kinds.items():
            for use, counts in uses.items():
                cells = [_cell(scores[metric][role][kind][use]) for metric in _COLUMNS.values()]
                table.add_row(f"{role.replace('_', ' ')}, {kind}, {use}", f"{counts['patients']:,}", *cells)
    return table


def _cell(described: dict[str, Any]) -> str:
    return _NONE if described["value"] is None else f"{described['value']:.3f}"
