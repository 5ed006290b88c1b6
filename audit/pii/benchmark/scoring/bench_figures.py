"""From answers to what `bench.json` holds: figures, differences, statistics of the samples, the paper's own figures.

Owns over which samples a figure is a mean, and by which kinds of identifier the found ones are counted (PII-Bench,
Tables 3 to 8 and 10). An entity is found by a system that names its text in the sample, whoever's it says it is.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Final

import polars as pl

from clinaudit.audit.pii.benchmark.sample import Domain, Entity, Prediction, Sample, comparable_text
from clinaudit.audit.pii.benchmark.scoring.privacy import Utilities, privacy_items, utility_figures
from clinaudit.audit.pii.benchmark.scoring.sample_means import compare_systems, mean_of_items
from clinaudit.audit.pii.benchmark.scoring.scores import ItemRow, gold_of, items_of, score_predictions
from clinaudit.audit.pii.taxonomy import PII_TYPES, categories
from clinaudit.reports.schema.pii_bench import (
    BENCH_SUBSETS,
    BENCH_TASKS,
    BenchDifference,
    BenchFigure,
    BenchGrouping,
    BenchStatistics,
    BenchSubset,
    PaperScore,
)

_MEASURES: Final[Mapping[str, Callable[[Sample], int]]] = {
    "subjects": lambda sample: len(sample.subjects),
    "entities": lambda sample: _entities_by_type(sample).total(),
    "description_chars": lambda sample: len(sample.description),
    "needed_entities": lambda sample: len(sample.query_related),
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


#: Every system of a benchmark answers every sample, so that none is missing.
_NOT_SHOWN: Final = ("exact", "given", "missing")


def bench_items(samples: Sequence[Sample], predictions: Sequence[Prediction], *, seen: Collection[str]) -> pl.DataFrame:
    """Return the items of a benchmark: scores by subset, privacy by what is masked, found entities by kind."""
    scores = score_predictions(map(gold_of, samples), predictions, asked=BENCH_TASKS)
    rows = items_of([*privacy_items(samples, predictions), *found_items(samples, predictions, seen=seen)])
    return pl.concat([scores, rows])


def figures_of(items: pl.DataFrame, *, utilities: Utilities | None, seed: int) -> list[BenchFigure]:
    """Return the figures of a benchmark: of all samples of a domain, and of each subset where there are several."""
    of_subset = items.filter(pl.col("grouping") == "subset", ~pl.col("metric").is_in(_NOT_SHOWN))
    several = of_subset.filter(pl.col("group").n_unique().over("domain") > 1)
    whole = of_subset.with_columns(group=pl.lit("all"))
    rest = items.filter(pl.col("grouping") != "subset")
    by = ("system", "task", "domain", "grouping", "group", "metric")
    figures = [
        BenchFigure(
            **dict(zip(by, key, strict=True)),
            **mean_of_items(part, seed=seed).model_dump(),
            entities=int(part["count"].sum()) if key[-1] == "found" else None,
        )
        for key, part in pl.concat([whole, several, rest]).group_by(by, maintain_order=True)
    ]
    return [*figures, *utility_figures(figures, utilities, seed=seed)]


def differences_of(items: pl.DataFrame, *, seed: int) -> Iterator[BenchDifference]:
    """Yield the paired difference of every two systems, by task and domain; p-values are Holm's over the pairs."""
    scored = items.filter(grouping="subset")
    for (task, domain), part in scored.group_by("task", "domain", maintain_order=True):
        for difference, compared in compare_systems(part, seed=seed):
            yield BenchDifference(task=task, domain=domain, **difference.model_dump(), **compared)


SEEN: Final = "in the training samples"
UNSEEN: Final = "not in the training samples"


def found_items(
    samples: Iterable[Sample], predictions: Iterable[Prediction], *, seen: Collection[str]
) -> Iterator[ItemRow]:
    """Yield how many entities of each kind a system finds in each sample; a text counts once a subject.

    `seen` holds the texts of the training samples; without it there is no kind of what training held.
    """
    kinds: Mapping[BenchGrouping, Callable[[Entity], str | None]] = {
        "name_origin": lambda entity: entity.name_origin,
        "vocabulary": lambda entity: (SEEN if comparable_text(entity.text) in seen else UNSEEN) if seen else None,
        "category": lambda entity: categories()[entity.category].name,
        "hipaa": lambda entity: categories()[entity.category].hipaa,
    }
    by_id = {sample.id: sample for sample in samples}
    for answer in predictions:
        sample = by_id[answer.sample]
        named = {comparable_text(entity.text) for subject in answer.subjects or () for entity in subject.entities}
        hits: Counter[tuple[BenchGrouping, str]] = Counter()
        counts: Counter[tuple[BenchGrouping, str]] = Counter()
        for subject in sample.subjects:
            for text, entity in {comparable_text(one.text): one for one in subject.entities}.items():
                groups = [(kind, group) for kind, group_of in kinds.items() if (group := group_of(entity)) is not None]
                counts.update(groups)
                hits.update(groups if text in named else ())
        for (kind, group), count in counts.items():
            of = (answer.system, sample.id, sample.domain, "detection", kind, group, "found")
            yield *of, float(hits[kind, group]), count


def paper_scores() -> list[PaperScore]:
    """Return the paper's figures that stand beside, of several ways of asking the best but for the oracle."""
    scores = tomllib.loads(files(__package__).joinpath("paper_scores.toml").read_text(encoding="utf-8"))
    return [
        PaperScore(
            model=model,
            task=task,
            metric=f"{metric}.f1",
            subset=subset,
            value=max(given) if type(given) is list else given,
        )
        for model, tasks in scores.items()
        for task, metrics in tasks.items()
        for metric, subsets in metrics.items()
        for subset, given in subsets.items()
    ]
