"""Estimates of everyday tasks: how many give a patient away, and how many by chance (docs/methods.md, section 2c).

A task counts where its answers, in all forms and draws, hold revealing tokens of one match at least that exactly one
patient holds, one trained on. Knows nothing of where answers come from.
"""

from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.place import Tables
from clinaudit.audit.statistics.estimates import count_row, shares_of_patients
from clinaudit.reports.estimates.frame import as_estimates, one_table

_TOKENS: Final = {
    "everyday_tasks": "text_tokens",
    "everyday_tasks_sampled": "sampled_tokens",
    "everyday_tasks_chance": "chance_tokens",
}


def estimate_everyday(tables: Tables, *, match_tokens: int) -> pl.DataFrame:
    """Return all rows of everyday tasks; `match_tokens` is the length of a match. Takes the table ordinary.

    A task counts once all of its answers are there. Where the control model was asked the tasks (ordinary_control), its
    rows are the arm "control".
    """
    rows = _estimate_tasks(tables["ordinary"], match_tokens)
    if "ordinary_control" not in tables:
        return rows
    by_control = _estimate_tasks(tables["ordinary_control"], match_tokens)
    return one_table([rows, by_control.with_columns(arm=pl.lit("control"))])


def _estimate_tasks(asked: pl.LazyFrame, match_tokens: int) -> pl.DataFrame:
    answers = asked.select(
        "task", *_TOKENS.values(), "passage_patients", "identifiers", pl.col("token_ids").list.len().alias("tokens")
    )
    by_task = answers.group_by("task", maintain_order=True).agg(
        pl.len().alias("answers"),
        # Null where there are no pools; the sum of nothing would be 0.
        *(
            pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum() >= match_tokens).alias(metric)
            for metric, column in _TOKENS.items()
        ),
        (pl.col("identifiers").list.len() > 0).any().alias("everyday_identifiers"),
        (pl.col("tokens") >= match_tokens).any().alias("everyday_long_answers"),
        pl.col("passage_patients").explode().drop_nulls().unique().alias("patients"),
    )
    tasks = by_task.filter(pl.col("answers") == pl.col("answers").max()).collect()
    if tasks.is_empty():
        return as_estimates(())
    patients = tasks["patients"].explode().drop_nulls().n_unique()
    shares = [*_TOKENS, "everyday_identifiers", "everyday_long_answers"]
    return one_table(
        [shares_of_patients(tasks, shares, (), unit="task"), as_estimates([count_row("everyday_patients", patients)])]
    )
