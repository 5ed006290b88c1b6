"""Tables of the samples of the benchmark: how many, how long, and which types (PII-Bench, Tables 3 and 10).

Owns which number stands where, and the paper's own beside it. Computes nothing but shares of counts.
"""

from collections.abc import Mapping

from clinaudit.reports.schema.paper_samples import PAPER_STATISTICS, PAPER_TYPES, PaperStatistics
from clinaudit.reports.schema.pii_bench import BENCH_SUBSETS, BenchStatistics, PiiBench
from clinaudit.reports.tables.table import Table
from clinaudit.reports.wording.numbers import number_text, percent_text
from clinaudit.reports.wording.pii_bench import DOMAINS, FROM_PAPER, SUBSETS


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
