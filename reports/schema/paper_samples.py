"""What the samples of the paper hold, as it prints it (PII-Bench, Tables 3 and 10).

Owns these numbers, for the generator that follows them and for the tables that stand beside them. Of Table 10 the
counts are given and not the percentages, three of which stand in the wrong rows there (ORG, LOC and QUANTITY of multi).
Its 1,834 entities of hard are 9.17 a sample, where Table 3 has 10.60.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from clinaudit.reports.schema.pii_bench import BenchSubset


@dataclass(frozen=True, slots=True)
class PaperStatistics:
    """A row of Table 3: samples, then means over samples."""

    samples: int
    subjects: float
    description_chars: float
    entities: float
    query_chars: float
    needed_entities: float


#: PII-Bench, Table 3.
PAPER_STATISTICS: Final[Mapping[BenchSubset, PaperStatistics]] = MappingProxyType(
    {
        "all": PaperStatistics(2842, 1.92, 1028.32, 13.30, 268.41, 2.28),
        "single": PaperStatistics(1214, 1.0, 893.48, 7.67, 211.21, 1.95),
        "multi": PaperStatistics(1228, 2.0, 652.65, 13.14, 236.21, 2.06),
        "hard": PaperStatistics(200, 1.5, 778.03, 10.60, 222.09, 2.10),
        "distract": PaperStatistics(200, 7.5, 4403.64, 51.08, 859.69, 5.82),
    }
)
#: PII-Bench, Table 10: entities by type.
PAPER_TYPES: Final[Mapping[BenchSubset, Mapping[str, int]]] = MappingProxyType(
    {
        "single": {
            "PER": 1214, "DEM": 1220, "CODE": 1464, "ORG": 1590, "LOC": 1053, "DATETIME": 1368, "QUANTITY": 1394,
        },
        "multi": {"PER": 2456, "DEM": 2450, "CODE": 2470, "ORG": 2544, "LOC": 1516, "DATETIME": 2526, "QUANTITY": 2174},
        "hard": {"PER": 286, "DEM": 286, "CODE": 222, "ORG": 251, "LOC": 304, "DATETIME": 251, "QUANTITY": 234},
        "distract": {
            "PER": 1449, "DEM": 1467, "CODE": 1605, "ORG": 1673, "LOC": 1008, "DATETIME": 1559, "QUANTITY": 1450,
        },
    }
)  # fmt: skip
