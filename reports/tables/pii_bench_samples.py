"""Tables of the samples of the benchmark: how many, how long, and which types (PII-Bench, Tables 3 and 10).

Owns the paper's own numbers of these two tables, which stand beside. Of Table 10 the counts are given and not the
percentages, three of which stand in the wrong rows there (ORG, LOC and QUANTITY of two persons).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, BenchStatistics, BenchSubset, PiiBench
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import number_text, percent_text
from clinaudit.reports.wording.pii_bench import DOMAINS, FROM_PAPER, SUBSETS


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


def statistics_table(bench: PiiBench) -> Table:
    """Return the samples of each subset, with the paper's row below each of the general texts."""
    rows: list[tuple[str, ...]] = []
    for each in _in_order(bench):
        rows.append((f"{SUBSETS[each.subset]}, {DOMAINS[each.domain]}", *_numbers(each)))
        if each.domain == "general":
            rows.append((f"{SUBSETS[each.subset]} ({FROM_PAPER})", *_numbers(PAPER_STATISTICS[each.subset])))
    columns = ("Samples", "Number", "Persons", "Characters", "Identifiers", "Characters of the question", "Needed")
    return Table("The samples: means by subset (Table 3)", columns, tuple(rows))


def types_table(bench: PiiBench) -> Table:
    """Return the identifiers by type, with the paper's row below each of the general texts."""
    types = list(PAPER_TYPES["single"])
    rows: list[tuple[str, ...]] = []
    for each in _in_order(bench):
        rows.append((f"{SUBSETS[each.subset]}, {DOMAINS[each.domain]}", *_shares(each.types, types)))
        if each.domain == "general" and (paper := PAPER_TYPES.get(each.subset)):
            rows.append((f"{SUBSETS[each.subset]} ({FROM_PAPER})", *_shares(paper, types)))
    note = (
        "Percentages of the paper are computed from its counts: of two persons, three of those printed there stand in"
        " the wrong rows."
    )
    return Table("Identifiers by type (Table 10)", ("Samples", *types, "Total"), tuple(rows), note)


def _in_order(bench: PiiBench) -> list[BenchStatistics]:
    places = [(domain, subset) for domain in DOMAINS for subset in BENCH_SUBSETS]
    return sorted(bench.statistics, key=lambda each: places.index((each.domain, each.subset)))


def _numbers(each: BenchStatistics | PaperStatistics) -> tuple[str, ...]:
    means = (each.subjects, each.description_chars, each.entities, each.query_chars, each.needed_entities)
    return (f"{each.samples:,}", *map(number_text, means))


def _shares(counts: Mapping[str, int], types: list[str]) -> tuple[str, ...]:
    total = sum(counts.values())
    present = [counts.get(name, 0) for name in types]
    cells = (f"{count:,} ({percent_text(count / total)})" if total else "0" for count in present)
    return (*cells, f"{total:,}")
