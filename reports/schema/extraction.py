"""Records of queries needed: how often a model must be asked until it gives a patient's text away (docs/results.md)."""

from typing import Final, Literal, get_args

from clinaudit.reports.schema.numbers import Count, CountRange, EstimateRange, add
from clinaudit.reports.schema.record import Record

#: So many queries at most.
QueryLimit = Literal["1", "10", "100", "1000", "10000"]
#: A class holds the numbers above the one before it: more than the largest, or nothing that follows the opening counts.
QueryCell = Literal[QueryLimit, "more", "none"]
#: The classes of patients, in order, and the largest number of queries of each.
QUERY_CELLS: Final[tuple[QueryCell, ...]] = get_args(QueryCell)
QUERY_LIMITS: Final = tuple(int(most) for most in get_args(QueryLimit))
MORE_QUERIES: Final = "more"
NO_WINDOW: Final = "none"


class QueriesResults(Record):
    """Patients of one tier and arm by how often the model must be asked for an even chance of text of their own."""

    #: Patients whose note's own beginning was scored.
    patients: Count
    #: By class: 1, 10, 100, 1000, 10000 queries at most, `more`, or `none`: nothing that follows would count.
    by_queries: dict[QueryCell, Count]
    #: Share of the patients who need at most so many queries.
    within: dict[QueryLimit, EstimateRange]
    #: The same patients asked of the same model before it was trained on them; null without a control model.
    control_by_queries: dict[QueryCell, Count] | None = None
    control_within: dict[QueryLimit, EstimateRange] | None = None

    def share(self, queries: int, *, by_control: bool = False) -> EstimateRange | None:
        """Return the share within so many queries, of the audited model or the control; None where there is none."""
        shares = self.control_within if by_control else self.within
        return next((share for most, share in (shares or {}).items() if int(most) == queries), None)

    def count(self, queries: int, *, by_control: bool = False) -> CountRange | None:
        """Return the patients within so many queries, of the audited model or the control; None where there is none."""
        cells = self.control_by_queries if by_control else self.by_queries
        names = QUERY_CELLS[: QUERY_LIMITS.index(queries) + 1]
        return None if cells is None else add((cells[name] for name in names), of=self.patients)
