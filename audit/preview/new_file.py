"""A new file of a preview, for its owner alone: there whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from clinaudit.audit.runtime.run.durable_files import FILE_MODE
from clinaudit.errors import StorageError
from clinaudit.priors.corpus.files import printable


@contextmanager
def writing_new_file(path: Path) -> Iterator[TextIO]:
    """Yield the file, mode 0600; what fails in the block removes it. Raises `StorageError` where the disk fails."""
    # Exclusive: a file that another process made meanwhile is not overwritten.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = os.strerror(error.errno or errno.EIO)
            raise StorageError(f"cannot write {printable(str(path))}: {reason}; give it room and run again") from None
        raise
