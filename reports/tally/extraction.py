"""The tally of queries needed."""

from dataclasses import dataclass

from clinaudit.reports.schema.extraction import QueriesEvidence
from clinaudit.reports.tally.leaves import Inside, Partition


@dataclass(frozen=True, slots=True)
class QueriesTally:
    """Patients of one tier and arm whose opening was scored, by queries needed; see `QUERY_CELLS`."""

    patients: Partition
    #: The same patients by the control model; None without one.
    control: Partition | None
    evidence: Inside[QueriesEvidence]
    #: Whether all of the split were scored, and not those alone who were asked about.
    of_split: bool = False
