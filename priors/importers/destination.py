"""The directory that an import makes: whole or not at all, and closed to others.

The corpus grows in a hidden directory of a name of its own beside it, and is renamed when it is finished. Whatever
stops the import removes that directory, but for a kill that cannot be caught. Nothing that the import did not make is
ever removed. Knows nothing of what is written.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clinaudit.errors import StorageError, UsageError
from clinaudit.priors.corpus.files import printable

#: PHI: for the owner alone. `mkdtemp` makes a directory so.
_FILE_MODE = 0o600
_SUFFIX = ".partial"


@contextmanager
def made_whole(destination: Path) -> Iterator[Path]:
    """Yield a private directory that becomes `destination` when the block ends, and is removed when it raises.

    Raises `UsageError` where `destination` is not a new or empty directory, and `StorageError` where the disk does not
    take what is written.
    """
    _require_free(destination)
    # Not as it was given: `.` has no name.
    final = Path(os.path.abspath(destination))  # noqa: PTH100 (`resolve` would follow links)
    final.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=_prefix(final), suffix=_SUFFIX, dir=final.parent))
    try:
        yield staging
        for path in staging.iterdir():
            path.chmod(_FILE_MODE)
            _flush(path)
        _flush(staging)
        _put_in_place(staging, final)
        _flush(final.parent)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is None:
            # A write tells no name.
            raise StorageError(
                f"cannot write {printable(str(final))}: {os.strerror(error.errno or errno.EIO)}; nothing was written "
                "there: mend it, or give another DEST"
            ) from None
        raise


def left_behind(destination: Path) -> list[Path]:
    """Return what imports to `destination` have left beside it that were killed, or that still run."""
    final = Path(os.path.abspath(destination))  # noqa: PTH100
    beside = final.parent.iterdir() if final.parent.is_dir() else ()
    return sorted(path for path in beside if path.name.startswith(_prefix(final)) and path.name.endswith(_SUFFIX))


def _prefix(final: Path) -> str:
    return f".{final.name}."


def _put_in_place(staging: Path, final: Path) -> None:
    _require_free(final)
    try:
        staging.rename(final)
    except OSError:
        _require_free(final)  # something may have come there meanwhile
        raise


def _require_free(destination: Path) -> None:
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        raise UsageError("DEST is not a directory; give the name of a new one")
    if destination.is_dir() and any(destination.iterdir()):
        raise UsageError("DEST holds other things; give a new or an empty directory")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
