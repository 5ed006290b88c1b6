"""The table of queries needed: patients of each tier and arm by how often the model must be asked."""

from clinaudit.reports.schema.extraction import MORE_QUERIES, NO_WINDOW, QUERY_CELLS, QUERY_LIMITS
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about
from clinaudit.reports.wording.names import BEFORE_TRAINING, order_tiers
from clinaudit.reports.wording.numbers import count_text

_HEADS = {MORE_QUERIES: "More", NO_WINDOW: "Nothing that counts follows"}
_NOTE = (
    "Queries at temperature 1 for an even chance of the first text of the patient’s own after the note’s own "
    "beginning, word for word. Fewer may do for some other text of the patient’s."
)


def queries_table(results: RunResults) -> Table:
    """Return patients by queries needed."""
    rows = []
    for tier in order_tiers(results.queries):
        for arm in ARMS:
            if (own := results.queries[tier].get(arm)) is None:
                continue
            counted = [(asked_about(tier, arm), own.by_queries)]
            if own.control_by_queries is not None:
                place, who = asked_about(tier, arm)
                counted.append(((place, f"{who}, the model {BEFORE_TRAINING}"), own.control_by_queries))
            rows += [
                (*about, count_text(own.patients), *(count_text(cells[name]) for name in QUERY_CELLS))
                for about, cells in counted
            ]
    above = dict(zip(QUERY_CELLS, (0, *QUERY_LIMITS), strict=False))
    heads = [_HEADS.get(name) or _queries_text(above[name] + 1, int(name)) for name in QUERY_CELLS]
    return Table("Queries needed", ("Tier", "Who", "Patients", *heads), tuple(rows), _NOTE if rows else "")


def _queries_text(least: int, most: int) -> str:
    return "1 query" if most == 1 else f"{least:,}–{most:,}"
