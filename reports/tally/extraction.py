"""The tally of queries needed."""

from dataclasses import dataclass

from clinaudit.reports.tally.leaves import Partition


@dataclass(frozen=True, slots=True)
class QueriesTally:
    """Patients of one tier and arm whose opening was scored, by queries needed; see `QUERY_CELLS`."""

    patients: Partition
    #: The same patients by the control model; None without one.
    control: Partition | None
    #: Whether all of the split were scored, and not those alone who were asked about.
    of_split: bool = False

    @property
    def partitions(self) -> list[Partition]:
        """Of the same patients, by one model each."""
        return [self.patients, *([] if self.control is None else [self.control])]
