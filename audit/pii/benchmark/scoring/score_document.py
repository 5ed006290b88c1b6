"""The document that `clinaudit pii score` writes (docs/pii.md), and what it says of real texts (PII-Bench, F.4.2).

It holds the ids of samples and the names of systems, and no text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, get_args

from clinaudit.audit.pii.benchmark.scoring.matching import Scores
from clinaudit.audit.pii.benchmark.scoring.sample_means import compare_systems, mean_over_samples
from clinaudit.audit.pii.benchmark.scoring.scores import Answer, SampleScores
from clinaudit.errors import BadInputError
from clinaudit.reports.schema.pii_bench import BENCH_METRICS, BENCH_TASKS, BenchTask

Json = dict[str, Any]
#: Systems below which their order says nothing: of three, one order in six is the very same by chance.
FEWEST_SYSTEMS: Final = 4
_TOO_FEW: Final = f"too few systems to say; at least {FEWEST_SYSTEMS} are needed that were scored on both"
_NO_ORDER: Final = "all systems score alike on one of the two: there is no order"


def performance_consistency(on_samples: float, on_real: float) -> float:
    """Return PCS, 1 less the two F1's difference in parts of the larger (Eq. 21); of two zeros 1 **[choice]**."""
    largest = max(on_samples, on_real)
    return 1 - abs(on_samples - on_real) / largest if largest else 1.0


def ranking_consistency(on_samples: Sequence[float], on_real: Sequence[float]) -> float | None:
    """Return Spearman's rho of the systems' F1 on samples and on real texts, in one order.

    None where all score alike on a side: there is no ranking then. Raises `ValueError` where the lengths differ.
    """
    if len(on_samples) != len(on_real):
        raise ValueError("every system has a score on both sides")
    if len(set(on_samples)) < 2 or len(set(on_real)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(on_samples, on_real).statistic)


def compare_with_real(on_samples: Mapping[str, Json], on_real: Mapping[str, Json]) -> dict[BenchTask, Json]:
    """Return for each task what samples and real texts tell of the systems scored on both, by metric.

    Both hold `systems` of a document of scores. A task that no system was asked on both sides is not there.
    """
    compared: dict[BenchTask, Json] = {}
    for task in BENCH_TASKS:
        pairs = {
            system: (on_samples[system][task], on_real[system][task])
            for system in on_samples
            if on_samples[system][task] is not None and on_real.get(system, {}).get(task) is not None
        }
        if pairs:
            f1 = {
                metric: [(here[metric]["f1"], there[metric]["f1"]) for here, there in pairs.values()]
                for metric in BENCH_METRICS
            }
            compared[task] = {
                "performance": {
                    system: {metric: performance_consistency(*f1[metric][place]) for metric in BENCH_METRICS}
                    for place, system in enumerate(pairs)
                },
                "ranking": {metric: _rank(f1[metric]) for metric in BENCH_METRICS},
            }
    return compared


def _rank(pairs: Sequence[tuple[float, float]]) -> Json:
    ranked: Json = {"rho": None, "systems": len(pairs), "reason": _TOO_FEW}
    if len(pairs) < FEWEST_SYSTEMS:
        return ranked
    rho = ranking_consistency([here for here, _ in pairs], [there for _, there in pairs])
    return ranked | {"rho": rho, "reason": _NO_ORDER if rho is None else None}


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
    systems, here = _describe_systems(rows, seed=seed), document["systems"]
    compared = compare_with_real(here, systems)
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
