"""Note texts outside of memory: UTF-8, concatenated in one temporary file without a name, memory-mapped.

Owns where the bytes of each note lie. Knows nothing of patients, tables or what a note says. The file is mapped once
all texts are in it: its pages belong to the system's cache, which drops them where memory runs short. The file is gone
when the process ends, however it ends (docs/decisions.md, "Note texts in a nameless file").
"""

import io
import mmap
import os
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from clinaudit.errors import StorageError
from clinaudit.priors.corpus.files import printable
from clinaudit.priors.corpus.packed_notes import PackedNotes
from clinaudit.templates.sections import normalize_newlines

#: Bytes written at a time.
_BUFFER_BYTES = 1 << 20


class NoteTexts:
    r"""Texts by position, from 0: `append` within the `with` block, read after it.

    A text with a carriage return is stored twice, as it stands and with `\r\n` and `\r` read as `\n`.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        #: The file's directory; None keeps all texts in memory.
        self._scratch = scratch
        #: Where each text begins (bytes), then where the last one's bytes end.
        self._starts = array("q", [0])
        #: Where the text as it stands ends (bytes); its form with line feeds lies between here and the next start.
        self._ends_as_given = array("q")
        self._file: IO[bytes] | None = None
        self._bytes: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def __len__(self) -> int:
        return len(self._ends_as_given)

    def __enter__(self) -> Self:
        if self._scratch is None:
            self._file = io.BytesIO()
            return self
        try:
            # Mode 0600, and without a name from the start where the file system can do that (Linux: O_TMPFILE).
            self._file = tempfile.TemporaryFile(dir=self._scratch, buffering=_BUFFER_BYTES)
        except OSError as error:
            raise self._unwritable(error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if kind is None:
                self._bytes = self._mapped(file)
        finally:
            with suppress(OSError):  # closing tries a failed write again
                file.close()

    def append(self, text: str) -> None:
        """Add the next text; raises `StorageError` where it cannot be written."""
        if self._file is None:
            raise ValueError("texts are appended within the with block")
        given = text.encode("utf-8")
        plain = normalize_newlines(text).encode("utf-8") if "\r" in text else b""
        try:
            self._file.write(given)
            self._file.write(plain)
        except OSError as error:
            raise self._unwritable(error) from None
        self._ends_as_given.append(self._starts[-1] + len(given))
        self._starts.append(self._ends_as_given[-1] + len(plain))

    def text(self, position: int) -> str:
        """Return a text exactly as it was given."""
        return str(self._bytes[self._starts[position] : self._ends_as_given[position]].data, "utf-8")

    def packed(self, patients: Iterable[Sequence[int]]) -> PackedNotes:
        """Return the notes of some patients, each given by the positions of its notes; no text is copied."""
        own = [np.asarray(positions, dtype=np.int64) for positions in patients]
        first_notes = np.cumsum([0, *map(len, own)], dtype=np.int64)
        positions = np.concatenate(own) if own else np.empty(0, dtype=np.int64)
        starts = np.array(self._starts, dtype=np.int64)
        ends = starts[positions + 1]
        ends_as_given = np.array(self._ends_as_given, dtype=np.int64)[positions]
        return PackedNotes(
            self._bytes, np.where(ends_as_given < ends, ends_as_given, starts[positions]), ends, first_notes
        )

    def _mapped(self, file: IO[bytes]) -> npt.NDArray[np.uint8]:
        if isinstance(file, io.BytesIO):
            return np.frombuffer(file.getvalue(), dtype=np.uint8)
        try:
            file.flush()
            if not self._starts[-1]:
                return np.empty(0, dtype=np.uint8)  # nothing cannot be mapped
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> StorageError:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        return StorageError(
            f"cannot write the text of the notes to a temporary file in {printable(str(self._scratch))}: {reason}; "
            "free disk space there or use another directory, then run the same command again"
        )
