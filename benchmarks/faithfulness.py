"""How well each metric of unlearning tells models that saw the patients from models that did not: its faithfulness.

    clinaudit unlearn evaluate "with 0=A" "with 1=B" "without 0=C" "without 1=D" --bench bench/ --out result/
    python benchmarks/faithfulness.py result/ random:10

Models `with` were trained on everybody, each with a seed of its own; models `without` on everybody but the patients of
the split. A metric's faithfulness is the probability that a model of the
first kind scores above one of the second, ties counting half: 1 is best, 0.5 is chance (the meta-evaluation of
OpenUnlearning, Dorna et al. 2025, arXiv 2506.12618).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from clinaudit.audit.statistics.auroc import FEWEST, auroc_of_values
from clinaudit.audit.unlearning.evaluation.evaluate import FIGURES_FILE
from clinaudit.reports.schema.record import Estimate
from clinaudit.reports.schema.unlearning import FIGURES, KINDS

METRICS = ("ls", "ls_echo_free", "rouge_l", "em", "cs", "es", "te", "afe")
TOO_FEW_MODELS = f"fewer than {FEWEST} models of one of the kinds have it"


def measure_faithfulness(saw: Sequence[float], never: Sequence[float], metric: str) -> Estimate:
    """Return the AUROC of a metric, from its value of each model of either kind; AFE is high where nothing is known."""
    sign = -1 if metric == "afe" else 1
    sides = ([sign * value for value in values] for values in (saw, never))
    return auroc_of_values(*sides, fewest=FEWEST, reason=TOO_FEW_MODELS).auroc


def table_lines(figures: pl.DataFrame, split: str) -> list[str]:
    """Return a table of metrics by kind of question, from the figures of `unlearn evaluate`; models count."""
    own = figures.filter(pl.col("value").is_not_null(), group="forget", use="train", split=split)
    lines = [f"| metric | {' | '.join(KINDS)} |", "| --- |" + " ---: |" * len(KINDS)]
    for metric in METRICS:
        cells = []
        for kind in KINDS:
            rows = own.filter(metric=metric, kind=kind)
            saw, never = (rows.filter(pl.col("model").str.starts_with(f"{of} "))["value"] for of in ("with", "without"))
            found = measure_faithfulness(saw.to_list(), never.to_list(), metric)
            interval = f" ({found.low:.2f} to {found.high:.2f})" if None not in (found.low, found.high) else ""
            cells.append("–" if found.value is None else f"{found.value:.2f}{interval}, {len(saw)} + {len(never)}")
        lines.append(f"| {metric} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("split", help="such as random:10")
    given = parser.parse_args()
    print("\n".join(table_lines(pl.read_csv(given.result / FIGURES_FILE, schema=FIGURES), given.split)))


if __name__ == "__main__":
    main()
