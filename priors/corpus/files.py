"""Input files opened safely and read line by line, compressed or not.

Only a regular file (once links are followed) is ever opened: a FIFO would block for ever, and a device never end.
Messages of decompressors are never passed on, since they quote content.
"""

import codecs
import errno
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import zstandard

from clinaudit.errors import BadInputError, StorageError

#: `json` and `xlsx` come in exports (`clinaudit.priors.importers`), `txt` holds one text (`clinaudit mask`).
Format = Literal["parquet", "csv", "jsonl", "json", "xlsx", "txt"]
Compression = Literal["gz", "zst"]
#: What the name of a packed file ends in.
PACKED: tuple[tuple[str, Compression | None], ...] = (("", None), (".gz", "gz"), (".zst", "zst"))
_TEXTS: tuple[tuple[str, Format], ...] = ((".csv", "csv"), (".tsv", "csv"), (".jsonl", "jsonl"))
#: File name endings and their formats; Parquet compresses internally. What separates cells, a CSV file's header says.
FILE_ENDINGS: dict[str, tuple[Format, Compression | None]] = {
    ".parquet": ("parquet", None),
    **{f"{ending}{packed}": (kind, compression) for ending, kind in _TEXTS for packed, compression in PACKED},
}
#: Of those, JSON Lines.
JSONL_ENDINGS = {ending: kind for ending, kind in FILE_ENDINGS.items() if kind[0] == "jsonl"}
#: Words in the name of a file that holds a table: its format, read here or not; and what packs it, or says that it is a
#: part or a copy (of `7z` and the like, the letters alone).
_FORMAT_WORD = re.compile("csv|tsv|jsonl|ndjson|json|parquet|parq|pq|xlsx|xlsm|xls|ods|feather|arrow|avro|orc|bdat")
_PART_WORD = re.compile(
    "[0-9]+|[^_]|gz|gzip|zst|zstd|bz|bzip|xz|zip|rar|tar|tgz|lz|sas|snappy|part|parts|of|copy|kopie|chunk|piece|page|slice"
    "|split|batch|shard|segment|teil|file|table|tbl|data|export|extract|all|full|new|old|bak|backup|final|orig|original"
    "|version|rev|update|delta"
)
#: Longest line (JSONL record, or line of a CSV note) in bytes; a compressed file of a few kilobytes can hold a line
#: that fills all memory, and no clinical note comes near this.
MAX_LINE_BYTES = 64 * 1024 * 1024
#: zstd frames that ask for a larger window than this many bytes are refused (the format's own recommendation is 8 MB).
_MAX_ZSTD_WINDOW_BYTES = 128 * 1024 * 1024
#: What decompresses one part of a file, a member of gzip or a frame of zstd. The modules' own readers are not used:
#: zstandard's ends a file that is cut off without an error, which would drop the last records in silence.
_DECOMPRESSORS: Final[dict[Compression, Callable[[], Any]]] = {
    "gz": partial(zlib.decompressobj, wbits=31),
    "zst": lambda: zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW_BYTES).decompressobj(),
}
#: Bytes that are read at a time; of a compressed file fewer, since one byte of zstd can hold 30,000.
_BLOCK_BYTES, _PACKED_BYTES = 1 << 18, 1 << 12
_UTF16 = "is UTF-16; save it as UTF-8"
#: How files of other formats begin, whatever their name says.
_OTHER_FORMATS = (
    (b"PK\x03\x04", "is an Excel workbook or a zip archive; save the sheet as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook of the old kind; save the sheet as CSV UTF-8"),
    (b"\x1f\x8b", "is gz data; let its name end in .gz"),
    (b"\x28\xb5\x2f\xfd", "is zst data; let its name end in .zst"),
    (b"PAR1", "is a Parquet file; let its name end in .parquet"),
    *((mark, _UTF16) for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
)
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A regular file, as `find_file` found it."""

    path: Path
    #: The name messages use: relative to the corpus directory.
    name: str
    format: Format
    compression: Compression | None
    #: Device, inode, size in bytes and modification time in nanoseconds, to notice a change while it is read.
    identity: tuple[int, int, int, int]


def printable(text: str) -> str:
    """Return `text` for a message of one line: a character that cannot be printed becomes `?`."""
    return "".join(char if char.isprintable() else "?" for char in text)


def is_named_for(name: str, table: str) -> bool:
    """Whether a file's name says that it holds a table, or a part or copy of it: `note_2.csv`, `Note (1).csv.bz2`."""
    named = re.fullmatch(rf"(?:[0-9]+[\W_]+|\w+\.)?{re.escape(table)}(?![^\W\d_])(.*)", name.lower())
    words = re.findall(r"[0-9]+|[^\W\d_]+", named[1]) if named else []
    others = [word for word in words if not _FORMAT_WORD.fullmatch(word)]
    return len(others) < len(words) and all(map(_PART_WORD.fullmatch, others))


def stat_input(path: Path, name: str) -> os.stat_result:
    """Return the status of `path`, links followed; raises `BadInputError` (what is wrong alone) if there is none."""
    try:
        return path.stat()
    except ValueError:
        raise BadInputError("is not a file name") from None
    except OSError as error:
        if error.errno in _MISSING:
            is_link = error.errno != errno.ENAMETOOLONG and path.is_symlink()
            what = "is a link to nothing" if is_link else "does not exist"
            raise BadInputError(what) from None
        raise unreadable(name, error) from None


def unreadable(name: str, error: OSError) -> StorageError:
    """Return the error for a file that exists but that the system refuses to read."""
    reason = os.strerror(error.errno) if error.errno else "input/output error"
    return StorageError(f"cannot read {name}: {reason}; check its permissions and its disk, then try again")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise `StorageError` where the system refuses to read a file or a directory, whose `name` may be shown."""
    try:
        yield
    except OSError as error:
        raise unreadable(name, error) from None


def find_file(
    path: Path, name: str, endings: Mapping[str, tuple[Format, Compression | None]] = FILE_ENDINGS
) -> DataFile:
    """Return the data file at `path` without opening it; raises `BadInputError` (what is wrong alone) if it is none."""
    status = stat_input(path, name)
    if not stat.S_ISREG(status.st_mode):
        raise BadInputError("is not a regular file")
    found = [ending for ending in endings if path.name.lower().endswith(ending)]
    if not found:
        raise BadInputError(f"its name must end in one of {', '.join(endings)}")
    if status.st_size == 0:
        raise BadInputError("is empty")
    data_format, compression = endings[found[0]]
    return DataFile(path, name, data_format, compression, identity_of(status))


def find_given_file(
    path: Path, role: str, endings: Mapping[str, tuple[Format, Compression | None]] = FILE_ENDINGS, *, name: str = ""
) -> DataFile:
    """Return the file that somebody names; raises `BadInputError` that says its role, its `name`, and what is wrong."""
    name = name or printable(path.name) or printable(str(path))
    try:
        return find_file(path, name, endings)
    except BadInputError as error:
        raise BadInputError(f"{role} {name} cannot be read", [f"{name}: {error.message}"]) from None


def identity_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return what tells a file from another one and from itself after a change: device, inode, bytes, nanoseconds."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def open_file(file: DataFile) -> io.BufferedReader:
    """Open `file` as raw bytes; raises `StorageError` if it is no longer the regular file that was found."""
    with reading(file.name):
        # O_NONBLOCK: were the path swapped for a FIFO since, opening it must not wait for a writer.
        handle = os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if identity_of(os.fstat(handle.fileno())) != file.identity:
        handle.close()
        raise changed(file.name)
    return handle


def require_unchanged(file: DataFile) -> None:
    """Raise `StorageError` if `file` is no longer as it was found: what is wrong with it may be half a file's."""
    with reading(file.name):
        is_same = identity_of(file.path.stat()) == file.identity
    if not is_same:
        raise changed(file.name)


def changed(name: str) -> StorageError:
    """Return the error of a file that somebody writes to; `name` is as it may be shown."""
    return StorageError(f"{name} changed while it was read; try again once nothing writes to it")


def digest_file(file: DataFile) -> str:
    """Return the SHA-256 of the file's bytes on the disk, in hexadecimal."""
    with open_file(file) as handle, reading(file.name):
        return hashlib.file_digest(handle, "sha256").hexdigest()


def iter_lines(file: DataFile, *, at: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the file's lines with their ends (`\\n` alone ends a line), decompressed, without a byte-order mark.

    `at` and what is raised: as `iter_bytes` and `whole_lines`.
    """
    return chain.from_iterable(map(io.BytesIO, whole_lines(iter_bytes(file, at=at))))


def unmarked_utf16(text: bytes) -> str | None:
    """Return the encoding of a text in UTF-16 without its mark: every other byte of its first two letters is zero."""
    zeros = [not byte for byte in text[:4]]
    return "utf-16-le" if zeros == [False, True] * 2 else "utf-16-be" if zeros == [True, False] * 2 else None


def whole_lines(blocks: Iterable[bytes], *, end: bytes = b"\n") -> Iterator[bytes]:
    """Yield some whole lines of a text at a time, without a byte-order mark; `end` ends a line.

    Raises `BadInputError` on a file of another format, on UTF-16, and on a line over `MAX_LINE_BYTES`.
    """
    rest: list[bytes] = []
    first = True
    for block in blocks:
        if first:
            for begin, what in _OTHER_FORMATS:
                if block.startswith(begin):
                    raise BadInputError(what)
            if unmarked_utf16(block):
                raise BadInputError(_UTF16)
            block = block.removeprefix(b"\xef\xbb\xbf")
            first = False
        last = block.rfind(end) + 1
        if last:
            yield b"".join((*rest, block[:last]))
            rest = [block[last:]]
        else:
            rest.append(block)
        if sum(map(len, rest)) > MAX_LINE_BYTES:
            raise BadInputError(f"has a line of more than {MAX_LINE_BYTES} bytes")
    if whole := b"".join(rest):
        yield whole


def iter_bytes(file: DataFile, *, at: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the file's bytes, some at a time, decompressed.

    `at` is told at which byte of the file on the disk the reader stands. Raises `BadInputError` on compression that is
    damaged or cut off.
    """
    decompressor = None if file.compression is None else _DECOMPRESSORS[file.compression]
    size = _BLOCK_BYTES if decompressor is None else _PACKED_BYTES
    part = None
    with open_file(file) as handle:
        while True:
            with reading(file.name):
                block = handle.read(size)
            if not block:
                break
            if at is not None:
                at(handle.tell())
            if decompressor is None:
                yield block
                continue
            try:
                # Tapes are filled up with zeros after the last part.
                while block := block if part else block.lstrip(b"\0"):
                    part = part or decompressor()
                    found = part.decompress(block)
                    yield from (found[begin : begin + _BLOCK_BYTES] for begin in range(0, len(found), _BLOCK_BYTES))
                    block, part = (part.unused_data, None) if part.eof else (b"", part)
            except (zlib.error, zstandard.ZstdError):
                raise _damaged(file) from None
    if part is not None:
        raise _damaged(file)


def _damaged(file: DataFile) -> BadInputError:
    return BadInputError(f"is damaged, cut off, or not {file.compression} data")
