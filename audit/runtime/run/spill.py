"""What a run need not hold in memory: objects in a nameless file of its own, read again in their order.

The file is gone when the process ends, however it ends, as that of the note texts is (docs/decisions.md). Knows nothing
of what the objects are.
"""

import io
import pickle
import tempfile
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from clinaudit.errors import StorageError


def pack(item: Any) -> bytes:
    """Return an object as bytes, wherever it was made."""
    return pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(packed: bytes) -> Any:
    """Return the object of bytes that a process of this run packed."""
    return pickle.loads(packed)


class Spill:
    """Packed objects in order; `directory` is the file's, without one they stay in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._starts = array("q", [0])
        try:
            # Mode 0600, and without a name from the start where the file system can do that (Linux: O_TMPFILE).
            self._file: IO[bytes] = (
                io.BytesIO() if directory is None else tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (kept open)
            )
        except OSError as error:
            raise _unwritable(error) from None

    def append(self, packed: bytes) -> None:
        """Keep one object; raises `StorageError` where the disk refuses it."""
        try:
            self._file.seek(self._starts[-1])
            self._file.write(packed)
            self._file.flush()
        except OSError as error:
            raise _unwritable(error) from None
        self._starts.append(self._starts[-1] + len(packed))

    def __iter__(self) -> Iterator[bytes]:
        for start, end in pairwise(self._starts):
            self._file.seek(start)
            yield self._file.read(end - start)


def _unwritable(error: OSError) -> StorageError:
    reason = error.strerror or type(error).__name__
    return StorageError(f"cannot write the run's temporary file: {reason}; free some space, then run the same command")
