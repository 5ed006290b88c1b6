"""Durable files: atomic writes, digests, and private SQLite files, opened and removed together with SQLite's own.

A file appears whole or not at all: it is written under another name (`.NAME.partial`) by one process at a time, flushed
to the disk and renamed. Accepted: after a power cut the previous version may still be there, but never a torn one; a
process that is killed outright leaves the other name, which the next one writes over.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final, Literal

from clinaudit.errors import StorageError, UsageError

#: PHI: readable by the owner alone (docs/results.md, "What a run leaves").
FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
#: Endings of compressed files, which are read and never written.
_COMPRESSED = frozenset({".gz", ".zst", ".bz2", ".xz"})
#: Errors of file systems that know no locks; there two writers are not kept apart.
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK})


def write_atomically(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content`, mode 0600, durably; raises `StorageError` where `path` is a device or a pipe."""
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def write_lines_atomically(path: Path, lines: Iterable[str]) -> None:
    """Replace `path` by lines of text, as `write_atomically` does, without holding them all."""
    with replacing(path) as file:
        file.writelines(line.encode("utf-8") + b"\n" for line in lines)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of `path`, durably, when the block ends well; else nothing of it is left.

    Raises `StorageError` where `path` is a device or a pipe, or where another process is writing to it.
    """
    _require_no_device(path)
    # Whoever does not get the file alone must not take away the other's.
    with _open_alone(partial_of(path)) as file, replacing_by_library(path):
        file.truncate()
        yield file
        file.flush()


@contextmanager
def replacing_by_library(path: Path) -> Iterator[Path]:
    """Yield the name under which a library writes the file; else as `replacing`.

    Two writers are not kept apart, since the library opens the file: hold a lock of the directory.
    """
    temporary = partial_of(path)
    try:
        yield temporary
        put_in_place(temporary, path)
    except BaseException:
        # It may hold PHI.
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def making_folder(out: Path) -> Iterator[Path]:
    """Yield a folder, mode 0700, that takes the place of `out`, new or an empty folder, when the block ends well."""
    partial = partial_of(out)
    # What a killed command left: it can be given again.
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.mkdir(mode=_DIRECTORY_MODE)
    try:
        yield partial
        partial.replace(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def partial_of(path: Path) -> Path:
    """Return the name under which a file is written before it comes to its place."""
    return path.with_name(f".{path.name}.partial")


def _open_alone(path: Path) -> BinaryIO:
    """Open a file, mode 0600, made where there is none; raises `StorageError` where another process has it open."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        with ExitStack() as until_it_is_ours:
            file = until_it_is_ours.enter_context(os.fdopen(descriptor, "r+b"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                name = path.name.removeprefix(".").removesuffix(".partial")
                raise StorageError(f"another command is writing {name}; wait for it, or name another file") from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            # Its holder of before may have put it in its place meanwhile: then this is the finished file.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.lstat()):
                os.fchmod(descriptor, FILE_MODE)
                until_it_is_ours.pop_all()
                return file


def require_writable(path: Path, *, role: str) -> None:
    """Raise where no file can be written at `path`; call it before the work. `role` names the file.

    `StorageError` where the place is none for it, `UsageError` where its name says that it is compressed: none is.
    """
    what = f"{role} cannot be written to {path.name}"
    if path.suffix.lower() in _COMPRESSED:
        raise UsageError(f"{what}: it is not compressed; leave {path.suffix} out")
    _require_no_device(path)
    for is_so, why in (
        (path.is_dir(), "that is a directory; give a file in it"),
        (not path.parent.is_dir(), f"there is no directory {path.parent}; make it"),
        (not os.access(path.parent, os.W_OK | os.X_OK), f"the directory {path.parent} is not writable"),
    ):
        if is_so:
            raise StorageError(f"{what}: {why}")


def _require_no_device(path: Path) -> None:
    # A rename would replace the device by a file: for root, /dev/null too.
    if path.exists() and not path.is_file() and not path.is_dir():
        raise StorageError(f"{path.name} is a device or a pipe, not a file; name a file to be written")


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a finished file to its final name in the same directory, durably."""
    temporary.chmod(FILE_MODE)
    # The content first: a library that wrote it leaves it in memory, and a power cut would leave the name alone.
    flush(temporary)
    temporary.replace(path)
    flush(path.parent)


def flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_private_directory(path: Path) -> None:
    """Make a directory of mode 0700, its parents with the usual mode; an existing one gets mode 0700 too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
    path.chmod(_DIRECTORY_MODE)


#: Errors that mean the file is not the database that was written.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CONSTRAINT", "SQLITE_FORMAT")


def open_sqlite(
    path: Path, schema: str, *, synchronous: Literal["FULL", "NORMAL"], probe: str = "", across_threads: bool = False
) -> sqlite3.Connection:
    """Open the file with the tables of `schema`, and make it where there is none.

    FULL: committed transactions survive a power cut. NORMAL: the last ones may be lost, whole. Raises `sqlite3.Error`,
    too, where the query `probe` fails.
    """
    connection = sqlite3.connect(path, check_same_thread=not across_threads)
    try:
        path.chmod(FILE_MODE)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.executescript(schema)
        connection.execute(probe).fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def open_pure_cache(path: Path, schema: str, *, probe: str) -> sqlite3.Connection:
    """Open a pure cache (safe to delete), for several threads; a damaged one, or one of other columns, is replaced."""
    try:
        return open_sqlite(path, schema, synchronous="NORMAL", probe=probe, across_threads=True)
    except sqlite3.DatabaseError as error:
        # A table with other columns raises an OperationalError without an error name of its own.
        is_damage = getattr(error, "sqlite_errorname", "").startswith(_DAMAGE)
        if not is_damage and "no such column" not in str(error):
            raise
    remove_sqlite(path)
    return open_sqlite(path, schema, synchronous="NORMAL", probe=probe, across_threads=True)


def remove_sqlite(path: Path) -> None:
    """Delete a closed file, with its `-wal` and `-shm`."""
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        file.unlink(missing_ok=True)
