"""The table of estimates of a run, from its evidence tables: every formula is called here, and nothing is computed.

A new formula is one line here (CONTRIBUTING, "Add a metric").
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from clinaudit.audit.measures.attack_estimates import estimate_membership, estimate_queries
from clinaudit.audit.measures.cohorts.estimates import estimate_cohorts
from clinaudit.audit.measures.disclosure.estimates import estimate_disclosure
from clinaudit.audit.measures.generation.estimates import estimate_completeness, estimate_prompts
from clinaudit.audit.measures.generation.place import Tables, with_place
from clinaudit.audit.measures.judge.estimates import estimate_judge
from clinaudit.audit.measures.memorization.estimates import estimate_memorization
from clinaudit.audit.measures.ordinary.estimates import estimate_everyday
from clinaudit.audit.measures.population.estimates import (
    estimate_overlap,
    estimate_population,
    estimate_subgroups,
    estimate_uniqueness,
)
from clinaudit.audit.pii.estimates import estimate_identifiers
from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS
from clinaudit.audit.statistics.estimates import add_differences
from clinaudit.reports.estimates.frame import Estimates, one_table
from clinaudit.reports.estimates.registry import METRICS


def estimate_run(evidence: Path, *, match_tokens: int, training_length: int | None = None) -> pl.DataFrame:
    """Return the exact table of a run; `evidence` is the folder of its evidence tables.

    `match_tokens` is the length of a match; `training_length` that of the longest text the model was trained on, in
    tokens, which an audit knows. A formula whose tables are not there has no rows: `analyze` knows no prompts.
    """
    tables = {name: pl.scan_parquet(path) for name in SCHEMAS if (path := evidence / f"{name}.parquet").exists()}
    found = with_differences(one_table(_estimate_answers(tables, match_tokens)))
    if training_length is None:
        return found
    return one_table([found, *_estimate_audit(tables, training_length)])


def _estimate_answers(tables: Tables, match_tokens: int) -> Iterator[pl.DataFrame]:
    """Yield what follows from answers and scores."""
    if "generation_metrics" in tables:
        yield estimate_memorization(tables, match_tokens=match_tokens)
        yield estimate_identifiers(tables)
    if "ordinary" in tables:
        yield estimate_everyday(tables, match_tokens=match_tokens)
    if "queries_needed" in tables:
        yield estimate_queries(tables)
        yield estimate_membership(tables)


def _estimate_audit(tables: Tables, training_length: int) -> Iterator[pl.DataFrame]:
    """Yield what an audit knows besides: patients, prompts, cohorts, the judge, disclosure, completeness."""
    patients, people, cohorts, priors = (tables[name].collect() for name in ("patients", "people", "cohorts", "priors"))
    # Texts and ids of tokens would take gigabytes, and no figure is made of them.
    generations = tables["generations"].drop("text", "token_ids").collect()
    judgements = tables["judgements"].drop("judge", "answers", pl.selectors.ends_with("_spans")).collect()
    yield estimate_population(patients, people, cohorts, training_length=training_length)
    yield estimate_overlap(people, priors)
    yield estimate_uniqueness(tables["uniqueness"].collect(), patients)
    yield estimate_subgroups(patients, with_place(tables["generation_metrics"]).collect())
    yield estimate_prompts(priors)
    yield estimate_completeness(priors, generations, None if judgements.is_empty() else judgements)
    matched = estimate_cohorts(tables["candidates"].collect(), cohorts)
    judge = estimate_judge(tables["scored_texts"].collect())
    yield from (matched, judge)
    sensitivity = Estimates(judge).find("judge_sensitivity")
    yield estimate_disclosure(
        cohorts,
        priors,
        generations,
        judgements,
        prevalences={row.diagnosis: row.value for row in Estimates(matched).rows("prevalence")},
        judge_sensitivity=None if sensitivity is None else sensitivity.value,
    )


def with_differences(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the differences of the metrics whose chance is that of patients never seen."""
    differ = pl.col("metric").is_in([name for name, metric in METRICS.items() if metric.chance == "never seen"])
    return one_table([add_differences(table.filter(differ)), table.filter(~differ)])
