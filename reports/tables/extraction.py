"""The table of queries needed: patients of each tier and arm by how often the model must be asked."""

from itertools import pairwise
from typing import Final

from clinaudit.reports.schema.extraction import QUERY_CELLS, QUERY_LIMITS
from clinaudit.reports.schema.record import ARMS
from clinaudit.reports.schema.results import RunResults
from clinaudit.reports.tables.table import Table, asked_about
from clinaudit.reports.wording.names import BEFORE_TRAINING, order_tiers
from clinaudit.reports.wording.numbers import count_text

#: Of `QUERY_CELLS`.
_HEADS: Final = (
    "1 query",
    *(f"{before + 1:,}–{most:,}" for before, most in pairwise(QUERY_LIMITS)),
    "More",
    "Nothing that counts follows",
)
_NOTE: Final = (
    "Queries at temperature 1 for an even chance of the first text of the patient’s own after the note’s own "
    "beginning, word for word. Fewer may do for some other text of the patient’s."
)


def queries_table(results: RunResults) -> Table:
    """Return patients by queries needed."""
    rows = []
    for tier in order_tiers(results.queries):
        for arm in (arm for arm in ARMS if arm in results.queries[tier]):
            own = results.queries[tier][arm]
            place, who = asked_about(tier, arm)
            before = f"{who}, the model {BEFORE_TRAINING}"
            for whose, cells in ((who, own.by_queries), (before, own.control_by_queries)):
                if cells is not None:
                    counts = (own.patients, *(cells[name] for name in QUERY_CELLS))
                    rows.append((place, whose, *map(count_text, counts)))
    return Table("Queries needed", ("Tier", "Who", "Patients", *_HEADS), tuple(rows), _NOTE if rows else "")
