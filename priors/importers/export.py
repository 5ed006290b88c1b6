"""An import from beginning to end: the one frame of all kinds of export.

An export finds its files when it is made; `run` reads them and writes the corpus, whole or not at all. What differs by
kind is which files there are, and how their records become patients, notes and codes.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from clinaudit.errors import BadInputError
from clinaudit.priors.corpus.cells import ABBREVIATED, NO_DAYS, SHORTENED, is_placeholder, look, without_marks
from clinaudit.priors.corpus.files import DataFile
from clinaudit.priors.diagnoses import Diagnosis
from clinaudit.priors.importers import Kind, System
from clinaudit.priors.importers.codes import CodeBook, Labels
from clinaudit.priors.importers.corpus_writer import REJECTED_NAME, CorpusWriter, ImportLedger, made_whole
from clinaudit.priors.importers.tables import Reader
from clinaudit.templates.text_file import read_text_file

_LEDGER_NAME = "import.json"
#: Where the first cell of a line ends that is a row of a table.
_CELL_ENDS = re.compile(r"[,;|\t]")
#: So many texts of one length are no chance where it is a limit: a round number, or one of bytes.
_FEWEST_CUT = 3
#: Characters below which a length is no limit: of short notes many are equally long.
_LEAST_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What a site asks for."""

    kind: Kind
    source: Path
    destination: Path
    panel: Sequence[Diagnosis]
    #: Systems of codes in which no code means that a patient does not have a diagnosis.
    complete: Collection[System] = ()
    #: A file of patient ids, one a line: the train split. None: the corpus has no split, unless its table gives one.
    train_patients: Path | None = None
    #: The column map of a site's own table.
    columns: Path | None = None
    #: OMOP: the codes that `condition_source_value` holds.
    source_values: System | None = None
    #: Words that mean that a cell is blank, beside those that common programs write.
    blank: Collection[str] = ()
    allow_rejected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import has made."""

    notes: int
    patients: int
    #: Patients of the train split, None where the corpus has no split.
    train: int | None
    #: Ids of the train list without a patient with notes.
    train_not_found: int
    #: Whether codes were read, so that a table of diagnoses was written.
    has_labels: bool
    #: Patients with a condition in a system that is not called complete.
    unreadable: int
    #: What became of each record.
    ledger: ImportLedger


class Export(ABC):
    """An export whose files were found. Readers of records return False for one that is not needed."""

    #: The table of patients: those to whom no note belongs are not needed after all. None: each row has a note.
    patient_table: str | None = None
    #: The table that holds codes of diagnoses, where an export has it; and those that say what its codes mean.
    code_table: str
    vocabulary_tables: tuple[str, ...] = ()
    #: Where records go, and how they are read; set by `run`.
    writer: CorpusWriter
    labels: Labels
    reader: Reader

    def __init__(self, request: ImportRequest) -> None:
        """Find the files; raises `BadInputError` where there is nothing to read."""
        self.request = request
        self.train = None if request.train_patients is None else _read_ids(request.train_patients)
        self.files = self._find()

    @abstractmethod
    def _find(self) -> dict[str, DataFile]:
        """Return the files that are read."""

    @abstractmethod
    def _read(self) -> None:
        """Read the files, and give what they hold to `writer` and `labels`."""

    @property
    def has_codes(self) -> bool:
        """Whether codes of diagnoses were read."""
        return self.code_table in self.reader.ledger.tables

    @property
    def total_bytes(self) -> int:
        """Bytes of the files on the disk."""
        return sum(file.identity[2] for file in self.files.values())

    def run(self, advance: Callable[[int], None]) -> Imported:
        """Read the export and write the corpus; calls `advance(bytes)` for what was read.

        Raises `BadInputError` where a file cannot be read on, or where any record was rejected and that is not allowed;
        nothing is written then.
        """
        request = self.request
        with (
            made_whole(request.destination) as directory,
            closing(ImportLedger(directory / REJECTED_NAME)) as ledger,
            closing(CorpusWriter(directory, ledger, blank=request.blank)) as writer,
        ):
            self.writer, self.reader = writer, Reader(ledger, advance, blank=request.blank)
            self.labels = Labels(CodeBook(request.panel), request.complete)
            self._read()
            if self.patient_table is not None:
                ledger.not_needed_after_all(self.patient_table, len(writer.patients) - len(writer.latest_visit))
            ledger.require_balanced()
            if ledger.rejected and not request.allow_rejected:
                raise BadInputError(
                    f"{ledger.rejected} {'record' if ledger.rejected == 1 else 'records'} cannot be used; nothing was "
                    "written: correct the export, or leave them out with --allow-rejected",
                    ledger.listed(),
                )
            imported = self._finish(ledger, writer)
            content = {
                "kind": request.kind,
                "notes": imported.notes,
                "patients": imported.patients,
                "codes_complete": sorted(request.complete),
                **ledger.as_json(),
            }
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            (directory / _LEDGER_NAME).write_text(text, encoding="utf-8")
        return imported

    def _finish(self, ledger: ImportLedger, writer: CorpusWriter) -> Imported:
        """Say what the owner should look at, and write the tables of patients and diagnoses."""
        with_notes, train, labels = writer.latest_visit.keys(), self.train, self.labels
        if not writer.notes:
            why = f": {ledger.rejected:,} records were rejected" if ledger.rejected else ""
            aside = [f"left aside: {number:,} {what}" for what, number in ledger.left_aside.items()]
            said = f"the export gave no note{why}; nothing was written: check SOURCE"
            raise BadInputError(said, [*ledger.listed(), *aside])
        ledger.hints += [f"{number:,} {what}" for number, what in _to_look_at(writer) if number]
        if train is not None:
            _require_alike(train, with_notes)
        if train is not None and train.isdisjoint(with_notes):
            raise BadInputError(
                "no patient of the export is in the train split; nothing was written: the list of --train-patients (or "
                "the column for split) must name patients by the same ids as the export"
            )
        if self.has_codes and labels.complete:
            # Records of codes were rejected: of whom no code means nothing.
            rejected = Counter[str | None]()
            for name in (self.code_table, *self.vocabulary_tables):
                rejected += ledger.rejected_of[name]
            labels.lost = {None if one is None else look(one) for one in rejected}
            if None in labels.lost:
                ledger.hints.append(
                    f"{rejected[None]:,} rejected records of diagnosis codes do not say whose they are, and may be "
                    "anybody's: no patient counts as without a diagnosis"
                )
            elif lost := sum(look(patient_id) in labels.lost for patient_id in with_notes):
                ledger.hints.append(
                    f"{lost:,} patients have rejected records of diagnosis codes: what they lack stays unknown"
                )
        writer.finish(train=train, labels=labels.rows(with_notes) if self.has_codes else None)
        return Imported(
            notes=writer.notes,
            patients=len(with_notes),
            train=None if train is None else len(train & with_notes),
            train_not_found=0 if train is None else len(train - with_notes),
            has_labels=self.has_codes,
            unreadable=labels.unreadable(with_notes) if self.has_codes else 0,
            ledger=ledger,
        )


def _to_look_at(writer: CorpusWriter) -> Iterator[tuple[int, str]]:
    """Yield how many notes or patients may be read otherwise than they were meant, none too, and what they are."""
    length, longest = writer.longest
    near = range(length - 1, length + 2)
    is_limit = length >= _LEAST_LIMIT and any(number % 100 == 0 or number % 256 == 0 for number in near)
    patients = writer.latest_visit.keys()
    with_blanks = sum(" " in patient_id for patient_id in patients)
    yield from ((number, what) for what, number in writer.look.items())
    yield (
        len(longest) if is_limit and len(longest) >= _FEWEST_CUT else 0,
        f"notes have exactly {length:,} characters, none has more: they may be cut off, or be pieces of notes in "
        "several rows",
    )
    yield (
        sum(str(writer.patients[patient_id].dob) in NO_DAYS for patient_id in patients),
        "patients are born on a day such as 1900-01-01: where it is none, leave it blank",
    )
    yield (
        sum(map(is_placeholder, patients)),
        "patients have a word such as none, unknown, -- or 0 as their id: where it stands for no patient, say so with "
        "--blank WORD, or several patients are one",
    )
    yield (
        with_blanks if 2 * with_blanks < len(patients) else 0,
        "patients have blanks within their id, as most have not: such a row may be no record, or the rest of a text "
        "that a line break without quotes cut",
    )


def _require_alike(train: Collection[str], patients: Collection[str]) -> None:
    """Raise `BadInputError` where an id of the list is a patient's but for how it is written, or for cells after it."""
    others = [patient_id for patient_id in train if patient_id not in patients]
    looks = {look(patient_id) for patient_id in patients} if others else set()
    if alike := sum(not looks.isdisjoint((look(one), look(_CELL_ENDS.split(one)[0]))) for one in others):
        raise BadInputError(
            f"{alike} ids of --train-patients are those of patients but for case, zeros in front, .0, quotes, commas "
            "or signs that look alike; nothing was written: write them as in the export, one a line"
        )
    if any(ABBREVIATED.fullmatch(patient_id) for patient_id in others):
        raise BadInputError(f"an id of --train-patients {SHORTENED}")


def _read_ids(path: Path) -> frozenset[str]:
    lines = read_text_file(path, role="the list of --train-patients").splitlines()
    ids = frozenset(patient_id for line in lines if (patient_id := without_marks(line)))
    if not ids:
        raise BadInputError("the list of --train-patients is empty; give patient ids, one a line")
    return ids
