"""What `clinaudit pii bench` prints: all systems on all tasks, the paper's rows beside. Computes nothing."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

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
    SiteBench,
)
from clinaudit.reports.wording.escaped_text import harmless_text
from clinaudit.reports.wording.numbers import counted

#: Columns.
_WIDTH: Final = 132
_NONE: Final = "–"
_FROM_PAPER: Final = "from the paper"
#: The paper's rows that stand beside: its people, its best and its weakest models, and the same baseline.
PAPER_ROWS: Final = ("25 students", "GPT-4o", "BiLSTM-CRF", "Qwen 2.5 3B", "Qwen 2.5 0.5B")


def bench_text(bench: PiiBench) -> str:
    """Return the table, then what must be known beside it."""
    # Not printed by rich: it would end with a status of its own where the reader has enough.
    text = io.StringIO()
    console = Console(file=text, width=_WIDTH, force_terminal=False, highlight=False, markup=False, emoji=False)
    for domain in dict.fromkeys(result.domain for result in bench.results):
        console.print(_table(bench, domain))
    if bench.site is not None:
        console.print(_site_table(bench.site, {system.id: system.name for system in bench.systems}))
        for line in bench.site.limits:
            console.print(harmless_text(line))
    for line in (bench.conclusion, *bench.warnings):
        if line:
            console.print(harmless_text(line))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).rstrip("\n")


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


def _table(bench: PiiBench, domain: BenchDomain) -> Table:
    table = Table(
        title=f"{domain.capitalize()} samples: F1, means over samples with 95% intervals",
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("system", overflow="fold", min_width=29)
    for heading in ("1 detection,\nstrict", "1 detection,\nentities", "2 query-\nrelated", "3 masking"):
        table.add_column(heading, justify="right", no_wrap=False, min_width=17)
    for heading in ("needed,\nmasked", "unneeded,\nleft"):
        table.add_column(heading, justify="right", min_width=8)
    for subset in BENCH_SUBSETS:
        rows = list(_rows(bench, domain, subset))
        if rows:
            table.add_row(f"{subset.upper()} ({counted(_samples(bench, domain, subset), 'sample')})")
        for place, row in enumerate(rows):
            table.add_row(*row, end_section=place == len(rows) - 1)
    return table


def _site_table(site: SiteBench, names: Mapping[str, str]) -> Table:
    table = Table(
        title="Your own notes: patients of whom a known identifier is missed (counts as classes, shares as ranges)",
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("system", "identifier", "patients", "missed"):
        table.add_column(heading, justify="right" if heading in ("patients", "missed") else "left", overflow="fold")
    for row in site.misses:
        missed = row.missed
        shown = missed.reason if missed.low is None or missed.high is None else f"{missed.low:.0%}–{missed.high:.0%}"
        identifier = "all" if row.identifier is None else f"164.514(b)(2)(i)({row.identifier})"
        patients = f"{row.patients.low}–{row.patients.high}" if row.patients.high else "0"
        table.add_row(harmless_text(names.get(row.system, row.system)), identifier, patients, shown)
    return table


def _samples(bench: PiiBench, domain: BenchDomain, subset: BenchSubset) -> int:
    return next(row.samples for row in bench.statistics if (row.domain, row.subset) == (domain, subset))


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
