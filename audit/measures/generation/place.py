"""Where a row of the evidence counts in the table of estimates: its form and arm (docs/methods.md, section 1)."""

from collections.abc import Mapping
from typing import Final

import polars as pl

#: Evidence tables by name, as formulas take them: only the columns that one asks for are read.
Tables = Mapping[str, pl.LazyFrame]
#: Columns of the place of what a model answered.
PLACES: Final = ("form", "tier", "arm")


def with_place(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of targets that have `role`, `model` and `arm` with the arm by which they count.

    Patients whom the site named besides are in no figure: every formula takes rows of patients by this, and joins what
    has no role to them by generation_id.
    What the control model answered, or scored, about patients trained on is the arm "control"; what it scored of others
    is left out.

    Example::

        with_place(tables["generation_metrics"]).group_by(PLACES).len()
    """
    by_control = pl.col("model") == "control"
    return rows.filter(pl.col("role") == "target", ~by_control | (pl.col("arm") == "train")).with_columns(
        arm=pl.when(by_control).then(pl.lit("control")).otherwise("arm")
    )
