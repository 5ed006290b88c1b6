"""The table of estimates as CSV: `results.csv` and `evidence/results.csv` (docs/results.md, "results.csv").

Owns the one way in which a table is written, so that equal tables give equal bytes. A hidden count is read from its
ends: 1 and 10 are `<11`, N−10 and N−1 are `>N−11`.
"""

from typing import Final

import polars as pl

from clinaudit.reports.estimates.frame import COLUMNS, PLACE

#: Decimals of a figure and of the ends of its interval.
DECIMALS: Final = 6
_FIGURES: Final = [name for name, kind in COLUMNS.items() if kind == pl.Float64()]
_TEXTS: Final = [name for name, kind in COLUMNS.items() if kind == pl.String()]


def write_csv(frame: pl.DataFrame) -> str:
    """Return the text of a table, its rows in their order; what does not apply is empty.

    Example::

        write_csv(as_estimates([Row("hit_rate", value=0.5)]))  # "metric,form,…\\nhit_rate,,,,,,,0.5,,,,,,,,\\n"
    """
    shown = frame.select(COLUMNS.keys()).with_columns(
        # What rounds to −0 is 0.
        *(
            pl.when(pl.col(name).round(DECIMALS) == 0).then(0.0).otherwise(pl.col(name).round(DECIMALS)).alias(name)
            for name in _FIGURES
        ),
        *(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in _TEXTS),
    )
    return shown.write_csv(float_scientific=False)


def read_csv(text: str) -> pl.DataFrame:
    """Return the table of a text that `write_csv` wrote; raises `ValueError` for any other text, and quotes none of it.

    So a cell that was edited by hand, `0.50` for `0.5`, is an error, and so are two rows at one place.
    """
    # Polars' message quotes what it could not read.
    problem = ValueError("not a table of estimates as it was written")
    try:
        frame = pl.read_csv(text.encode(), schema=dict(COLUMNS), empty_string_is_null=False)
    except (pl.exceptions.PolarsError, UnicodeEncodeError):
        raise problem from None
    is_finite = all(frame[name].drop_nulls().is_finite().all() for name in _FIGURES)
    if not is_finite or frame.select(PLACE).is_duplicated().any() or write_csv(frame) != text:
        raise problem
    return frame
