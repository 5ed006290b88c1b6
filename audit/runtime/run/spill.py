"""What a run need not hold in memory: objects in a nameless file of its own, read again by their place.

The file is gone when the process ends, however it ends, as that of the note texts is (docs/decisions.md). Knows nothing
of what the objects are.
"""

import io
import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

from clinaudit.errors import StorageError

Item = TypeVar("Item")
Given = TypeVar("Given", covariant=True)


class Items(Protocol[Given]):
    """Objects by place, from 0: a list, or what is read anew each time."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Given: ...

    def __iter__(self) -> Iterator[Given]: ...


def pack(item: Any) -> bytes:
    """Return an object as bytes, wherever it was made."""
    return pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(packed: bytes) -> Any:
    """Return the object of bytes that a process of this run packed."""
    return pickle.loads(packed)


class Spill(Generic[Item]):
    """Objects by place, from 0, read anew each time; `directory` is the file's, without one they stay in memory."""

    def __init__(self, directory: Path | None, items: Iterable[Item] = ()) -> None:
        self._starts = array("q", [0])
        try:
            # Mode 0600, and without a name from the start where the file system can do that (Linux: O_TMPFILE).
            self._file = io.BytesIO() if directory is None else tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
        except OSError as error:
            raise _unwritable(error) from None
        weakref.finalize(self, _close, self._file)
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def append(self, item: Item) -> None:
        """Keep one object; raises `StorageError` where the disk refuses it."""
        self.append_packed(pack(item))

    def append_packed(self, packed: bytes) -> None:
        """Keep one object that was packed elsewhere."""
        try:
            self._file.write(packed)
            self._file.flush()
        except OSError as error:
            raise _unwritable(error) from None
        self._starts.append(self._starts[-1] + len(packed))

    def packed(self, place: int) -> bytes:
        """Return the object of a place as bytes; threads may ask at once."""
        start, end = self._starts[place : place + 2]
        if isinstance(self._file, io.BytesIO):
            return bytes(self._file.getbuffer()[start:end])
        return os.pread(self._file.fileno(), end - start, start)

    def __getitem__(self, place: int) -> Item:
        item: Item = unpack(self.packed(place))
        return item

    def __iter__(self) -> Iterator[Item]:
        return (self[place] for place in range(len(self)))


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # closing tries a failed write again
        file.close()


def _unwritable(error: OSError) -> StorageError:
    reason = error.strerror or type(error).__name__
    return StorageError(f"cannot write the run's temporary file: {reason}; free some space, then run the same command")
