"""Where in the table of estimates an answer stands: form and arm from how it was asked (docs/results.md).

Owns the one mapping from the `rendering` of evidence tables. Knows nothing of what was measured.
"""

from typing import Final

import polars as pl

#: Form by rendering. The control model's answers are an arm of the form in which it was asked.
FORMS: Final = {
    "text": "text",
    "opening": "text",
    "chat": "chat",
    "control": "text",
    "control_chat": "chat",
    "drawn": "drawn",
}


def with_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of an evidence table with a column `form`, and with `arm` "control" for the control's answers."""
    rendering = pl.col("rendering")
    return rows.with_columns(
        rendering.replace_strict(FORMS, return_dtype=pl.String).alias("form"),
        pl.when(rendering.str.starts_with("control")).then(pl.lit("control")).otherwise(pl.col("arm")).alias("arm"),
    )
