"""What a set of samples holds, as the paper tells it of its own (PII-Bench, Tables 3 and 10).

Owns the counts and the paper's rows beside them. An entity counts once a subject, however often it stands in the text.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, get_args

from clinaudit.audit.pii.benchmark.samples import Sample, Subset
from clinaudit.audit.pii.taxonomy import PII_TYPES, PiiType


@dataclass(frozen=True, slots=True)
class SubsetStatistics:
    """One row of Table 3 and one column of Table 10; all but `samples` and `types` are means a sample."""

    samples: int
    subjects: float
    description_chars: float
    entities: float
    query_chars: float
    needed: float
    #: Entities by type.
    types: Mapping[PiiType, int]


def _paper_types(
    per: int, dem: int, code: int, org: int, loc: int, datetime: int, quantity: int
) -> Mapping[PiiType, int]:
    counts = {"PER": per, "DEM": dem, "CODE": code, "ORG": org, "LOC": loc, "DATETIME": datetime, "QUANTITY": quantity}
    return MappingProxyType({pii_type: counts[pii_type] for pii_type in PII_TYPES})


#: As printed. Table 10's percentages of multi are permuted over ORG, LOC and QUANTITY: only its counts are used;
#: its 1,834 entities of hard are 9.17 a sample, where Table 3 has 10.60.
PAPER_STATISTICS: Final[Mapping[Subset, SubsetStatistics]] = MappingProxyType(
    {
        "single": SubsetStatistics(
            1_214, 1.0, 893.48, 7.67, 211.21, 1.95, _paper_types(1214, 1220, 1464, 1590, 1053, 1368, 1394)
        ),
        "multi": SubsetStatistics(
            1_228, 2.0, 652.65, 13.14, 236.21, 2.06, _paper_types(2456, 2450, 2470, 2544, 1516, 2526, 2174)
        ),
        "hard": SubsetStatistics(
            200, 1.5, 778.03, 10.60, 222.09, 2.10, _paper_types(286, 286, 222, 251, 304, 251, 234)
        ),
        "distract": SubsetStatistics(
            200, 7.5, 4_403.64, 51.08, 859.69, 5.82, _paper_types(1449, 1467, 1605, 1673, 1008, 1559, 1450)
        ),
    }
)


class SampleCounter:
    """Counts samples one by one, so that none need be kept."""

    def __init__(self) -> None:
        self._sums: dict[Subset, list[int]] = defaultdict(lambda: [0] * 6)
        self._types: dict[Subset, dict[PiiType, int]] = defaultdict(lambda: dict.fromkeys(PII_TYPES, 0))
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
        for subset in get_args(Subset):
            if subset in self._sums:
                samples, *sums = self._sums[subset]
                subjects, chars, entities, query_chars, needed = (value / samples for value in sums)
                types = MappingProxyType(self._types[subset])
                found[subset] = SubsetStatistics(samples, subjects, chars, entities, query_chars, needed, types)
        return found


def count_samples(samples: Iterable[Sample]) -> dict[Subset, SubsetStatistics]:
    """Return the statistics of samples by subset."""
    counter = SampleCounter()
    for sample in samples:
        counter.add(sample)
    return counter.statistics()
