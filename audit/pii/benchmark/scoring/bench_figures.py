"""From answers to the figures of `bench.json`: results, differences, statistics, and F1 by what makes a sample hard.

Owns how scores of samples become means with intervals, and over which samples (PII-Bench, Tables 3 to 7 and 10, Figure
4). Knows no system and no file.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from clinaudit.audit.pii.benchmark.samples.sample import Domain, Prediction, Sample
from clinaudit.audit.pii.benchmark.scoring.sample_means import mean_over_samples
from clinaudit.audit.pii.benchmark.scoring.score_summary import compare_systems
from clinaudit.audit.pii.benchmark.scoring.scores import SampleScores, score_predictions
from clinaudit.audit.pii.taxonomy import PII_TYPES
from clinaudit.audit.statistics.intervals import holm
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    BenchDifference,
    BenchEstimate,
    BenchFactor,
    BenchMetric,
    BenchPoint,
    BenchResult,
    BenchScore,
    BenchStatistics,
    BenchSubset,
    BenchTask,
)

_METRICS: Final[Mapping[BenchTask, tuple[BenchMetric, ...]]] = {
    "detection": ("strict_f1", "ent_f1", "rouge_l_f"),
    "query_related": ("strict_f1", "rouge_l_f"),
    "masking": ("strict_f1", "rouge_l_f"),
}
#: Upper ends of the groups of Figure 4; the last group has none. 5 subjects, 33 entities and 3,000 characters are where
#: the paper sees a model fall off.
_GROUPS: Final[Mapping[BenchFactor, tuple[int, ...]]] = {
    "subjects": (1, 2, 5),
    "entities": (5, 10, 15, 20, 33),
    "description_chars": (500, 1000, 1500, 3000),
    "needed_entities": (1, 2, 3, 5),
}
_FACTORS: Final[Mapping[BenchFactor, Callable[[Sample], int]]] = {
    "subjects": lambda sample: len(sample.subjects),
    "entities": lambda sample: sum(_entities_by_type(sample).values()),
    "description_chars": lambda sample: len(sample.description),
    "needed_entities": lambda sample: len(sample.query_related),
}
#: Figure 4 has no line for task 3: it follows the first two.
_POINT_TASKS: Final[tuple[BenchTask, ...]] = ("detection", "query_related")


class ScoredSystems:
    """The scores of every system on every sample, and what is asked of them."""

    def __init__(self, samples: Sequence[Sample], predictions: Iterable[Prediction], *, seed: int) -> None:
        self._samples = {sample.id: sample for sample in samples}
        self._seed = seed
        rows = score_predictions(samples, predictions, asked=_AllTasks())
        self._rows: dict[tuple[str, BenchTask, Domain], list[SampleScores]] = {}
        for row in rows:
            domain = self._samples[row.sample].domain
            self._rows.setdefault((row.system, row.task, domain), []).append(row)

    def results(self) -> Iterator[BenchResult]:
        """Yield each system's means by task, domain and subset, all subsets first."""
        for (system, task, domain), rows in self._rows.items():
            for subset in BENCH_SUBSETS:
                chosen = [row for row in rows if subset in ("all", row.subset)]
                if chosen and (subset == "all" or len(chosen) < len(rows)):
                    yield self._result(system, task, domain, subset, chosen)

    def _result(
        self, system: str, task: BenchTask, domain: Domain, subset: BenchSubset, rows: Sequence[SampleScores]
    ) -> BenchResult:
        errors = [row.errors for row in rows if row.errors is not None]
        return BenchResult(
            system=system,
            task=task,
            domain=domain,
            subset=subset,
            samples=len(rows),
            unparsed=sum(row.answer != "given" for row in rows),
            metrics={metric: self._score(rows, metric) for metric in _METRICS[task]},
            over_masking=self._mean([error.over_masking for error in errors]) if errors else None,
            leak=self._mean([error.leak for error in errors]) if errors else None,
        )

    def _score(self, rows: Sequence[SampleScores], metric: BenchMetric) -> BenchScore:
        scores = [getattr(row.scores, metric) for row in rows]
        return BenchScore(
            precision=self._mean([score.precision for score in scores]),
            recall=self._mean([score.recall for score in scores]),
            f1=self._mean([score.f1 for score in scores]),
        )

    def _mean(self, values: Iterable[float | None]) -> BenchEstimate:
        known = np.array([value for value in values if value is not None], dtype=np.float64)
        return bench_estimate(mean_over_samples(known, seed=self._seed))

    def differences(self) -> Iterator[BenchDifference]:
        """Yield the paired difference of every two systems, by task and domain; p-values are Holm's over the pairs."""
        by_task: dict[tuple[BenchTask, Domain], dict[str, list[SampleScores]]] = {}
        for (system, task, domain), rows in self._rows.items():
            by_task.setdefault((task, domain), {})[system] = rows
        for (task, domain), by_system in by_task.items():
            pairs = list(combinations(by_system.items(), 2))
            compared = [compare_systems(first, second, seed=self._seed) for (_, first), (_, second) in pairs]
            p_values = holm([comparison.p_value for comparison in compared])
            for ((a, first), (b, _)), comparison, p_value in zip(pairs, compared, p_values, strict=True):
                yield BenchDifference(
                    task=task,
                    domain=domain,
                    a=a,
                    b=b,
                    samples=len(first),
                    difference=bench_estimate(comparison.strict_f1),
                    a_only=comparison.only_first_exact,
                    b_only=comparison.only_second_exact,
                    p_value=p_value,
                )

    def points(self) -> Iterator[BenchPoint]:
        """Yield F1 by the number of subjects, entities, characters and needed entities (Figure 4)."""
        for (system, task, domain), rows in self._rows.items():
            if task not in _POINT_TASKS:
                continue
            for factor, ends in _GROUPS.items():
                groups: dict[int, list[tuple[int, float]]] = {}
                for row in rows:
                    size = _FACTORS[factor](self._samples[row.sample])
                    group = next((place for place, end in enumerate(ends) if size <= end), len(ends))
                    groups.setdefault(group, []).append((size, row.scores.strict_f1.f1))
                for _, members in sorted(groups.items()):
                    sizes = [size for size, _ in members]
                    yield BenchPoint(
                        system=system,
                        task=task,
                        domain=domain,
                        factor=factor,
                        low=min(sizes),
                        high=max(sizes),
                        samples=len(members),
                        f1=self._mean(f1 for _, f1 in members),
                    )


class _AllTasks(Mapping[str, Sequence[BenchTask]]):
    """Every system was asked all tasks, whatever it answered."""

    def __getitem__(self, system: str) -> Sequence[BenchTask]:
        return BENCH_TASKS

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def describe_samples(samples: Sequence[Sample]) -> Iterator[BenchStatistics]:
    """Yield the statistics of each domain and subset, and of all subsets together (Tables 3 and 10)."""
    domains = dict.fromkeys(sample.domain for sample in samples)
    for domain in domains:
        of_domain = [sample for sample in samples if sample.domain == domain]
        for subset in BENCH_SUBSETS:
            chosen = [sample for sample in of_domain if subset in ("all", sample.subset)]
            if chosen and (subset == "all" or len(chosen) < len(of_domain)):
                yield _statistics(domain, subset, chosen)


def bench_estimate(estimate: Estimate) -> BenchEstimate:
    """Return an estimate as `bench.json` holds it."""
    return BenchEstimate(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason)


def _statistics(domain: Domain, subset: BenchSubset, samples: Sequence[Sample]) -> BenchStatistics:
    types: Counter[str] = Counter(dict.fromkeys(PII_TYPES, 0))
    for sample in samples:
        types.update(_entities_by_type(sample))
    means = {factor: float(np.mean([measure(sample) for sample in samples])) for factor, measure in _FACTORS.items()}
    return BenchStatistics(
        domain=domain,
        subset=subset,
        samples=len(samples),
        query_chars=float(np.mean([len(sample.query) for sample in samples])),
        types=dict(types),
        **means,
    )


def _entities_by_type(sample: Sample) -> Counter[str]:
    """Return how many entities there are of each type; one that occurs twice with a subject counts once."""
    return Counter(
        kind
        for subject in sample.subjects
        for _, kind in dict.fromkeys((entity.text, entity.type) for entity in subject.entities)
    )
