"""Note texts outside of memory: UTF-8, concatenated in one temporary file without a name, memory-mapped.

The file is mapped once all texts are in it: its pages belong to the system's cache, which drops them where memory runs
short. It is gone when the process ends, however it ends (docs/decisions.md, "Note texts in a nameless file"). A scan
reads the same bytes: a text stands in a note exactly where its UTF-8 stands in the note's.
"""

import mmap
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from clinaudit.errors import StorageError
from clinaudit.priors.corpus.files import printable
from clinaudit.templates.note import normalize_newlines


@dataclass(frozen=True, slots=True, eq=False)
class PackedTexts:
    r"""Notes of some patients; `\r\n` and `\r` read as `\n`."""

    #: Bytes, shape (bytes,); may be memory-mapped, and may hold more than these notes.
    text: npt.NDArray[np.uint8]
    #: Where each note begins and ends in `text` (bytes), shape (notes,); the notes of a patient follow each other here,
    #: though not always in `text`.
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    #: Index of each patient's first note, and the number of notes, shape (patients + 1,).
    first_notes: npt.NDArray[np.int64]

    @property
    def patient_count(self) -> int:
        """Number of patients."""
        return len(self.first_notes) - 1

    @property
    def size(self) -> int:
        """Bytes of these notes."""
        return int((self.ends - self.starts).sum())

    def note(self, index: int) -> str:
        """Return the text of one note, with line feeds only."""
        return bytes(self.text[self.starts[index] : self.ends[index]]).decode("utf-8")

    def notes_of(self, patient: int) -> list[str]:
        """Return the texts of one patient's notes, by the patient's place here."""
        return [self.note(index) for index in range(self.first_notes[patient], self.first_notes[patient + 1])]


def split_patients(notes: PackedTexts, *, part_bytes: int) -> Iterator[tuple[range, int]]:
    """Split the patients into ranges of about `part_bytes`; yield each with its bytes. No patient is split."""
    sizes = np.concatenate([[0], np.cumsum(notes.ends - notes.starts)])[notes.first_notes]
    begin = 0
    while begin < notes.patient_count:
        end = int(np.searchsorted(sizes, sizes[begin] + part_bytes, side="right")) - 1
        end = min(max(end, begin + 1), notes.patient_count)
        yield range(begin, end), int(sizes[end] - sizes[begin])
        begin = end


def release_pages(notes: PackedTexts, patients: range) -> None:
    """Release the pages of a memory-mapped corpus that hold the notes of a range of patients."""
    base: object = notes.text
    # An array over a map has a view of its memory between them.
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if not isinstance(base, mmap.mmap):
        return
    own = slice(notes.first_notes[patients.start], notes.first_notes[patients.stop])
    begin = int(notes.starts[own].min(initial=len(notes.text))) // mmap.PAGESIZE * mmap.PAGESIZE
    end = int(notes.ends[own].max(initial=0))
    if begin < end:
        base.madvise(mmap.MADV_DONTNEED, begin, end - begin)


#: Bytes written at a time.
_BUFFER_BYTES = 1 << 20


class TextStore:
    r"""Texts by position, from 0: `append` within the `with` block, read after it.

    A text with a carriage return is stored twice, as it stands and with `\r\n` and `\r` read as `\n`.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        #: The file's directory; None: the system's own for such files.
        self.scratch = scratch
        #: Where each text begins (bytes), then where the last one's bytes end.
        self._starts = array("q", [0])
        #: Where the text as it stands ends (bytes); its form with line feeds lies between here and the next start.
        self._ends_as_given = array("q")
        self._file: IO[bytes] | None = None
        self._bytes: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def __len__(self) -> int:
        return len(self._ends_as_given)

    def __enter__(self) -> Self:
        try:
            # Mode 0600, and without a name from the start where the file system can do that (Linux: O_TMPFILE).
            self._file = tempfile.TemporaryFile(dir=self.scratch, buffering=_BUFFER_BYTES)
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

    def packed(self, patients: Iterable[Sequence[int]]) -> PackedTexts:
        """Return the notes of some patients, each given by the positions of its notes; no text is copied."""
        own = [np.asarray(positions, dtype=np.int64) for positions in patients]
        first_notes = np.cumsum([0, *map(len, own)], dtype=np.int64)
        positions = np.concatenate(own) if own else np.empty(0, dtype=np.int64)
        starts = np.array(self._starts, dtype=np.int64)
        ends = starts[positions + 1]
        ends_as_given = np.array(self._ends_as_given, dtype=np.int64)[positions]
        return PackedTexts(
            self._bytes, np.where(ends_as_given < ends, ends_as_given, starts[positions]), ends, first_notes
        )

    def _mapped(self, file: IO[bytes]) -> npt.NDArray[np.uint8]:
        try:
            file.flush()
            if not self._starts[-1]:
                return np.empty(0, dtype=np.uint8)  # nothing cannot be mapped
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> StorageError:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        place = printable(str(self.scratch)) if self.scratch else "the system's temporary directory"
        return StorageError(
            f"cannot write the text of the notes to a temporary file in {place}: {reason}; "
            "free disk space there or use another directory, then run the same command again"
        )
