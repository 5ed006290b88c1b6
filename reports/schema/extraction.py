"""Records of queries needed: how often a model must be asked until it gives a patient's text away (docs/results.md)."""

from typing import Final

from pydantic import Field

from clinaudit.reports.schema.numbers import Count, EstimateRange
from clinaudit.reports.schema.record import Record

#: Largest number of queries of each class; a class holds those above the one before it.
QUERY_LIMITS: Final = (1, 10, 100, 1_000, 10_000)
#: More than the largest; and nothing of what follows the opening counts as given away.
MORE_QUERIES: Final = "more"
NO_WINDOW: Final = "none"
#: The classes of patients, in order.
QUERY_CELLS: Final = (*map(str, QUERY_LIMITS), MORE_QUERIES, NO_WINDOW)


class QueriesEvidence(Record):
    """Exact numbers of patients by queries needed."""

    patients: int
    by_queries: dict[str, int]
    #: Null without a control model.
    control_by_queries: dict[str, int] | None = None


class QueriesResults(Record):
    """Patients of one tier and arm by how often the model must be asked for an even chance of text of their own."""

    #: Patients whose note's own beginning was scored.
    patients: Count
    #: By class: 1, 10, 100, 1000, 10000 queries at most, `more`, or `none`: nothing that follows would count.
    by_queries: dict[str, Count]
    #: Share of the patients who need at most so many queries.
    within: dict[str, EstimateRange]
    #: The same patients asked of the same model before it was trained on them; null without a control model.
    control_by_queries: dict[str, Count] | None = None
    control_within: dict[str, EstimateRange] | None = None
    #: Null in what is published.
    evidence: QueriesEvidence | None = Field(default=None)
