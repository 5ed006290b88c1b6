"""Rows of a Parquet file, scanned lazily by polars so that columns nobody asked for are never read.

A damaged Parquet file can claim to need exabytes, and polars' Rust code then ends the whole process, as no
exception can stop. So a file is first read in a child process (this module run by itself), whose death is an error like
any other; only what the child has read to its end is read here. That costs half a second and a second reading.
"""

import resource
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import polars as pl

from clinaudit.priors.reading import DataFile, open_file, unreadable
from clinaudit.templates.errors import BadInputError, StorageError


def iter_parquet(file: DataFile, columns: Collection[str]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (row from 1, values by column); raises `BadInputError` on a file that cannot be read to its end."""
    open_file(file).close()  # polars opens the path itself; this says in our words why it could not
    if not _is_readable_in_child(file, columns):
        raise BadInputError("is not a Parquet file that can be read")
    try:
        frame = _collect(file.path, columns)
    except pl.exceptions.PolarsError:
        raise StorageError(f"{file.name} changed while it was read; try again once nothing writes to it") from None
    if not frame.width:
        # Without a column there are no rows, and missing columns must not read as an empty table.
        yield 1, {}
    yield from enumerate(frame.iter_rows(named=True), start=1)


def _is_readable_in_child(file: DataFile, columns: Collection[str]) -> bool:
    # -P: a polars.py lying in the working directory must not be imported.
    command = [sys.executable, "-P", "-m", "clinaudit.priors.parquet", str(file.path.absolute()), *sorted(columns)]
    try:
        # What a panic prints may quote content.
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise unreadable(file.name, error) from None
    return run.returncode == 0


def _collect(path: Path, columns: Collection[str]) -> pl.DataFrame:
    scan = pl.scan_parquet(path.absolute(), glob=False, hive_partitioning=False)
    schema = scan.collect_schema()
    return scan.select(_plain(name, schema[name]) for name in schema if name in columns).collect()


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return dates as ISO 8601 text: a Python date ends at the year 9999, where a Parquet one does not."""
    if isinstance(dtype, pl.Date | pl.Datetime):
        return pl.col(name).dt.to_string("iso:strict")
    return pl.col(name)


def _read_to_end(path: Path, columns: Collection[str]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the notes is left behind should this die
    for _ in _collect(path, columns).iter_rows():
        pass


if __name__ == "__main__":
    _read_to_end(Path(sys.argv[1]), sys.argv[2:])
