"""Input files opened safely and read line by line, compressed or not.

Only a regular file (once links are followed) is ever opened: a FIFO would block for ever, and a device never end. The
result is lines, or a `BadInputError` in fixed words: the messages of decompressors and parsers are never passed on,
since they quote content.
"""

import errno
import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import zstandard

from clinaudit.errors import BadInputError, StorageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: `json` and `xlsx` come in exports (`clinaudit.priors.importers`), `txt` holds one text (`clinaudit mask`).
Format = Literal["parquet", "csv", "jsonl", "json", "xlsx", "txt"]
Compression = Literal["gz", "zst"]
#: File name endings and their formats; Parquet compresses internally. What separates cells, a CSV file's header says.
FILE_ENDINGS: dict[str, tuple[Format, Compression | None]] = {
    ".parquet": ("parquet", None),
    ".csv": ("csv", None),
    ".csv.gz": ("csv", "gz"),
    ".csv.zst": ("csv", "zst"),
    ".tsv": ("csv", None),
    ".tsv.gz": ("csv", "gz"),
    ".tsv.zst": ("csv", "zst"),
    ".jsonl": ("jsonl", None),
    ".jsonl.gz": ("jsonl", "gz"),
    ".jsonl.zst": ("jsonl", "zst"),
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
#: Decompressed bytes that are read at a time.
_BLOCK_BYTES = 1 << 18
#: How files of other formats begin, whatever their name says.
_OTHER_FORMATS = (
    (b"PK\x03\x04", "is an Excel workbook or a zip archive; save the sheet as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook of the old kind; save the sheet as CSV UTF-8"),
    (b"\x1f\x8b", "is gz data; let its name end in .gz"),
    (b"\x28\xb5\x2f\xfd", "is zst data; let its name end in .zst"),
    (b"PAR1", "is a Parquet file; let its name end in .parquet"),
    (b"\xff\xfe", "is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
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
    return DataFile(path, name, data_format, compression, _identity(status))


def find_given_file(
    path: Path, role: str, endings: Mapping[str, tuple[Format, Compression | None]] = FILE_ENDINGS
) -> DataFile:
    """Return the file that somebody names; raises `BadInputError` that says its role, and what is wrong."""
    name = printable(path.name)
    try:
        return find_file(path, name, endings)
    except BadInputError as error:
        raise BadInputError(f"{role} {name} cannot be read", [f"{name}: {error.message}"]) from None


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def open_file(file: DataFile) -> io.BufferedReader:
    """Open `file` as raw bytes; raises `StorageError` if it is no longer the regular file that was found."""
    try:
        # O_NONBLOCK: were the path swapped for a FIFO since, opening it must not wait for a writer.
        handle = os.fdopen(os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise unreadable(file.name, error) from None
    if _identity(os.fstat(handle.fileno())) != file.identity:
        handle.close()
        raise StorageError(f"{file.name} changed while it was read; try again once nothing writes to it")
    return handle


def digest_file(file: DataFile) -> str:
    """Return the SHA-256 of the file's bytes on the disk, in hexadecimal."""
    with open_file(file) as handle:
        try:
            return hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError as error:
            raise unreadable(file.name, error) from None


def iter_lines(file: DataFile, *, at: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Yield the file's lines with their ends (`\\n` alone ends a line), decompressed, without a byte-order mark.

    `at` and what is raised: as `iter_blocks`.
    """
    return chain.from_iterable(map(io.BytesIO, iter_blocks(file, at=at)))


def iter_blocks(file: DataFile, *, at: Callable[[int], None] | None = None, end: bytes = b"\n") -> Iterator[bytes]:
    """Yield some whole lines of the file at a time, decompressed, without a byte-order mark; `end` ends a line.

    `at` is told at which byte of the file on the disk the reader stands. Raises `BadInputError` on damaged or truncated
    compression, on a file of another format, on UTF-16, and on a line over `MAX_LINE_BYTES`.
    """
    rest: list[bytes] = []
    first = True
    with open_stream(file, at=at) as read:
        while block := read(_BLOCK_BYTES):
            if first:
                for begin, what in _OTHER_FORMATS:
                    if block.startswith(begin):
                        raise BadInputError(what)
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


@contextmanager
def open_stream(file: DataFile, *, at: Callable[[int], None] | None = None) -> Iterator[Callable[[int], bytes]]:
    """Yield a function that reads up to so many decompressed bytes, as `iter_lines` reads lines."""
    with open_file(file) as handle, closing(_decompressed(handle, file.compression)) as stream:

        def read(size: int) -> bytes:
            try:
                block = stream.read(size)
            except _READ_FAULTS as error:
                raise _fault(file, error) from None
            if at is not None:
                at(handle.tell())
            return block

        yield read


#: What reading a compressed or plain file may raise; the first is an `OSError` too.
_READ_FAULTS = (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError, OSError)


def _fault(file: DataFile, error: Exception) -> BadInputError | StorageError:
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return unreadable(file.name, error)
    return BadInputError(f"is damaged, cut off, or not {file.compression} data")


def _decompressed(handle: BinaryIO, compression: Compression | None) -> BinaryIO:
    if compression == "gz":
        # Its own `readline` is Python; this one is C.
        return io.BufferedReader(gzip.GzipFile(fileobj=handle), buffer_size=1 << 17)
    if compression == "zst":
        return io.BufferedReader(_ZstdReader(handle), buffer_size=1 << 17)
    return handle


class _ZstdReader(io.RawIOBase):
    """Reads all frames of a zstd stream, and raises `EOFError` where the last is cut off.

    `zstandard`'s own stream reader ends there without an error, which would silently drop the last records.
    """

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._context = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW_BYTES)
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._waiting = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        target = memoryview(buffer).cast("B")
        while not self._ready:
            # A small bite, since one compressed kilobyte can hold 30 megabytes.
            chunk = self._waiting or self._handle.read(1 << 12)
            self._waiting = b""
            if not chunk:
                if self._frame is not None:
                    raise EOFError("zstd frame cut off")
                return 0
            frame = self._frame or self._context.decompressobj()
            self._ready = memoryview(frame.decompress(chunk))
            self._waiting = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
