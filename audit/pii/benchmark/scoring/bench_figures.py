"""From answers to the figures of `bench.json`: results, differences, statistics, recall by group, the paper's own.

Owns how scores of samples become means with intervals, and over which samples (PII-Bench, Tables 3 to 7 and 10, Figure
4). An entity is found by a system that names its text in the sample, whoever's it says it is.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from typing import Any, Final, Literal

import numpy as np

from clinaudit.audit.pii.benchmark.sample import Domain, Entity, Prediction, Sample, comparable_text
from clinaudit.audit.pii.benchmark.scoring.matching import Scores
from clinaudit.audit.pii.benchmark.scoring.sample_means import (
    Counts,
    Values,
    compare_systems,
    mean_over_samples,
    share_over_samples,
)
from clinaudit.audit.pii.benchmark.scoring.scores import SampleScores, gold_of, score_predictions
from clinaudit.audit.pii.taxonomy import PII_TYPES, categories
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
    GroupRecall,
    PaperScore,
)

#: What may make a sample hard (Figure 4).
FACTORS: Final[Mapping[BenchFactor, Callable[[Sample], int]]] = {
    "subjects": lambda sample: len(sample.subjects),
    "entities": lambda sample: _entities_by_type(sample).total(),
    "description_chars": lambda sample: len(sample.description),
    "needed_entities": lambda sample: len(sample.query_related),
}
_MEASURES: Final[Mapping[str, Callable[[Sample], int]]] = {
    **dict[str, Callable[[Sample], int]](FACTORS.items()),
    "query_chars": lambda sample: len(sample.query),
}


class SampleCounter:
    """Counts samples one by one, so that none need be kept."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Domain, BenchSubset], Counter[str]] = {}
        #: Subjects with a full name, by the locale of it.
        self.name_origins: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        """Count one sample, under its subset and under all."""
        counted = Counter({name: measure(sample) for name, measure in _MEASURES.items()}) + Counter(samples=1)
        counted += _entities_by_type(sample)
        for subset in (sample.subset, "all"):
            self._sums.setdefault((sample.domain, subset), Counter()).update(counted)
        for subject in sample.subjects:
            self.name_origins.update({entity.name_origin for entity in subject.entities if entity.name_origin})

    def statistics(self) -> Iterator[BenchStatistics]:
        """Yield what was counted, by domain, in the order of the paper's tables; a subset without a sample is none."""
        for domain in dict.fromkeys(domain for domain, _ in self._sums):
            for subset in BENCH_SUBSETS:
                if sums := self._sums.get((domain, subset)):
                    samples = sums["samples"]
                    yield BenchStatistics(
                        domain=domain,
                        subset=subset,
                        samples=samples,
                        types={name: sums[name] for name in PII_TYPES},
                        **{name: sums[name] / samples for name in _MEASURES},
                    )


def describe_samples(samples: Sequence[Sample]) -> Iterator[BenchStatistics]:
    """Yield the statistics of each domain, and of its subsets where there are several."""
    counter = SampleCounter()
    for sample in samples:
        counter.add(sample)
    rows = list(counter.statistics())
    of_all = {row.domain: row.samples for row in rows if row.subset == "all"}
    yield from (row for row in rows if row.subset == "all" or row.samples < of_all[row.domain])


def _entities_by_type(sample: Sample) -> Counter[str]:
    return Counter(
        kind for subject in sample.subjects for _, kind in {(entity.text, entity.type) for entity in subject.entities}
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
#: Figure 4 has no line for task 3: it follows the first two.
_POINT_TASKS: Final[tuple[BenchTask, ...]] = ("detection", "query_related")


class ScoredSystems:
    """The scores of every system on every sample, and what is asked of them."""

    def __init__(self, samples: Sequence[Sample], predictions: Iterable[Prediction], *, seed: int) -> None:
        self._samples = {sample.id: sample for sample in samples}
        self._seed = seed
        rows = score_predictions(map(gold_of, samples), predictions, asked=BENCH_TASKS)
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
            over_masking=self._mean(error.over_masking for error in errors) if errors else None,
            leak=self._mean(error.leak for error in errors) if errors else None,
        )

    def _score(self, rows: Sequence[SampleScores], metric: BenchMetric) -> BenchScore:
        scores = [getattr(row.scores, metric) for row in rows]
        return BenchScore(**{part: self._mean(getattr(one, part) for one in scores) for part in Scores._fields})

    def _mean(self, values: Iterable[float | None]) -> BenchEstimate:
        return bench_estimate(mean_over_samples(values, seed=self._seed))

    def differences(self) -> Iterator[BenchDifference]:
        """Yield the paired difference of every two systems, by task and domain; p-values are Holm's over the pairs."""
        by_task: dict[tuple[BenchTask, Domain], dict[str, list[SampleScores]]] = {}
        for (system, task, domain), rows in self._rows.items():
            by_task.setdefault((task, domain), {})[system] = rows
        for (task, domain), by_system in by_task.items():
            for one in compare_systems(by_system, seed=self._seed):
                yield BenchDifference(
                    task=task,
                    domain=domain,
                    a=one.first,
                    b=one.second,
                    samples=one.samples,
                    difference=bench_estimate(one.strict_f1),
                    a_only=one.only_first_exact,
                    b_only=one.only_second_exact,
                    p_value=one.p_value_adjusted,
                )

    def points(self) -> Iterator[BenchPoint]:
        """Yield F1 by the number of subjects, entities, characters and needed entities (Figure 4)."""
        for (system, task, domain), rows in self._rows.items():
            if task not in _POINT_TASKS:
                continue
            for factor, ends in _GROUPS.items():
                groups: dict[int, list[tuple[int, float]]] = {}
                for row in rows:
                    size = FACTORS[factor](self._samples[row.sample])
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


def bench_estimate(estimate: Estimate) -> BenchEstimate:
    """Return an estimate as `bench.json` holds it."""
    return BenchEstimate(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason)


Grouping = Literal["name_origin", "vocabulary", "category", "hipaa"]
SEEN: Final = "in the training samples"
UNSEEN: Final = "not in the training samples"


def group_recalls(
    samples: Sequence[Sample], predictions: Iterable[Prediction], *, seen: Collection[str], seed: int
) -> Iterator[GroupRecall]:
    """Yield each system's recall by domain and group; `seen` holds the texts of the training samples.

    Without `seen` there is no group of what training held.
    """
    by_system: dict[str, dict[str, Prediction]] = {}
    for prediction in predictions:
        by_system.setdefault(prediction.system, {})[prediction.sample] = prediction
    groupings: Mapping[Grouping, Callable[[Entity], str | None]] = {
        "name_origin": lambda entity: entity.name_origin,
        "vocabulary": lambda entity: (SEEN if comparable_text(entity.text) in seen else UNSEEN) if seen else None,
        "category": lambda entity: categories()[entity.category].name,
        "hipaa": lambda entity: categories()[entity.category].hipaa,
    }
    for domain in dict.fromkeys(sample.domain for sample in samples):
        chosen = [sample for sample in samples if sample.domain == domain]
        for system, answers in by_system.items():
            found = {sample.id: _named(answers.get(sample.id)) for sample in chosen}
            for grouping, group_of in groupings.items():
                tallies = _tally(chosen, found, group_of)
                for group, (hits, counts) in sorted(tallies.items()):
                    recall = share_over_samples(hits, counts, seed=seed)
                    yield GroupRecall(
                        system=system,
                        domain=domain,
                        grouping=grouping,
                        group=group,
                        entities=int(counts.sum()),
                        recall=bench_estimate(recall),
                    )


def _tally(
    samples: Sequence[Sample], found: Mapping[str, Collection[str]], group_of: Callable[[Entity], str | None]
) -> dict[str, tuple[Values, Counts]]:
    """Return the hits and the entities of each group, one number a sample; a text counts once a subject."""
    tallies: dict[str, tuple[list[float], list[int]]] = {}
    for place, sample in enumerate(samples):
        named = found[sample.id]
        for subject in sample.subjects:
            for text, entity in {comparable_text(one.text): one for one in subject.entities}.items():
                group = group_of(entity)
                if group is not None:
                    hits, counts = tallies.setdefault(group, ([0.0] * len(samples), [0] * len(samples)))
                    hits[place] += text in named
                    counts[place] += 1
    return {
        group: (np.array(hits, dtype=np.float64), np.array(counts, dtype=np.int64))
        for group, (hits, counts) in tallies.items()
    }


def _named(prediction: Prediction | None) -> frozenset[str]:
    subjects = prediction.subjects if prediction is not None and prediction.subjects is not None else []
    return frozenset(comparable_text(entity.text) for subject in subjects for entity in subject.entities)


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
