"""The frames that pass between stages and stand under `evidence/` (docs/results.md, "Evidence tables").

PHI. Owns the columns of each with their types, declared once, and all reading and writing of their files. Rows are
written in the order given, without statistics, so that equal rows give equal bytes.
"""

import os
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.runtime.run.directory import replacing_by_library
from clinaudit.errors import IntegrityError, StorageError

if TYPE_CHECKING:
    import polars as pl

_TABLES: Final = Path(__file__).with_name("evidence_tables.txt").read_text(encoding="utf-8")
#: Column -> type, by table. Of the text a paragraph is a table: its name, then its columns in their order.
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    name.removesuffix(":"): dict(column.split(":") for column in columns)
    for name, *columns in map(str.split, _TABLES.split("\n\n"))
}
#: Rows that are held as Python objects at a time, which take ten times the memory of their columns.
_BATCH_ROWS = 2_000
#: Rows of a row group, which are held at a time as columns.
_GROUP_ROWS = 50_000
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")
_NO_END: Final = "thrift: transport error"


def read_table(directory: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table that `write_table` wrote; raises as `read_frame`."""
    return read_frame(directory, name).to_dicts()


def read_frame(directory: Path, name: str) -> "pl.DataFrame":
    """Return a table that `write_table` wrote; raises `IntegrityError` where the file is damaged."""
    import polars as pl

    try:
        return pl.read_parquet(directory / f"{name}.parquet", columns=list(SCHEMAS[name]))
    except (pl.exceptions.PolarsError, OSError):
        # polars quotes what it could not read.
        raise IntegrityError(f"{name}.parquet is not the table that the audit wrote; run the audit again") from None


def schema_of(name: str) -> "pl.Schema":
    """Return the columns of a table with their types, in their order."""
    import polars as pl

    types: dict[str, Any] = {"text": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
    types |= {"texts": pl.List(pl.String), "ids": pl.List(pl.Int32), "floats": pl.List(pl.Float32)}
    # Roles with what each says; pieces of a text, each with the reason why it goes.
    types["messages"] = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
    types["removals"] = pl.List(pl.Struct({"substring": pl.String, "reason": pl.String}))
    return pl.Schema({column: types[kind] for column, kind in SCHEMAS[name].items()})


def as_table(name: str, rows: "Iterable[Mapping[str, Any]] | pl.DataFrame") -> "pl.DataFrame":
    """Return rows, or a frame that has at least these columns, as a frame of a table's declared columns.

    Raises `polars.exceptions.PolarsError` of a column that is missing or of another type.

    Example::

        as_table("planted", [{"hipaa": "A", "planted": 9, "found": 8}])
    """
    import polars as pl

    schema = schema_of(name)
    if isinstance(rows, pl.DataFrame):
        return rows.select(schema.names()).match_to_schema(schema)
    return make_frame(rows, schema)


def make_frame(rows: Iterable[Mapping[str, Any]], schema: "pl.Schema") -> "pl.DataFrame":
    """Return a frame of rows, some of which are held at a time; each has exactly the columns of the schema."""
    import polars as pl

    remaining, frames = iter(rows), [pl.DataFrame(schema=schema)]
    while batch := list(islice(remaining, _BATCH_ROWS)):
        frames.append(pl.DataFrame(batch, schema=schema, orient="row"))
    return pl.concat(frames)


def write_table(directory: Path, name: str, rows: "Iterable[Mapping[str, Any]] | pl.DataFrame") -> None:
    """Write a table of `SCHEMAS` as Parquet, atomically; rows as for `as_table`; `StorageError` where it is refused."""
    import polars as pl

    table = as_table(name, rows).rechunk()
    try:
        with replacing_by_library(directory / f"{name}.parquet") as temporary:
            table.lazy().sink_parquet(
                temporary, compression="zstd", statistics=False, row_group_size=_GROUP_ROWS, maintain_order=True
            )
    except pl.exceptions.ComputeError as error:
        # polars names the system's error in its message alone, and not where the file's end is refused.
        refused = _OS_ERROR.search(str(error))
        if refused is None and _NO_END not in str(error):
            raise
        reason = "its end was refused, as by a full disk" if refused is None else os.strerror(int(refused[1]))
        raise StorageError(f"cannot write {name}.parquet: {reason}; mend it and run the same command again") from None


Row = dict[str, Any]
