"""What a set of samples holds, as the paper gives it of its own (PII-Bench, Tables 3 and 10).

An entity counts once a subject, however often it stands in the text.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from clinaudit.audit.pii.benchmark.sample import Domain, Sample
from clinaudit.audit.pii.taxonomy import PII_TYPES
from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, BenchFactor, BenchStatistics, BenchSubset

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
