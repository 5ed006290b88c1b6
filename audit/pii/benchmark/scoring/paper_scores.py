"""The paper's own figures (PII-Bench, Tables 2, 4 to 7, 12 to 14, 21, 23, 25 and 26), to stand beside what is measured.

Owns reading them. None of them was measured here.
"""

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from clinaudit.reports.schema.pii_bench import BenchMetric, PaperScore

#: Of a table by strategy: each model has a column of F1 and one of RougeL-F.
_BY_STRATEGY: Final[tuple[BenchMetric, ...]] = ("strict_f1", "rouge_l_f")


def paper_scores() -> list[PaperScore]:
    """Return every figure, table by table."""
    tables: list[dict[str, Any]] = tomllib.loads(
        files(__package__).joinpath("paper_scores.toml").read_text(encoding="utf-8")
    )["table"]
    return list(chain.from_iterable(map(_scores_of, tables)))


def _scores_of(table: Mapping[str, Any]) -> Iterator[PaperScore]:
    about = {"table": table["id"], "task": table["task"]}
    if "columns" in table:
        columns = [column.split("/") for column in table["columns"]]
        deviations = table.get("deviations", [None] * len(columns))
        for model, values in table["rows"].items():
            for (subset, metric), value, deviation in zip(columns, values, deviations, strict=True):
                yield PaperScore(**about, model=model, subset=subset, metric=metric, value=value, deviation=deviation)
        return
    columns = [(model, metric) for model in table["models"] for metric in _BY_STRATEGY]
    for strategy, values in table["strategies"].items():
        for (model, metric), value in zip(columns, values, strict=True):
            yield PaperScore(
                **about, model=model, subset=table["subset"], strategy=strategy, metric=metric, value=value
            )
