"""Queries needed, from their tally (docs/results.md)."""

from clinaudit.audit.statistics.counts import common_total, shares_up_to
from clinaudit.reports.schema.extraction import QUERY_LIMITS, QueriesResults
from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.extraction import QueriesTally


def derive_queries(tally: QueriesTally, *arm: CountRange) -> QueriesResults:
    """Return the results of one tier and arm; `arm` bounds how many they are, unless all of the split were scored."""
    audited, control = (None if of is None else dict(of.cells) for of in (tally.patients, tally.control))
    bounds = [] if tally.of_split else [[bound] for bound in arm]
    patients = common_total([*(list(of.cells.values()) for of in tally.partitions), *bounds])
    shares = [None if cells is None else shares_up_to(QUERY_LIMITS, cells, patients) for cells in (audited, control)]
    return QueriesResults(
        patients=patients,
        by_queries=audited,
        within=shares[0],
        control_by_queries=control,
        control_within=shares[1],
    )
