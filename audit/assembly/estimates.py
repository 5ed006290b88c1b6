"""The table of estimates of a run, from its evidence tables: every formula is called here, and nothing is computed.

A new formula is one line here (CONTRIBUTING, "Add a metric").
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from clinaudit.audit.measures.attack_estimates import estimate_membership, estimate_queries
from clinaudit.audit.measures.generation.place import Tables
from clinaudit.audit.measures.memorization.estimates import estimate_memorization
from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.pii.estimates import estimate_identifiers
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.audit.statistics.estimates import add_differences
from clinaudit.reports.estimates.frame import one_table
from clinaudit.reports.estimates.registry import METRICS


def estimate_run(evidence: Path, *, match_tokens: int) -> pl.DataFrame:
    """Return the exact table of a run; `evidence` is the folder of its evidence tables.

    `match_tokens` is the length of a match in tokens. A formula whose tables are not there (`analyze`, which asks no
    everyday tasks) gives no rows.
    """
    tables = {name: pl.scan_parquet(path) for name in SCHEMAS if (path := evidence / f"{name}.parquet").exists()}
    #: The tables that a formula cannot do without.
    formulas: Sequence[tuple[set[str], Callable[[Tables], pl.DataFrame]]] = (
        ({"generation_metrics", "memorized_text"}, partial(estimate_memorization, match_tokens=match_tokens)),
        ({"generation_metrics", "planted"}, estimate_identifiers),
        ({"ordinary"}, partial(estimate_everyday, match_tokens=match_tokens)),
        ({"queries_needed"}, estimate_queries),
        ({"membership"}, estimate_membership),
    )
    return with_differences(one_table(formula(tables) for needed, formula in formulas if tables.keys() >= needed))


def with_differences(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the differences of the metrics whose chance is that of patients never seen."""
    differ = pl.col("metric").is_in([name for name, metric in METRICS.items() if metric.chance == "never seen"])
    return one_table([add_differences(table.filter(differ)), table.filter(~differ)])
