"""What `clinaudit pii bench` and `clinaudit pii score` print: the tables of the page, and of the scores."""

import io
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Drawn

from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, BENCH_TASKS, PiiBench
from clinaudit.reports.tables.pii_bench import scores_table
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted
from clinaudit.reports.wording.pii_bench import headline, measured_domains, weakest_sentence

#: Columns.
_BENCH_WIDTH: Final = 132
_SCORE_WIDTH: Final = 100


def bench_text(bench: PiiBench) -> str:
    """Return the scores by subset, then what must be known beside them."""
    tables = [scores_table(bench, domain, subset) for domain in measured_domains(bench) for subset in BENCH_SUBSETS]
    lines = (headline(bench), weakest_sentence(bench), *bench.warnings)
    return _printed([*map(_shorten, tables), *(line for line in lines if line)], _BENCH_WIDTH)


def _shorten(table: Table) -> Table:
    """Return a table whose intervals take less room: "0.67 (0.60–0.74)"."""
    rows = (tuple(cell.replace(" to ", "–") for cell in row[1:]) for row in table.rows)
    return replace(table, rows=tuple((first[0], *row) for first, row in zip(table.rows, rows, strict=True)))


def score_text(document: dict[str, Any]) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    head = f"{counted(document['sample_count'], 'sample')}; means over samples, 95% intervals"
    tables = [_score_table(task, document["systems"]) for task in BENCH_TASKS]
    return _printed([head, *tables, _difference_table(document)], _SCORE_WIDTH)


_TITLES: Final = {
    "detection": "Detection: which texts, of which type, of which subject",
    "query_related": "Query-related: which texts the question needs",
    "masking": "Masking: which texts the question does not need",
}


def _score_table(task: str, systems: dict[str, Any]) -> Table:
    is_detection, is_masking = task == "detection", task == "masking"
    heads: tuple[str, ...] = ("system", "strict F1" if is_detection else "F1", "interval", "precision", "recall")
    heads += ("entity F1",) if is_detection else ()
    heads += ("Rouge-L F", *(("needed, masked", "unneeded, left") if is_masking else ()), "no answer")
    rows = []
    for system, tasks in systems.items():
        if (scores := tasks[task]) is None:
            continue
        strict, (low, high) = scores["strict_f1"], scores["intervals"]["strict_f1"]["f1"]
        numbers = [strict["precision"], strict["recall"], *([scores["ent_f1"]["f1"]] if is_detection else [])]
        shares = [scores[name]["value"] for name in ("over_masking", "leak")] if is_masking else []
        rows.append(
            (
                system,
                f"{strict['f1']:.3f}",
                f"{low:.3f} to {high:.3f}",
                *(f"{number:.3f}" for number in (*numbers, scores["rouge_l_f"]["f1"])),
                *("–" if share is None else f"{share:.0%}" for share in shares),
                # No row, or a row without an answer that could be read.
                f"{scores['answers']['unparsed'] + scores['answers']['missing']:,}",
            )
        )
    return Table(_TITLES[task], heads, tuple(rows))


def _difference_table(document: dict[str, Any]) -> Table:
    return Table.of(
        "Strict F1 of the first less that of the second, on the same samples; p: McNemar's test of who is exactly "
        "right, adjusted over the pairs of a task (Holm)",
        document["differences"],
        {
            "first": lambda row: row["first"],
            "second": lambda row: row["second"],
            "task": lambda row: row["task"].replace("_", "-"),
            "difference": lambda row: f"{row['strict_f1']:+.3f}",
            "interval": lambda row: "{:+.3f} to {:+.3f}".format(*row["interval"]),
            "only first exact": lambda row: str(row["only_first_exact"]),
            "only second exact": lambda row: str(row["only_second_exact"]),
            "p": lambda row: "< 0.001" if row["p_value_adjusted"] < 0.001 else f"{row['p_value_adjusted']:.3f}",
        },
    )


def _printed(parts: Iterable[Table | str], width: int) -> str:
    """Return tables and lines as text. Not printed by rich, which ends with a status of its own where a pipe closes."""
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=False, highlight=False, markup=False, emoji=False)
    for part in parts:
        if isinstance(part, str):
            console.print(harmless_text(part))
        elif part.rows:
            console.print(_drawn(part))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")


def _drawn(table: Table) -> Drawn:
    drawn = Drawn(title=table.caption, title_justify="left", title_style="", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, heading in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        # A long name is folded, never cut: names may differ in their ends alone. Numbers are not folded.
        is_name = place == 0 or heading == "second"
        widest = None if is_name else max(map(len, [*heading.split(), *cells]))
        drawn.add_column(heading, justify="left" if is_name else "right", overflow="fold", width=widest)
    for row in table.rows:
        drawn.add_row(*map(harmless_text, row))
    return drawn
