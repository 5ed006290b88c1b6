"""Evidence tables for tests of formulas, from short rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl
from support.generations import Generation

from clinaudit.audit.runtime.run.evidence_tables import as_table, schema_of


def evidence(**tables: Sequence[Mapping[str, Any]]) -> dict[str, pl.LazyFrame]:
    """Return evidence tables with all of their columns; a row names those that matter, and the others are null.

    Counts of `generation_metrics` are 0 where they are not named, and an answer says something.
    """
    frames = {}
    for name, rows in tables.items():
        schema = schema_of(name)
        filled = [
            {column: row.get(column, _unnamed(name, column, schema[column])) for column in schema} for row in rows
        ]
        if strange := {column for row in rows for column in row} - schema.keys():
            raise ValueError(f"no column of {name}: {strange}")
        frames[name] = pl.LazyFrame(filled, schema=schema, orient="row")
    return frames


#: What a row is of, and what its answer is, where it does not say so.
_ASKED: Final = {"role": "target", "model": "audited", "form": "text", "draw": 0} | dict.fromkeys(
    ("says_something", "says_something_before_end"), True
)


def _unnamed(table: str, column: str, kind: object) -> object:
    return _ASKED.get(column, 0 if table == "generation_metrics" and kind == pl.Int64 else None)


def generation_frame(generations: Iterable[Generation]) -> pl.DataFrame:
    """Return answers as the table `generations`."""
    names = ("generation_id", "patient_id", "arm", "role", "model", "form", "tier", "prompt", "text", "token_ids")
    rest = ("diagnoses", "finish_reason", "refused", "answer_chars")
    return as_table("generations", ({name: getattr(own, name) for name in (*names, *rest)} for own in generations))
