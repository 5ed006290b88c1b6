"""Means of scores over samples with their intervals, and two systems on the same samples.

Owns what is averaged and compared. Knows nothing of how one sample is scored, nor of what is written. Intervals are
two-sided 95%, by bootstrap over samples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np

from clinaudit.audit.pii.benchmark.scoring.matching import Scores
from clinaudit.audit.pii.benchmark.scoring.sample_means import Values, difference_over_samples, mean_over_samples
from clinaudit.audit.pii.benchmark.scoring.scores import Answer, SampleScores
from clinaudit.audit.statistics.paired_differences import mcnemar_p_value
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import BENCH_METRICS, BenchMetric

ANSWERS: Final[tuple[Answer, ...]] = get_args(Answer)


@dataclass(frozen=True, slots=True)
class MeanScores:
    """Precision, recall and F1, each the mean of the samples' own."""

    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """One system in one task."""

    metrics: Mapping[BenchMetric, MeanScores]
    #: The share of samples with exactly the gold answer.
    exact: Estimate
    #: Samples by what there was of an answer; those without one score 0.
    answers: Mapping[Answer, int]
    #: Of masking alone; over the samples that have such a text.
    over_masking: Estimate | None
    leak: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemComparison:
    """Two systems in one task, on the same samples."""

    #: Mean strict F1 of the first less that of the second.
    strict_f1: Estimate
    #: Samples on which one of them alone gave exactly the gold answer.
    only_first_exact: int
    only_second_exact: int
    #: That either is exact as often: McNemar's test, exact, two-sided.
    p_value: float


def summarize_task(rows: Sequence[SampleScores], *, seed: int) -> TaskSummary:
    """Return one system's means in one task; `rows` are its samples. Raises `ValueError` without any."""
    if not rows:
        raise ValueError("a mean needs at least one sample")
    errors = [row.errors for row in rows if row.errors is not None]
    return TaskSummary(
        metrics={metric: _means([getattr(row.scores, metric) for row in rows], seed=seed) for metric in BENCH_METRICS},
        exact=_mean((float(row.scores.is_exact) for row in rows), seed=seed),
        answers={answer: sum(row.answer == answer for row in rows) for answer in ANSWERS},
        over_masking=_mean((error.over_masking for error in errors), seed=seed) if errors else None,
        leak=_mean((error.leak for error in errors), seed=seed) if errors else None,
    )


def _means(scores: Sequence[Scores], *, seed: int) -> MeanScores:
    return MeanScores(
        precision=_mean((score.precision for score in scores), seed=seed),
        recall=_mean((score.recall for score in scores), seed=seed),
        f1=_mean((score.f1 for score in scores), seed=seed),
    )


def _mean(values: Iterable[float | None], *, seed: int) -> Estimate:
    return mean_over_samples(np.array([value for value in values if value is not None], dtype=np.float64), seed=seed)


def compare_systems(first: Sequence[SampleScores], second: Sequence[SampleScores], *, seed: int) -> SystemComparison:
    """Return how two systems differ in one task; both have the same samples, in one order (else `ValueError`)."""
    if [row.sample for row in first] != [row.sample for row in second]:
        raise ValueError("both systems are scored on the same samples, in one order")
    exact = [(a.scores.is_exact, b.scores.is_exact) for a, b in zip(first, second, strict=True)]
    only_first, only_second = exact.count((True, False)), exact.count((False, True))
    return SystemComparison(
        strict_f1=difference_over_samples(
            _strict_f1(first), _strict_f1(second), np.ones(len(first), dtype=np.int64), seed=seed
        ),
        only_first_exact=only_first,
        only_second_exact=only_second,
        p_value=mcnemar_p_value(only_first, only_second),
    )


def _strict_f1(rows: Sequence[SampleScores]) -> Values:
    return np.array([row.scores.strict_f1.f1 for row in rows])
