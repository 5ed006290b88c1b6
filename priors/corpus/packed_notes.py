"""Notes as the bytes that the corpus scan reads: UTF-8 with line feeds only, at given places of one array.

Owns the layout only. A text stands in a note exactly where its UTF-8 stands in the note's: UTF-8 is self-synchronizing,
so that a match never begins within a character.
"""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clinaudit.templates.sections import normalize_newlines


@dataclass(frozen=True, slots=True, eq=False)
class PackedNotes:
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


def pack_notes(patients: Iterable[Sequence[str]]) -> PackedNotes:
    """Pack the notes of some patients, each given by the texts of its notes, into memory."""
    encoded: list[bytes] = []
    first_notes = [0]
    for notes in patients:
        encoded += [normalize_newlines(note).encode("utf-8") for note in notes]
        first_notes.append(len(encoded))
    ends = np.cumsum([len(note) for note in encoded], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]) if encoded else ends
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return PackedNotes(text, starts, ends, np.array(first_notes, dtype=np.int64))


def split_patients(notes: PackedNotes, *, part_bytes: int) -> Iterator[tuple[range, int]]:
    """Split the patients into ranges of about `part_bytes`; yield each with its bytes. No patient is split."""
    sizes = np.concatenate([[0], np.cumsum(notes.ends - notes.starts)])[notes.first_notes]
    begin = 0
    while begin < notes.patient_count:
        end = int(np.searchsorted(sizes, sizes[begin] + part_bytes, side="right")) - 1
        end = min(max(end, begin + 1), notes.patient_count)
        yield range(begin, end), int(sizes[end] - sizes[begin])
        begin = end


def release_pages(notes: PackedNotes, patients: range) -> None:
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
