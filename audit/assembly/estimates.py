"""The table of estimates of a run, from its evidence tables: a new formula is one line here (CONTRIBUTING)."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from clinaudit.audit.measures import population
from clinaudit.audit.measures.cohorts.estimates import estimate_cohorts
from clinaudit.audit.measures.disclosure import estimate_disclosure
from clinaudit.audit.measures.everyday.estimates import estimate_everyday
from clinaudit.audit.measures.extraction import estimate_queries
from clinaudit.audit.measures.generation.estimates import Tables, estimate_completeness, estimate_prompts
from clinaudit.audit.measures.judge.stage import estimate_judge
from clinaudit.audit.measures.membership import estimate_membership
from clinaudit.audit.measures.memorization.estimates import estimate_memorization
from clinaudit.audit.pii.stage import estimate_identifiers
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.audit.statistics.estimates import add_differences
from clinaudit.reports.estimates.frame import METRICS, Estimates, one_table


def estimate_run(evidence: Path, *, match_tokens: int, training_length: int | None = None) -> pl.DataFrame:
    """Return the exact table of a run; `evidence` is the folder of its evidence tables.

    `match_tokens` is the length of a match in tokens, `training_length` that of the longest text that the model was
    trained on, None where it is not known. A formula whose tables are not there (`analyze`, which asks no
    everyday tasks) gives no rows.
    """
    tables = {name: pl.scan_parquet(path) for name in SCHEMAS if (path := evidence / f"{name}.parquet").exists()}
    # Each formula beside the tables that tell whether what it measures was done.
    formulas: Sequence[tuple[set[str], Callable[[Tables], pl.DataFrame]]] = (
        ({"generation_metrics", "memorized_text"}, partial(estimate_memorization, match_tokens=match_tokens)),
        ({"generation_metrics", "planted"}, estimate_identifiers),
        ({"generations", "generation_metrics", "identifiers"}, partial(estimate_everyday, match_tokens=match_tokens)),
        ({"queries_needed"}, estimate_queries),
        ({"membership"}, estimate_membership),
        ({"candidates", "cohorts", "judgements"}, _estimate_diagnoses),
        ({"patients", "people", "cohorts"}, partial(population.estimate_population, training_length=training_length)),
        ({"patients", "uniqueness"}, population.estimate_uniqueness),
        ({"patients", "generation_metrics"}, partial(population.estimate_subgroups, match_tokens=match_tokens)),
        ({"people", "priors"}, population.estimate_overlap),
        ({"priors"}, estimate_prompts),
        ({"priors", "generations"}, estimate_completeness),
    )
    table = one_table(formula(tables) for needed, formula in formulas if tables.keys() >= needed)
    # Of the metrics whose chance is that of patients never seen.
    differ = pl.col("metric").is_in([name for name, metric in METRICS.items() if metric.chance == "never seen"])
    return one_table([add_differences(table.filter(differ)), table.filter(~differ)])


def _estimate_diagnoses(tables: Tables) -> pl.DataFrame:
    """Return the estimates of cohorts and judge, and with both those of disclosure."""
    before = one_table([estimate_cohorts(tables), estimate_judge(tables)])
    found = Estimates(before)
    sensitivity = found.find("judge_sensitivity")
    disclosure = estimate_disclosure(
        tables,
        prevalences={row.diagnosis: row.value for row in found.rows("prevalence")},
        judge_sensitivity=None if sensitivity is None else sensitivity.value,
    )
    return one_table([before, disclosure])
