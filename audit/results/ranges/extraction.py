"""Queries needed, from their tally (docs/results.md)."""

from clinaudit.audit.results.ranges.counts import common_total, share_range
from clinaudit.reports.schema.extraction import QUERY_CELLS, QUERY_LIMITS, QueriesResults
from clinaudit.reports.schema.numbers import CountRange, EstimateRange, add
from clinaudit.reports.tally.extraction import QueriesTally
from clinaudit.reports.tally.leaves import Partition


def derive_queries(tally: QueriesTally, *arm: CountRange) -> QueriesResults:
    """Return the results of one tier and arm; `arm` bounds how many they are, unless all of the split were scored."""
    partitions = [tally.patients, *([] if tally.control is None else [tally.control])]
    bounds = [] if tally.of_split else [[bound] for bound in arm]
    patients = common_total([*(list(of.cells.values()) for of in partitions), *bounds])
    return QueriesResults(
        patients=patients,
        by_queries=dict(tally.patients.cells),
        within=_within(tally.patients, patients),
        control_by_queries=None if tally.control is None else dict(tally.control.cells),
        control_within=None if tally.control is None else _within(tally.control, patients),
        evidence=tally.evidence.value,
    )


def _within(partition: Partition, patients: CountRange) -> dict[str, EstimateRange]:
    return {
        str(most): share_range(
            *(add(partition[name] for name in part) for part in (QUERY_CELLS[:place], QUERY_CELLS[place:])),
            total=patients,
        )
        for place, most in enumerate(QUERY_LIMITS, start=1)
    }
