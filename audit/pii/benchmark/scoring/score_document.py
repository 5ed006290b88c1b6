"""The document that `clinaudit pii score` writes (docs/pii.md).

It holds the ids of samples and the names of systems, and no text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, get_args

from clinaudit.audit.pii.benchmark.scoring.matching import Scores
from clinaudit.audit.pii.benchmark.scoring.sample_means import compare_systems, mean_over_samples
from clinaudit.audit.pii.benchmark.scoring.scores import Answer, SampleScores
from clinaudit.reports.schema.pii_bench import BENCH_METRICS, BENCH_TASKS, BenchTask

Json = dict[str, Any]


def describe_scores(rows: Sequence[SampleScores], *, samples: int, seed: int) -> Json:
    """Return the document of all scores: systems, differences between systems, subsets, and each sample.

    `rows` are those of `score_predictions`; `seed` is that of the bootstrap.
    """
    document: Json = {
        "sample_count": samples,
        "seed": seed,
        "systems": _describe_systems(rows, seed=seed),
        "differences": _describe_differences(rows, seed=seed),
    }
    subsets = dict.fromkeys(row.subset for row in rows)
    if len(subsets) > 1:
        document["subsets"] = {
            subset: {"systems": _describe_systems([row for row in rows if row.subset == subset], seed=seed)}
            for subset in subsets
        }
    document["samples"] = _describe_samples(rows)
    return document


def _by_task(rows: Sequence[SampleScores]) -> dict[BenchTask, dict[str, list[SampleScores]]]:
    by_task: dict[BenchTask, dict[str, list[SampleScores]]] = {task: {} for task in BENCH_TASKS}
    for row in rows:
        by_task[row.task].setdefault(row.system, []).append(row)
    return by_task


def _describe_systems(rows: Sequence[SampleScores], *, seed: int) -> Json:
    by_task = _by_task(rows)
    return {
        system: {
            task: _describe_task(by_task[task][system], seed=seed) if system in by_task[task] else None
            for task in BENCH_TASKS
        }
        for system in dict.fromkeys(row.system for row in rows)
    }


def _describe_task(rows: Sequence[SampleScores], *, seed: int) -> Json:
    means = {
        metric: {
            part: mean_over_samples((getattr(getattr(row.scores, metric), part) for row in rows), seed=seed)
            for part in Scores._fields
        }
        for metric in BENCH_METRICS
    }
    described: Json = {
        metric: {part: mean.value for part, mean in of_metric.items()} for metric, of_metric in means.items()
    }
    described["intervals"] = {
        metric: {part: [mean.low, mean.high] for part, mean in of_metric.items()} for metric, of_metric in means.items()
    }
    described["exact"] = _describe_mean((float(row.scores.is_exact) for row in rows), seed=seed)
    if errors := [row.errors for row in rows if row.errors is not None]:
        described["over_masking"] = _describe_mean((error.over_masking for error in errors), seed=seed)
        described["leak"] = _describe_mean((error.leak for error in errors), seed=seed)
    described["answers"] = {answer: sum(row.answer == answer for row in rows) for answer in get_args(Answer)}
    return described


def _describe_mean(values: Iterable[float | None], *, seed: int) -> Json:
    mean = mean_over_samples(values, seed=seed)
    return {"value": mean.value, "interval": [mean.low, mean.high], "samples": mean.n}


def _describe_differences(rows: Sequence[SampleScores], *, seed: int) -> list[Json]:
    """Return the difference of each pair of systems in each task."""
    return [
        {
            "task": task,
            "first": one.first,
            "second": one.second,
            "strict_f1": one.strict_f1.value,
            "interval": [one.strict_f1.low, one.strict_f1.high],
            "only_first_exact": one.only_first_exact,
            "only_second_exact": one.only_second_exact,
            "p_value": one.p_value,
            "p_value_adjusted": one.p_value_adjusted,
        }
        for task, by_system in _by_task(rows).items()
        for one in compare_systems(by_system, seed=seed)
    ]


def _describe_samples(rows: Sequence[SampleScores]) -> list[Json]:
    """Return one row a sample and system, by system: each task's scores, and what there was of an answer."""
    described: dict[tuple[str, str], Json] = {}
    for row in rows:
        of_sample = described.setdefault((row.system, row.sample), {"sample": row.sample, "system": row.system})
        scores: Json = {metric: getattr(row.scores, metric)._asdict() for metric in BENCH_METRICS}
        errors: Json = {} if row.errors is None else asdict(row.errors)
        of_sample[row.task] = {**scores, **errors, "answer": row.answer}
    return list(described.values())
