"""Means of scores over samples with their intervals, and paired differences between systems.

Owns the shape of what `clinaudit pii score` writes (docs/pii-scores.md). Knows nothing of how one sample is scored.
Intervals are two-sided 95%, by bootstrap over samples. What is written holds the ids of samples and the names of
systems, and no text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Final

import numpy as np

from clinaudit.audit.pii.benchmark.matching import Scores
from clinaudit.audit.pii.benchmark.sample_means import Values, mean_over_samples
from clinaudit.audit.pii.benchmark.scores import TASKS, SampleScores, Task
from clinaudit.audit.statistics.intervals import holm
from clinaudit.audit.statistics.paired_differences import mcnemar_p_value, paired_difference

#: The metrics, as `TaskScores` names them.
METRICS: Final = ("strict_f1", "ent_f1", "rouge_l_f")
Json = dict[str, object]


def describe_scores(rows: Sequence[SampleScores], *, samples: int, seed: int) -> Json:
    """Return the document of all scores: systems, subsets, differences between systems, and each sample.

    `rows` are those of `score_predictions`; `seed` is that of the bootstrap.
    """
    subsets = {row.subset: None for row in rows if row.subset is not None}
    document: Json = {
        "sample_count": samples,
        "seed": seed,
        "systems": _describe_systems(rows, seed=seed),
        "differences": describe_differences(rows, seed=seed),
    }
    if len(subsets) > 1:
        document["subsets"] = {
            subset: {"systems": _describe_systems([row for row in rows if row.subset == subset], seed=seed)}
            for subset in subsets
        }
    document["samples"] = _describe_samples(rows)
    return document


def _describe_systems(rows: Sequence[SampleScores], *, seed: int) -> Json:
    by_system: dict[str, dict[Task, list[SampleScores]]] = {}
    for row in rows:
        by_system.setdefault(row.system, {}).setdefault(row.task, []).append(row)
    return {
        system: {task: describe_task(tasks[task], seed=seed) if task in tasks else None for task in TASKS}
        for system, tasks in by_system.items()
    }


def describe_task(rows: Sequence[SampleScores], *, seed: int) -> Json:
    """Return one system's means over samples in one task, their intervals, and how many answers there were."""
    scores = np.array([[getattr(row.scores, metric) for metric in METRICS] for row in rows])
    means: Json = {}
    intervals: Json = {}
    for place, metric in enumerate(METRICS):
        estimates = [mean_over_samples(scores[:, place, part], seed=seed) for part in range(len(Scores._fields))]
        means[metric] = dict(zip(Scores._fields, (estimate.value for estimate in estimates), strict=True))
        intervals[metric] = dict(
            zip(Scores._fields, ([estimate.low, estimate.high] for estimate in estimates), strict=True)
        )
    described: Json = {
        **means,
        "intervals": intervals,
        "exact_share": float(np.mean([row.scores.is_exact for row in rows])),
        "answers": {answer: sum(row.answer == answer for row in rows) for answer in ("given", "unparsed", "missing")},
    }
    errors = [row.errors for row in rows if row.errors is not None]
    if errors:
        described["over_masking"] = _describe_share([error.over_masking for error in errors], seed=seed)
        described["leak"] = _describe_share([error.leak for error in errors], seed=seed)
    return described


def _describe_share(shares: Iterable[float | None], *, seed: int) -> Json:
    values = np.array([share for share in shares if share is not None], dtype=np.float64)
    estimate = mean_over_samples(values, seed=seed)
    return {"value": estimate.value, "interval": [estimate.low, estimate.high], "samples": int(values.size)}


def describe_differences(rows: Sequence[SampleScores], *, seed: int) -> list[Json]:
    """Return for each task and pair of systems the mean difference of strict F1, first minus second, and McNemar's.

    The interval is over samples, both systems on the same ones. The test asks whether either is exactly right more
    often; its p-values are adjusted over the pairs of a task (Holm).
    """
    by_task: dict[Task, dict[str, list[SampleScores]]] = {}
    for row in rows:
        by_task.setdefault(row.task, {}).setdefault(row.system, []).append(row)
    return [difference for task in TASKS for difference in _differences_of(task, by_task.get(task, {}), seed=seed)]


def _differences_of(task: Task, by_system: Mapping[str, Sequence[SampleScores]], *, seed: int) -> list[Json]:
    pairs = list(combinations(by_system, 2))
    counts = []
    for first, second in pairs:
        exact = [
            (a.scores.is_exact, b.scores.is_exact) for a, b in zip(by_system[first], by_system[second], strict=True)
        ]
        counts.append((exact.count((True, False)), exact.count((False, True))))
    p_values = [mcnemar_p_value(*count) for count in counts]
    described: list[Json] = []
    for (first, second), (only_first, only_second), p_value, adjusted in zip(
        pairs, counts, p_values, holm(p_values), strict=True
    ):
        estimate = paired_difference(_strict_f1(by_system[second]), _strict_f1(by_system[first]), seed=seed)
        described.append(
            {
                "task": task,
                "first": first,
                "second": second,
                "strict_f1": estimate.value,
                "interval": [estimate.low, estimate.high],
                "exact_in_first_only": only_first,
                "exact_in_second_only": only_second,
                "p_value": p_value,
                "p_value_adjusted": adjusted,
            }
        )
    return described


def _strict_f1(rows: Sequence[SampleScores]) -> Values:
    return np.array([row.scores.strict_f1.f1 for row in rows])


def _describe_samples(rows: Sequence[SampleScores]) -> list[Json]:
    """Return one row a sample and system, by system: each task's scores, and what there was of an answer."""
    described: dict[tuple[str, str], Json] = {}
    for row in rows:
        of_sample = described.setdefault((row.system, row.sample), {"sample": row.sample, "system": row.system})
        scores: Json = {metric: getattr(row.scores, metric)._asdict() for metric in METRICS}
        errors: Json = {} if row.errors is None else asdict(row.errors)
        of_sample[row.task] = {**scores, **errors, "answer": row.answer}
    return list(described.values())
