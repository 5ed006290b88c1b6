"""What a set of samples holds, as the paper tells it of its own (PII-Bench, Tables 3 and 10).

Owns the counts, and the paper's rows in the same shape. An entity counts once a subject, however often it stands in
the text.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, get_args

from clinaudit.audit.pii.benchmark.samples.sample import Sample, Subset
from clinaudit.audit.pii.taxonomy import PII_TYPES
from clinaudit.reports.schema import paper_samples as paper


@dataclass(frozen=True, slots=True)
class SubsetStatistics:
    """One row of Table 3 and one column of Table 10; all but `samples` and `types` are means a sample."""

    samples: int
    subjects: float
    description_chars: float
    entities: float
    query_chars: float
    needed: float
    #: Entities by type, in the order of `PII_TYPES`.
    types: Mapping[str, int]


_SUBSETS: Final[tuple[Subset, ...]] = get_args(Subset)


def _of_paper(subset: Subset) -> SubsetStatistics:
    row = paper.PAPER_STATISTICS[subset]
    return SubsetStatistics(
        samples=row.samples,
        subjects=row.subjects,
        description_chars=row.description_chars,
        entities=row.entities,
        query_chars=row.query_chars,
        needed=row.needed_entities,
        types=MappingProxyType({name: paper.PAPER_TYPES[subset][name] for name in PII_TYPES}),
    )


PAPER_STATISTICS: Final[Mapping[Subset, SubsetStatistics]] = MappingProxyType(
    {subset: _of_paper(subset) for subset in _SUBSETS}
)


class SampleCounter:
    """Counts samples one by one, so that none need be kept."""

    def __init__(self) -> None:
        self._sums: dict[Subset, list[int]] = defaultdict(lambda: [0] * 6)
        self._types: dict[Subset, dict[str, int]] = defaultdict(lambda: dict.fromkeys(PII_TYPES, 0))
        #: Subjects with a full name, by the locale of it.
        self.name_origins: dict[str, int] = defaultdict(int)

    def add(self, sample: Sample) -> None:
        """Count one sample."""
        entities = {
            (subject.id, entity.text, entity.type) for subject in sample.subjects for entity in subject.entities
        }
        counted = [1, len(sample.subjects), len(sample.description), len(entities)]
        counted += [len(sample.query), len(sample.query_related)]
        self._sums[sample.subset] = [sum(pair) for pair in zip(self._sums[sample.subset], counted, strict=True)]
        for _, _, pii_type in entities:
            self._types[sample.subset][pii_type] += 1
        for subject in sample.subjects:
            for origin in {entity.name_origin for entity in subject.entities if entity.name_origin}:
                self.name_origins[origin] += 1

    def statistics(self) -> dict[Subset, SubsetStatistics]:
        """Return what was counted, in the order of the paper's tables; a subset without a sample is left out."""
        found: dict[Subset, SubsetStatistics] = {}
        for subset in _SUBSETS:
            if subset in self._sums:
                samples, *sums = self._sums[subset]
                subjects, chars, entities, query_chars, needed = (value / samples for value in sums)
                types = MappingProxyType(self._types[subset])
                found[subset] = SubsetStatistics(samples, subjects, chars, entities, query_chars, needed, types)
        return found
