"""The run directory: where everything of a run stands, and its lock."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from clinaudit.audit.run.durable_files import FILE_MODE, make_private_directory
from clinaudit.errors import StorageError, UsageError


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Where everything of a run stands."""

    root: Path

    @property
    def evidence(self) -> Path:
        """PHI."""
        return self.root / "evidence"

    @property
    def work(self) -> Path:
        """State, caches and temporary files; not in the manifest."""
        return self.evidence / "work"

    @property
    def lock(self) -> Path:
        """Held by whoever writes to the run."""
        return self.work / "lock"

    @contextmanager
    def absent_on_failure(self) -> Iterator[None]:
        """Leave nothing of a run that never began: torch makes its compiler's cache as soon as it is imported."""
        existed = self.root.exists()
        try:
            yield
        except BaseException:
            if not existed and self.root.is_dir():
                directories = [path for path in self.root.rglob("*") if path.is_dir()]
                for directory in (*sorted(directories, key=lambda path: -len(path.parts)), self.root):
                    with suppress(OSError):  # what holds something stays
                        directory.rmdir()
            raise

    def create(self) -> None:
        """Make the directories; raises `UsageError` where something else stands there."""
        if self.root.exists() and not self.root.is_dir():
            raise UsageError("--out names something that is not a directory; name a new or an earlier run's directory")
        if self.root.is_dir() and not self.evidence.is_dir() and any(self.root.iterdir()):
            raise UsageError(
                "--out names a directory that holds other things; name a new or an earlier run's directory"
            )
        for directory in (self.root, self.evidence, self.work):
            make_private_directory(directory)


def scratch_directory(run: RunDirectory) -> Path:
    """Return where the texts of the notes may lie, without a name: the run's `work/`, or the nearest directory above.

    It is on the disk that the user gave for PHI; a directory of the run is not made before the input is found good.
    """
    work = run.work.absolute()
    return next(directory for directory in (work, *work.parents) if directory.is_dir())


@contextmanager
def hold_lock(run: RunDirectory) -> Iterator[None]:
    """Keep others from writing to a run; raises `StorageError` where another audit holds it."""
    require_regular(run.lock, "the run's lock")
    lock = FileLock(run.lock, mode=FILE_MODE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise StorageError("another command is writing to this run; wait for it, or use another --out") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_lock_of_finished(run: RunDirectory) -> Iterator[None]:
    """Keep a purge and other writers from a finished run; a purged one has no evidence, and no lock in it."""
    if not run.work.is_dir():
        yield
        return
    with hold_lock(run):
        yield


def require_regular(path: Path, what: str) -> None:
    """Refuse anything but a file of the run's own in a file's place: a link would lead PHI out of `evidence/`."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StorageError(
            f"{what} ({path.name} in its `work` folder) is not a regular file; remove it, or use another --out"
        )
