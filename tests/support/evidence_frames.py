"""Evidence tables for tests of formulas, from short rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clinaudit.audit.runtime.run.evidence_tables import SCHEMAS

_TYPES = {
    "text": pl.String,
    "texts": pl.List(pl.String),
    "ids": pl.List(pl.Int32),
    "floats": pl.List(pl.Float32),
    "int": pl.Int64,
    "float": pl.Float64,
    "bool": pl.Boolean,
    "removals": pl.List(pl.String),
}


def evidence(**tables: Sequence[Mapping[str, Any]]) -> dict[str, pl.LazyFrame]:
    """Return evidence tables with all of their columns; a row names those that matter, and the others are null.

    Counts of `generation_metrics` are 0 where they are not named.
    """
    frames = {}
    for name, rows in tables.items():
        schema = {column: _TYPES[kind] for column, kind in SCHEMAS[name].items()}
        filled = [{column: row.get(column, _unnamed(name, schema[column])) for column in schema} for row in rows]
        if strange := {column for row in rows for column in row} - schema.keys():
            raise ValueError(f"no column of {name}: {strange}")
        frames[name] = pl.LazyFrame(filled, schema=schema, orient="row")
    return frames


def _unnamed(table: str, column: object) -> int | None:
    return 0 if table == "generation_metrics" and column == pl.Int64 else None
