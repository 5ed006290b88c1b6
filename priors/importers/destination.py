"""The directory that an import makes: whole or not at all, and closed to others.

The corpus grows in a hidden directory beside it and is renamed when it is finished. A killed import leaves that hidden
directory; the next import to the same place removes it. Knows nothing of what is written.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clinaudit.errors import StorageError, UsageError

#: PHI: for the owner alone.
_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700


@contextmanager
def made_whole(destination: Path) -> Iterator[Path]:
    """Yield a private directory that becomes `destination` when the block ends, and is removed when it raises.

    Raises `UsageError` where `destination` is not a new or empty directory, and `StorageError` where another import
    is writing there.
    """
    _require_free(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    # Not as it was given: `.` has no name.
    final = Path(os.path.abspath(destination))  # noqa: PTH100 (`resolve` would follow links)
    staging = final.with_name(f".{final.name}.partial")
    with _held(staging):
        try:
            yield staging
            for path in staging.iterdir():
                path.chmod(_FILE_MODE)
                _flush(path)
            _flush(staging)
            _require_free(destination)
            staging.rename(final)
            _flush(final.parent)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise


def _require_free(destination: Path) -> None:
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        raise UsageError("DEST is not a directory; give the name of a new one")
    if destination.is_dir() and any(destination.iterdir()):
        raise UsageError("DEST holds other things; give a new or an empty directory")


@contextmanager
def _held(staging: Path) -> Iterator[None]:
    """Make the directory anew and lock it; the lock ends with the process, however it ends."""
    if staging.is_symlink() or (staging.exists() and not staging.is_dir()):
        raise StorageError(f"{staging.name} beside DEST is not a directory; remove it, or give another DEST")
    staging.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
    handle = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError("another import is writing to DEST; wait for it, or give another DEST") from None
        staging.chmod(_DIRECTORY_MODE)
        for left in staging.iterdir():  # of an import that was killed
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()
        yield
    finally:
        os.close(handle)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
