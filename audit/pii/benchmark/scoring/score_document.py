"""The document that `clinaudit pii score` writes (docs/pii.md), as a view of the items.

It holds the ids of samples and the names of systems, and no text.
"""

from typing import Any

import polars as pl

from clinaudit.audit.pii.benchmark.scoring.sample_means import compare_systems, mean_of_items
from clinaudit.audit.pii.benchmark.scoring.scores import ANSWERS, TaskScores
from clinaudit.reports.schema.pii_bench import BENCH_TASKS

Json = dict[str, Any]


def describe_scores(items: pl.DataFrame, *, samples: int, seed: int) -> Json:
    """Return the document of all scores: systems, differences between systems, subsets, and each sample.

    `items` are those of `score_predictions`; `seed` is that of the bootstrap.
    """
    document: Json = {
        "sample_count": samples,
        "seed": seed,
        "systems": _describe_systems(items, seed=seed),
        "differences": _describe_differences(items, seed=seed),
    }
    subsets = items["group"].unique(maintain_order=True)
    if len(subsets) > 1:
        document["subsets"] = {
            subset: {"systems": _describe_systems(items.filter(group=subset), seed=seed)} for subset in subsets
        }
    document["samples"] = _describe_samples(items)
    return document


def _describe_systems(items: pl.DataFrame, *, seed: int) -> Json:
    described: Json = {system: dict.fromkeys(BENCH_TASKS) for system in items["system"].unique(maintain_order=True)}
    for (system, task, metric), part in items.group_by("system", "task", "metric", maintain_order=True):
        found = described[system][task]
        if found is None:
            found = {name: {} for name in TaskScores._fields}
            found["intervals"] = {name: {} for name in TaskScores._fields}
            described[system][task] = found
        name, _, of_score = str(metric).partition(".")
        if metric in ANSWERS:
            found.setdefault("answers", {})[metric] = int(part["value"].sum())
            continue
        mean = mean_of_items(part, seed=seed)
        if of_score:
            found[name][of_score] = mean.value
            found["intervals"][name][of_score] = [mean.low, mean.high]
        else:
            found[metric] = {"value": mean.value, "interval": [mean.low, mean.high], "samples": mean.n}
    return described


def _describe_differences(items: pl.DataFrame, *, seed: int) -> list[Json]:
    """Return the difference of each pair of systems in each task."""
    return [
        {"task": task, "strict_f1": difference.value, "interval": [difference.low, difference.high], **compared}
        for task in BENCH_TASKS
        for difference, compared in compare_systems(items.filter(task=task), seed=seed)
    ]


def _describe_samples(items: pl.DataFrame) -> list[Json]:
    """Return one row a sample and system, by system: each task's scores, and what there was of an answer."""
    described: dict[tuple[str, str], Json] = {}
    for system, sample, task, metric, value, count in items.select(
        "system", "sample", "task", "metric", "value", "count"
    ).iter_rows():
        of_sample = described.setdefault((system, sample), {"sample": sample, "system": system})
        found = of_sample.setdefault(task, {})
        name, _, part = metric.partition(".")
        if part:
            found.setdefault(name, {})[part] = value
        elif metric in ANSWERS:
            found |= {"answer": metric} if value else {}
        elif metric != "exact":
            found[metric] = value if count else None
    return list(described.values())
