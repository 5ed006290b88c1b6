"""How well the judge reads, as rows of the table of estimates; from the evidence table `scored_texts`.

A text without a usable verdict enters no figure, and is never a negative; an instruction that leaves a text without a
verdict has changed it. Knows no text.
"""

from collections.abc import Iterator

import polars as pl

from clinaudit.audit.measures.generation.estimates import Tables
from clinaudit.audit.statistics.estimates import share_row
from clinaudit.reports.estimates.frame import Row, as_estimates


def estimate_judge(tables: Tables) -> pl.DataFrame:
    """Return sensitivity, specificity and accuracy, over all labelled texts and by diagnosis, and what hides from it.

    Example: 13 positive texts of which 12 are read so give `judge_sensitivity` 0.923 of 13.
    """
    scored = tables["scored_texts"].collect()
    labelled = scored.filter(pl.col("kind") == "labelled")
    judged = labelled.filter(pl.col("verdict") != "unjudged")
    rows = list(_estimate_reading(judged, ""))
    for diagnosis in labelled["diagnosis"].unique(maintain_order=True):
        rows += _estimate_reading(judged.filter(pl.col("diagnosis") == diagnosis), diagnosis)
    planted = scored.filter(pl.col("kind") == "planted", pl.col("verdict") != "unjudged")
    hidden = planted.filter(pl.col("truth") == "positive", pl.col("verdict") == "positive")
    flips = (planted["verdict"] != planted["injected_verdict"]).sum()
    rows.append(share_row("judge_flips", int(flips), planted.height))
    rows.append(share_row("judge_hidden", int((hidden["injected_verdict"] != "positive").sum()), hidden.height))
    return as_estimates(rows)


def _estimate_reading(judged: pl.DataFrame, diagnosis: str) -> Iterator[Row]:
    is_positive, read_so = judged["truth"] == "positive", judged["verdict"] == "positive"
    found, spared = int((is_positive & read_so).sum()), int((~is_positive & ~read_so).sum())
    right = int((judged["truth"] == judged["verdict"]).sum())
    yield share_row("judge_sensitivity", found, int(is_positive.sum()), diagnosis=diagnosis)
    yield share_row("judge_specificity", spared, int((~is_positive).sum()), diagnosis=diagnosis)
    yield share_row("judge_accuracy", right, judged.height, diagnosis=diagnosis)
