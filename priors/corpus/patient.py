"""A patient and a note, as the tables give them; the texts of notes; and a list of patient ids that the user keeps."""

import mmap
import os
import tempfile
from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import IO, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from clinaudit.errors import BadInputError, StorageError
from clinaudit.priors.corpus.files import printable
from clinaudit.templates.note import normalize_newlines
from clinaudit.templates.text_file import read_text_file

Split = Literal["train", "nontrain"]
#: What a table may say. Patients of the validation split chose a checkpoint, and taught the model nothing: they are
#: described, and stand in no arm.
TableSplit = Split | Literal["validation"]


@dataclass(frozen=True, slots=True)
class Note:
    """One note; notes of two readings are never equal."""

    patient_id: str
    note_id: str
    #: The date as written; None where the corpus gives none.
    visit_date: date | None
    provider: str | None
    practice: str | None
    note_type: str | None
    #: Place in the notes table, from 0.
    position: int
    #: Where its text lies, under its position; of a note that was sent to another process the text itself.
    texts: "TextStore | str" = field(repr=False)
    #: Time of the visit, where the table gives one; most visits have a date alone.
    visit_time: time = time.min

    @property
    def text(self) -> str:
        """The text exactly as given, read anew each time."""
        return self.texts if isinstance(self.texts, str) else self.texts.text(self.position)

    def __reduce__(self) -> tuple[object, ...]:
        # Where it is sent, it takes its own text along, and nobody else's.
        return Note, tuple(self.text if one.name == "texts" else getattr(self, one.name) for one in fields(self))


def moment_of(note: Note) -> tuple[bool, date, time, int]:
    """Return by what notes are in order of time: undated ones first, then by visit, then in file order."""
    return note.visit_date is not None, note.visit_date or date.min, note.visit_time, note.position


@dataclass(frozen=True, slots=True)
class Patient:
    """What the tables say about one patient who has notes; None is unknown."""

    patient_id: str
    split: Split
    #: Completed years; where the table gives none, at the latest visit, from the date of birth.
    age: int | None = None
    #: `female`, `male`, or another word in lower case.
    sex: str | None = None
    name: str | None = None
    dob: date | None = None
    race: str | None = None
    marital_status: str | None = None
    occupation: str | None = None
    children: str | None = None
    #: The table says no more than that the patient is 90 or older; `age` is 90 then.
    age_is_pooled: bool = False
    #: Where the table gives the year of birth alone; `dob` is None then.
    birth_year: int | None = None
    #: Of the validation split: `Corpus.validation` holds the patient, `Corpus.patients` does not.
    is_validation: bool = False
    #: What the rows of the other ids of this person say besides.
    other_ids: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    other_births: tuple[date, ...] = ()


@dataclass(frozen=True, slots=True)
class PatientList:
    """The ids of a file, each once, in its order, with the line (from 1) that names each first."""

    file_name: str
    lines: dict[str, int]

    @property
    def ids(self) -> list[str]:
        """The ids in the order of the file."""
        return list(self.lines)

    def as_people(self, person_of: Mapping[str, str]) -> "PatientList":
        """Return the same list with each person's id in the place of their other ids."""
        lines: dict[str, int] = {}
        for patient_id, line in self.lines.items():
            lines.setdefault(person_of.get(patient_id, patient_id), line)
        return PatientList(self.file_name, lines)

    def require_known(self, known: Container[str], *, validation: Container[str] = ()) -> None:
        """Raise `BadInputError` with every line whose patient is not `known`, and which of them are of `validation`."""
        held, nobody = "is of the validation split, which is never probed", "no patient with notes has this id"
        problems = [
            f"{self.file_name} line {line}: {held if patient_id in validation else nobody}"
            for patient_id, line in self.lines.items()
            if patient_id not in known
        ]
        if problems:
            raise BadInputError(f"{self.file_name} names patients who cannot be probed; correct these lines", problems)


def read_patient_list(path: Path) -> PatientList:
    """Read the ids, one a line; blank lines do not count. Raises `BadInputError` where there are none."""
    text = read_text_file(path, role="the list of ids").lstrip("\ufeff")
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if patient_id := line.strip():
            lines.setdefault(patient_id, number)
    if not lines:
        raise BadInputError(f"the list of ids {path.name} is empty; give one patient id a line")
    return PatientList(path.name, lines)


@dataclass(frozen=True, slots=True, eq=False)
class PackedTexts:
    """Notes of some patients, with line feeds only."""

    #: Bytes, shape (bytes,); may be memory-mapped, and may hold more than these notes.
    text: npt.NDArray[np.uint8]
    #: Where each note begins and ends in `text`, shape (notes,); a patient's notes follow each other here alone.
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
    """Texts by position, from 0: `append` within the `with` block, read after it.

    They lie outside of memory, as UTF-8 in one temporary file without a name, which is mapped once all are in it and is
    gone with the process (docs/decisions.md, "Note texts in a nameless file"). A text with a carriage return is stored
    twice, as it stands and with line feeds only.
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
        with self._writing():
            # Mode 0600, and without a name from the start where the file system can do that (Linux: O_TMPFILE).
            self._file = tempfile.TemporaryFile(dir=self.scratch, buffering=_BUFFER_BYTES)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        file, self._file = cast("IO[bytes]", self._file), None
        try:
            if kind is None and self._starts[-1]:  # nothing cannot be mapped
                with self._writing():
                    file.flush()
                    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._bytes = np.frombuffer(mapped, dtype=np.uint8)
        finally:
            with suppress(OSError):  # closing tries a failed write again
                file.close()

    def append(self, text: str) -> None:
        """Add the next text; raises `StorageError` where it cannot be written."""
        if self._file is None:
            raise ValueError("texts are appended within the with block")
        given = text.encode("utf-8")
        plain = normalize_newlines(text).encode("utf-8") if "\r" in text else b""
        with self._writing():
            self._file.write(given + plain)
        self._ends_as_given.append(self._starts[-1] + len(given))
        self._starts.append(self._ends_as_given[-1] + len(plain))

    def text(self, position: int) -> str:
        """Return a text exactly as it was given."""
        return str(self._bytes[self._starts[position] : self._ends_as_given[position]].data, "utf-8")

    def packed(self, patients: Iterable[Sequence[int]]) -> PackedTexts:
        """Return the notes of some patients, each given by the positions of its notes; no text is copied."""
        own = list(patients)
        positions = np.array([*chain.from_iterable(own)], dtype=np.int64)
        starts, as_given = (np.array(of, dtype=np.int64) for of in (self._starts, self._ends_as_given))
        ends, ends_as_given = starts[positions + 1], as_given[positions]
        begins = np.where(ends_as_given < ends, ends_as_given, starts[positions])
        return PackedTexts(self._bytes, begins, ends, np.cumsum([0, *map(len, own)], dtype=np.int64))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "input/output error"
            place = printable(str(self.scratch)) if self.scratch else "the system's temporary directory"
            raise StorageError(
                f"cannot write the text of the notes to a temporary file in {place}: {reason}; "
                "free disk space there or use another directory, then run the same command again"
            ) from None
