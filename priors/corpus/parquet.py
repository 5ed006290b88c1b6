"""Rows of a Parquet file, read by polars in a child process; only the columns that are asked for are read.

A damaged Parquet file can claim to need exabytes; polars' Rust code then ends the whole process, and no exception can
stop it. So this module, run as a program, is the child that reads the file and writes one row per line (JSON). Its
death is an error like any other, and frees its memory: polars 2.1 holds the compressed bytes of a whole row group,
whatever part of it is asked for.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.files import DataFile, open_file, unreadable
from clinaudit.priors.corpus.header import Header

if TYPE_CHECKING:
    import polars as pl

#: Rows of the first slice, before anything is known of their size.
_FIRST_ROWS = 256
#: Size of a decoded slice (bytes, about). Each slice reads its row groups' compressed bytes anew: a tenth of this
#: takes ten times the reading of a file that is one row group, and saves no more than this.
_SLICE_BYTES = 64 * 1024 * 1024
#: What a pipe holds (Linux); a note is longer than Python's own buffer.
_PIPE_BYTES = 1 << 16
Record = Mapping[str, object]


def iter_parquet(file: DataFile, header: Header) -> Iterator[tuple[int, Record]]:
    """Yield (row from 1, values by column); raises `BadInputError` at the end on a file that cannot be read to it.

    A value that JSON cannot say (bytes, a decimal) comes as an empty mapping: no column may hold either.
    """
    return rows_of_child(
        file,
        "clinaudit.priors.corpus.parquet",
        sorted(header.columns),
        header,
        problem="is not a Parquet file that can be read",
    )


def rows_of_child(
    file: DataFile, module: str, arguments: Sequence[str], header: Header, *, problem: str, where: str = ""
) -> Iterator[tuple[int, Record]]:
    """Yield what a module prints of a file, as lines of JSON: what it is, then each row.

    The first line names all columns of the file (`{"names": [...]}`), or says what is wrong with it
    (`{"problem": "..."}`). A row is its number and the values of the columns that the header knows, in order. Raises
    `BadInputError`, with the `problem` where the child fails or prints something else.
    """
    open_file(file).close()  # the child opens the path itself; this says in our words why it could not
    # -P: a module `polars` lying in the working directory must not be imported.
    command = [sys.executable, "-P", "-m", module, str(file.path.absolute()), *arguments]
    try:
        # What a panic prints may quote content.
        child = subprocess.Popen(
            command, bufsize=_PIPE_BYTES, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise unreadable(file.name, error) from None
    whole = True
    with child:
        lines = cast("IO[bytes]", child.stdout)
        try:
            opened = json.loads(lines.readline())
            if "problem" in opened:
                raise BadInputError(opened["problem"])
            names = [name for name in header.take(opened["names"], where) if name is not None]
            if not names:
                # Without a column there are no rows, and missing columns must not read as an empty table.
                yield 1, {}
            for line in lines:
                number, values = json.loads(line)
                yield number, dict(zip(names, values, strict=True))
        except ValueError:  # a line cut off, or none
            whole = False
        except BaseException:
            child.kill()
            raise
    open_file(file).close()  # whatever was read, it is worth nothing if the file changed meanwhile
    if child.returncode or not whole:
        raise BadInputError(problem)


def write_names(names: Sequence[str], out: IO[bytes]) -> None:
    """Print, in the child, the names of a file's columns."""
    write_line({"names": list(names)}, out)


def write_line(value: object, out: IO[bytes]) -> None:
    """Print, in the child, a line of JSON; a value that JSON does not have is an empty mapping."""
    line = json.dumps(value, ensure_ascii=False, default=_unsayable)
    out.write(line.encode("utf-8", "surrogatepass") + b"\n")


def _unsayable(_: object) -> dict[str, object]:
    return {}


def _write_rows(path: Path, columns: Collection[str], out: IO[bytes]) -> None:
    """Write the names of all columns, then each row's values of the wanted ones, as lines of JSON."""
    # Here, in the child: every command has this module, and few read a table.
    import polars as pl

    scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    schema = scan.collect_schema()
    write_names(list(schema), out)
    names = [name for name, column in zip(schema, Header(columns).match(schema), strict=True) if column is not None]
    if not names:
        return
    total = scan.select(pl.len()).collect().item()
    scan = scan.select(_plain(name, schema[name]) for name in names)
    at, rows, read_bytes = 0, _FIRST_ROWS, 0
    while at < total:
        frame = scan.slice(at, rows).collect()
        if frame.height != min(rows, total - at):
            raise EOFError("fewer rows than the file says it has")
        for number, row in enumerate(frame.iter_rows(), start=at + 1):
            write_line([number, row], out)
        at += frame.height
        read_bytes += int(frame.estimated_size())
        del frame  # or two slices would be held at once
        rows = max(1, min(8 * rows, _SLICE_BYTES * at // max(read_bytes, 1)))


def _plain(name: str, dtype: "pl.DataType") -> "pl.Expr":
    """Return dates as ISO 8601 text: a Python date ends at the year 9999, where a Parquet one does not.

    A short float is infinite from where it does not hold every whole number (IEEE 754, 24 and 11 bits): it lost digits.
    """
    import polars as pl

    if isinstance(dtype, pl.Float32 | pl.Float16):
        exact = 2**24 if isinstance(dtype, pl.Float32) else 2**11
        number = pl.col(name).cast(pl.Float64)
        return pl.when(number.abs() >= exact).then(float("inf")).otherwise(number).alias(name)
    if isinstance(dtype, pl.Date | pl.Datetime):
        return pl.col(name).dt.to_string("iso:strict")
    return pl.col(name)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no copy of the notes is left behind should this die
    _write_rows(Path(sys.argv[1]), sys.argv[2:], sys.stdout.buffer)
