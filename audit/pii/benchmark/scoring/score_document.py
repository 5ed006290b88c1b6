"""The document that `clinaudit pii score` writes (docs/pii.md).

Owns its shape; computes nothing. It holds the ids of samples and the names of systems, and no text.
"""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import cast

from clinaudit.audit.pii.benchmark.scoring.matching import Scores
from clinaudit.audit.pii.benchmark.scoring.real_texts import compare_with_real
from clinaudit.audit.pii.benchmark.scoring.score_summary import MeanScores, compare_systems, summarize_task
from clinaudit.audit.pii.benchmark.scoring.scores import SampleScores
from clinaudit.audit.statistics.intervals import holm
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import BENCH_METRICS, BENCH_TASKS, BenchTask

Json = dict[str, object]
_ByTask = dict[BenchTask, dict[str, list[SampleScores]]]


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
    subsets = dict.fromkeys(row.subset for row in rows if row.subset is not None)
    if len(subsets) > 1:
        document["subsets"] = {
            subset: {"systems": _describe_systems([row for row in rows if row.subset == subset], seed=seed)}
            for subset in subsets
        }
    document["samples"] = _describe_samples(rows)
    return document


def describe_real(document: Json, rows: Sequence[SampleScores], *, samples: int, seed: int) -> Json:
    """Return what a document has beside it of real texts: their scores, and whether both tell the same of systems.

    `rows` are those of the real texts. Raises `BadInputError` where no system was scored on both.
    """
    systems = _describe_systems(rows, seed=seed)
    here = cast("dict[str, Json]", document["systems"])
    compared = compare_with_real(here, cast("dict[str, Json]", systems))
    if not compared:
        raise BadInputError(
            "no system has predictions of one task on both the samples and the real texts; name a system alike in both"
        )
    return {
        "sample_count": samples,
        "systems": systems,
        "consistency": compared,
        "only_on_samples": [system for system in here if system not in systems],
        "only_on_real": [system for system in systems if system not in here],
    }


def _by_task(rows: Sequence[SampleScores]) -> _ByTask:
    by_task: _ByTask = {task: {} for task in BENCH_TASKS}
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
    summary = summarize_task(rows, seed=seed)
    described: Json = {metric: _values(summary.metrics[metric]) for metric in BENCH_METRICS}
    described["intervals"] = {metric: _intervals(summary.metrics[metric]) for metric in BENCH_METRICS}
    described["exact"] = _describe_estimate(summary.exact)
    if summary.over_masking is not None and summary.leak is not None:
        described["over_masking"] = _describe_estimate(summary.over_masking)
        described["leak"] = _describe_estimate(summary.leak)
    described["answers"] = dict(summary.answers)
    return described


def _values(means: MeanScores) -> Json:
    return {part: getattr(means, part).value for part in Scores._fields}


def _intervals(means: MeanScores) -> Json:
    return {part: [getattr(means, part).low, getattr(means, part).high] for part in Scores._fields}


def _describe_estimate(estimate: Estimate) -> Json:
    return {"value": estimate.value, "interval": [estimate.low, estimate.high], "samples": estimate.n}


def _describe_differences(rows: Sequence[SampleScores], *, seed: int) -> list[Json]:
    """Return the difference of each pair of systems in each task; p-values are adjusted over a task's pairs (Holm)."""
    described: list[Json] = []
    for task, by_system in _by_task(rows).items():
        pairs = list(combinations(by_system, 2))
        compared = [compare_systems(by_system[first], by_system[second], seed=seed) for first, second in pairs]
        adjusted = holm([comparison.p_value for comparison in compared])
        described.extend(
            {
                "task": task,
                "first": first,
                "second": second,
                "strict_f1": comparison.strict_f1.value,
                "interval": [comparison.strict_f1.low, comparison.strict_f1.high],
                "only_first_exact": comparison.only_first_exact,
                "only_second_exact": comparison.only_second_exact,
                "p_value": comparison.p_value,
                "p_value_adjusted": p_value,
            }
            for (first, second), comparison, p_value in zip(pairs, compared, adjusted, strict=True)
        )
    return described


def _describe_samples(rows: Sequence[SampleScores]) -> list[Json]:
    """Return one row a sample and system, by system: each task's scores, and what there was of an answer."""
    described: dict[tuple[str, str], Json] = {}
    for row in rows:
        of_sample = described.setdefault((row.system, row.sample), {"sample": row.sample, "system": row.system})
        scores: Json = {metric: getattr(row.scores, metric)._asdict() for metric in BENCH_METRICS}
        errors: Json = {} if row.errors is None else asdict(row.errors)
        of_sample[row.task] = {**scores, **errors, "answer": row.answer}
    return list(described.values())
