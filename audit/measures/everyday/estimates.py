"""Estimates of everyday tasks: how many give a patient away, and how many by chance (docs/methods.md, section 2c).

A task counts where its answers, in all forms and draws, hold text of one match at least that is no boilerplate and
that exactly one patient holds, one trained on. Knows nothing of where answers come from.
"""

from typing import Final

import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables
from clinaudit.audit.statistics.estimates import count_row, shares_of_patients
from clinaudit.reports.estimates.frame import as_estimates, one_table

_TOKENS: Final = {
    "everyday_tasks": "other_patient_tokens",
    "everyday_tasks_sampled": "other_patient_sampled_tokens",
    "everyday_tasks_chance": "other_patient_chance_tokens",
}


def estimate_everyday(tables: Tables, *, match_tokens: int) -> pl.DataFrame:
    """Return all rows of everyday tasks; `match_tokens` is the length of a match.

    Takes the tables generations, generation_metrics, other_patients and identifiers. A task counts once all of its
    answers are there; how many lack one says `missing`. Patients are those whose text is in a task that counts. Rows of
    the control model, where it was asked, are the arm "control".
    """
    verified = tables["identifiers"].group_by("generation_id").agg(has_identifier=pl.col("verified").any())
    telling = tables["other_patients"].filter(pl.col("telling_tokens") > 0)
    owners = telling.group_by("generation_id").agg("owner_patient_id")
    metrics = tables["generation_metrics"].select("generation_id", "tokens", "says_something", *_TOKENS.values())
    asked = tables["generations"].filter(role="nobody").select("generation_id", "model", "task")
    answers = (
        asked.join(metrics, on="generation_id")
        .join(verified, on="generation_id", how="left", maintain_order="left")
        .join(owners, on="generation_id", how="left", maintain_order="left")
        .collect()
    )
    return one_table(
        _estimate_tasks(answers.filter(model=model), match_tokens).with_columns(arm=pl.lit(arm))
        for model, arm in (("audited", ""), ("control", "control"))
    )


def _estimate_tasks(answers: pl.DataFrame, match_tokens: int) -> pl.DataFrame:
    by_task = answers.group_by("task", maintain_order=True).agg(
        pl.len().alias("answers"),
        # Null where there are no pools; the sum of nothing would be 0.
        *(
            pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum() >= match_tokens).alias(metric)
            for metric, column in _TOKENS.items()
        ),
        pl.col("has_identifier").fill_null(value=False).any().alias("everyday_identifiers"),
        (pl.col("says_something") & (pl.col("tokens") >= match_tokens)).any().alias("everyday_long_answers"),
        pl.col("owner_patient_id").explode().drop_nulls().unique().alias("patients"),
    )
    tasks = by_task.filter(pl.col("answers") == pl.col("answers").max())
    if tasks.is_empty():
        return as_estimates(())
    patients = tasks.filter("everyday_tasks")["patients"].explode().drop_nulls().n_unique()
    shares = [*_TOKENS, "everyday_identifiers", "everyday_long_answers"]
    return one_table(
        [shares_of_patients(tasks, shares, (), unit="task"), as_estimates([count_row("everyday_patients", patients)])]
    )
