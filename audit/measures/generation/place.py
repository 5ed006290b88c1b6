"""Where a row of the evidence counts in the table of estimates: its form and arm (docs/methods.md, section 1)."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from clinaudit.priors.renderings import BY_CONTROL, DRAWN, OF_CONTROL, Rendering

#: Evidence tables by name, as formulas take them: only the columns that one asks for are read.
Tables = Mapping[str, pl.LazyFrame]
#: Columns of the place of what a model answered.
PLACES: Final = ("form", "tier", "arm")
#: Form by rendering. The control model is asked in the audited model's forms.
_ASKED: Final[Mapping[Rendering, str]] = {"text": "text", "opening": "text", "chat": "chat", DRAWN: DRAWN}
_FORMS: Final = {**_ASKED, **{OF_CONTROL[rendering]: form for rendering, form in _ASKED.items()}}


def with_place(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows that have `rendering` and `arm` with their `form`, and the arm by which they count.

    What the control model answered about patients trained on is the arm "control"; what it answered about others is
    left out. Raises `polars.exceptions.InvalidOperationError` of a rendering that has no form.

    Example::

        with_place(tables["generation_metrics"]).group_by(PLACES).len()
    """
    by_control = pl.col("rendering").is_in(sorted(BY_CONTROL))
    return rows.filter(~by_control | (pl.col("arm") == "train")).with_columns(
        pl.col("rendering").replace_strict(_FORMS, return_dtype=pl.String).alias("form"),
        pl.when(by_control).then(pl.lit("control")).otherwise(pl.col("arm")).alias("arm"),
    )
