"""The tables under `evidence/`: columns, types and order (docs/results.md, "Evidence tables").

PHI. Owns the Parquet schemas, and all reading and writing of these files. Knows nothing of how a row came about. Rows
are written in the order given, without statistics, so that equal rows give equal bytes.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clinaudit.audit.runtime.run.durable_files import replacing_by_library
from clinaudit.errors import IntegrityError, StorageError

if TYPE_CHECKING:
    import polars as pl

#: Tables, a paragraph each: its name (or several, with a slash between), then its columns with their types, in their
#: order. `texts` is a list of texts, `ids` a list of 32-bit integers, `floats` one of 32-bit floats.
_TABLES: Final = Path(__file__).with_name("evidence_tables.txt").read_text(encoding="utf-8")
#: Column -> type, by table.
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    name: dict(column.split(":") for column in columns)
    for head, *columns in map(str.split, _TABLES.split("\n\n"))
    for name in head.removesuffix(":").split("/")
}
#: Rows that are held as Python objects at a time, which take ten times the memory of their columns.
_BATCH_ROWS = 10_000
#: Rows of a row group, which are held at a time as columns.
_GROUP_ROWS = 50_000
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")


def read_table(directory: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table that `write_table` wrote; raises `IntegrityError` where the file is damaged."""
    import polars as pl

    try:
        return pl.read_parquet(directory / f"{name}.parquet", columns=list(SCHEMAS[name])).to_dicts()
    except (pl.exceptions.PolarsError, OSError):
        # polars quotes what it could not read.
        raise IntegrityError(f"{name}.parquet is not the table that the audit wrote; run the audit again") from None


def columns_of(name: str) -> dict[str, "pl.DataType"]:
    """Return the columns of a table of `SCHEMAS` with their types, in order."""
    import polars as pl

    types: dict[str, pl.DataType] = {
        "text": pl.String(),
        "texts": pl.List(pl.String()),
        "ids": pl.List(pl.Int32()),
        "floats": pl.List(pl.Float32()),
        "int": pl.Int64(),
        "float": pl.Float64(),
        "bool": pl.Boolean(),
        "removals": pl.List(pl.Struct({"substring": pl.String(), "reason": pl.String()})),
    }
    return {column: types[kind] for column, kind in SCHEMAS[name].items()}


def write_table(directory: Path, name: str, rows: "Iterable[Mapping[str, Any]] | pl.DataFrame") -> None:
    """Write one table of `SCHEMAS` as Parquet, atomically; a frame, or each row, has exactly the table's columns.

    Rows are taken and written some at a time, by another thread than the caller's. Raises `StorageError` where the
    system refuses the file, and what taking a row raises.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = columns_of(name)
    frame = rows if isinstance(rows, pl.DataFrame) else None
    remaining = iter(()) if isinstance(rows, pl.DataFrame) else iter(rows)

    def frames(*_asked: object) -> Iterator[pl.DataFrame]:
        if frame is not None:
            yield from frame.iter_slices(_BATCH_ROWS)
        while batch := list(islice(remaining, _BATCH_ROWS)):
            yield pl.DataFrame(batch, schema=schema, orient="row")

    try:
        with replacing_by_library(directory / f"{name}.parquet") as temporary:
            register_io_source(frames, schema=schema).sink_parquet(
                temporary, compression="zstd", statistics=False, row_group_size=_GROUP_ROWS, maintain_order=True
            )
    except pl.exceptions.ComputeError as error:
        # polars names the system's error in its message alone.
        if (refused := _OS_ERROR.search(str(error))) is None:
            raise
        reason = os.strerror(int(refused[1]))
        raise StorageError(f"cannot write {name}.parquet: {reason}; mend it and run the same command again") from None


Row = dict[str, Any]
