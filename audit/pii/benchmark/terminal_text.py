"""What `clinaudit pii bench` and `clinaudit pii score` print. Computes nothing."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    BenchDomain,
    BenchEstimate,
    BenchResult,
    BenchSubset,
    BenchTask,
    PaperScore,
    PiiBench,
)
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

#: Columns.
_BENCH_WIDTH: Final = 132
_SCORE_WIDTH: Final = 100
_NONE: Final = "–"
_FROM_PAPER: Final = "from the paper"
#: The paper's rows that stand beside: its people, its best and its weakest models, and the same baseline.
PAPER_ROWS: Final = ("25 students", "GPT-4o", "BiLSTM-CRF", "Qwen 2.5 3B", "Qwen 2.5 0.5B")


def _titled(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _printed(parts: Iterable[Table | str], width: int) -> str:
    """Return tables and lines as text. Not printed by rich, which ends with a status of its own where a pipe closes."""
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=False, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def bench_text(bench: PiiBench) -> str:
    """Return the table, then what must be known beside it."""
    parts: list[Table | str] = [
        _domain_table(bench, domain) for domain in dict.fromkeys(result.domain for result in bench.results)
    ]
    parts += [harmless_text(line) for line in (bench.conclusion, *bench.warnings) if line]
    return _printed(parts, _BENCH_WIDTH).rstrip("\n")


def paper_value(
    scores: Sequence[PaperScore], model: str, task: BenchTask, subset: BenchSubset, *, metric: str = "strict_f1"
) -> float | None:
    """Return a figure of the paper: of a model asked in several ways the best, oracles left out; None without one."""
    # Table 4 is of single and multi together.
    subsets = {subset} | ({"all"} if task == "masking" and subset in ("single", "multi") else set())
    found = [
        score.value
        for score in scores
        if (score.model, score.task, score.metric) == (model, task, metric)
        and score.subset in subsets
        and score.strategy != "with-choice"
    ]
    return max(found, default=None)


def _domain_table(bench: PiiBench, domain: BenchDomain) -> Table:
    table = _titled(f"{domain.capitalize()} samples: F1, means over samples with 95% intervals")
    table.add_column("system", overflow="fold", min_width=29)
    for heading in ("1 detection,\nstrict", "1 detection,\nentities", "2 query-\nrelated", "3 masking"):
        table.add_column(heading, justify="right", no_wrap=False, min_width=17)
    for heading in ("needed,\nmasked", "unneeded,\nleft"):
        table.add_column(heading, justify="right", min_width=8)
    for subset in BENCH_SUBSETS:
        rows = list(_rows(bench, domain, subset))
        if rows:
            samples = next(row.samples for row in bench.statistics if (row.domain, row.subset) == (domain, subset))
            table.add_row(f"{subset.upper()} ({counted(samples, 'sample')})")
        for place, row in enumerate(rows):
            table.add_row(*row, end_section=place == len(rows) - 1)
    return table


def _rows(bench: PiiBench, domain: BenchDomain, subset: BenchSubset) -> Iterator[tuple[str, ...]]:
    results: dict[str, dict[BenchTask, BenchResult]] = {}
    for result in bench.results:
        if (result.domain, result.subset) == (domain, subset):
            results.setdefault(result.system, {})[result.task] = result
    for system in bench.systems:
        if system.id not in results:
            continue
        detection, needed, masking = (results[system.id][task] for task in BENCH_TASKS)
        yield (
            harmless_text(system.name) + (" (oracle)" if system.kind == "oracle" else ""),
            _figure(detection.metrics["strict_f1"].f1),
            _figure(detection.metrics["ent_f1"].f1),
            _figure(needed.metrics["strict_f1"].f1),
            _figure(masking.metrics["strict_f1"].f1),
            _percent(masking.over_masking),
            _percent(masking.leak),
        )
    if not results or domain != "general":
        return
    for model in PAPER_ROWS:
        values = [
            paper_value(bench.paper, model, "detection", subset),
            paper_value(bench.paper, model, "detection", subset, metric="ent_f1"),
            paper_value(bench.paper, model, "query_related", subset),
            paper_value(bench.paper, model, "masking", subset),
        ]
        if subset != "all" and any(value is not None for value in values):
            shown = (_NONE if value is None else f"{value:.3f}" for value in values)
            yield f"{model} ({_FROM_PAPER})", *shown, _NONE, _NONE


def _figure(estimate: BenchEstimate) -> str:
    if estimate.value is None:
        return _NONE
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} ({estimate.low:.2f}–{estimate.high:.2f})"


def _percent(estimate: BenchEstimate | None) -> str:
    return _NONE if estimate is None or estimate.value is None else f"{estimate.value:.0%}"


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


def score_text(document: dict[str, Any]) -> str:
    """Return the tables of what `describe_scores` returned, in at most 100 columns."""
    tables = [*(_score_table(task, document["systems"]) for task in _TASKS), _difference_table(document)]
    head = f"{counted(document['sample_count'], 'sample')}; means over samples, 95% intervals\n"
    return _printed([head, *(table for table in tables if table.row_count)], _SCORE_WIDTH).strip("\n")


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
            # No row, or a row without an answer that could be read.
            f"{scores['answers']['unparsed'] + scores['answers']['missing']:,}",
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
            "< 0.001" if row["p_value_adjusted"] < 0.001 else f"{row['p_value_adjusted']:.3f}",
        )
    return table


def _table(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = _titled(title)
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
