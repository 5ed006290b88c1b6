"""The corpus: patients, their notes in order of time, and their diagnosis labels (docs/corpus-format.md).

`read_corpus` reports all problems at once: a `Corpus` is always valid.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clinaudit.priors.corpus import people as persons
from clinaudit.priors.corpus import tables as tabular
from clinaudit.priors.corpus.files import digest_file, printable, require_unchanged
from clinaudit.priors.corpus.patient import Note, PackedTexts, Patient, Split, TextStore
from clinaudit.priors.corpus.people import People, StatedIdentity, find_people
from clinaudit.priors.corpus.records import Problems
from clinaudit.priors.corpus.schema import NOTES, SCHEMAS
from clinaudit.priors.corpus.tables import Table, read_table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corpus:
    """A valid corpus. Every patient in it is one person, and has notes; `warnings` name in words what it lacks."""

    #: Every patient with notes who is in an arm, by id, sorted by id.
    patients: Mapping[str, Patient]
    #: The same of the validation split: described, and neither probed nor searched.
    validation: Mapping[str, Patient]
    #: By patient id.
    _notes: Mapping[str, tuple[Note, ...]]
    _texts: TextStore
    #: Whether a patient has a diagnosis; a pair without an entry is unknown. None: no table was given.
    diagnosis_labels: Mapping[tuple[str, str], bool] | None
    #: SHA-256 (hexadecimal) over the tables' roles, formats and bytes; file names and places do not count.
    digest: str
    #: In words, without counts.
    warnings: tuple[str, ...]
    #: What was read otherwise than it is written, in words that may name a site's columns: for its owner alone.
    readings: tuple[str, ...]
    #: Who has more than one id; the other parts hold each person once.
    people: People

    @property
    def ids(self) -> dict[str, str]:
        """The patient of an arm whom each id of the tables means: a person may have several."""
        own = {patient_id: patient_id for patient_id in self.patients}
        return own | {one: person for one, person in self.people.person_of.items() if person in self.patients}

    @property
    def has_counterfactual(self) -> bool:
        """Whether any patient is held out from training."""
        return any(patient.split == "nontrain" for patient in self.patients.values())

    def patient(self, patient_id: str) -> Patient:
        """Return a patient of an arm or of the validation split."""
        return self.patients.get(patient_id) or self.validation[patient_id]

    @property
    def scratch(self) -> Path | None:
        """The directory for nameless files of PHI; None: the system's own for such files."""
        return self._texts.scratch

    @property
    def note_count(self) -> int:
        """Number of notes."""
        return sum(map(len, self._notes.values()))

    def notes_of(self, patient_id: str) -> tuple[Note, ...]:
        """Return a patient's notes, undated first, then by date and time of visit, ties in file order."""
        return self._notes[patient_id]

    def latest_note(self, patient_id: str) -> Note:
        """Return the last of `notes_of`."""
        return self._notes[patient_id][-1]

    def patient_ids(self, split: Split) -> tuple[str, ...]:
        """Return the ids of one split, sorted."""
        return tuple(key for key, patient in self.patients.items() if patient.split == split)

    def packed(self, split: Split) -> PackedTexts:
        """Return the notes of one split, each patient's as in `notes_of`; no text is copied.

        Patients are in the order of `scan_order`.
        """
        patients = self.scan_order(split)
        return self._texts.packed([note.position for note in self._notes[patient_id]] for patient_id in patients)

    def scan_order(self, split: Split) -> list[str]:
        """Return the ids of one split by their first place in the notes table, so that a scan reads mostly forward."""
        return sorted(
            self.patient_ids(split), key=lambda patient_id: min(note.position for note in self._notes[patient_id])
        )


def read_corpus(path: Path, *, scratch: Path | None = None, stated: StatedIdentity = lambda _: (None, None)) -> Corpus:
    """Read and validate a corpus directory, or one notes file, and join the ids of one person.

    `stated` reads off a note whose it is, for ids of which the tables give no name or birth date. The text of the notes
    goes to a nameless file in the directory `scratch`, or in the system's own for such files. Raises `BadInputError`
    that lists all problems, by file, row and column and without content; and `StorageError` where the system refuses a
    file, a file changes meanwhile, or the texts cannot be written.
    """
    problems, shown = Problems(), printable(str(path))
    files = tabular.find_tables(path, problems)
    with TextStore(scratch) as texts:
        tables = {
            schema.name: read_table(files[schema.name], schema, problems, texts if schema is NOTES else None)
            for schema in SCHEMAS
            if schema.name in files
        }
    if len(problems):
        for file in files.values():
            require_unchanged(file)
    if "notes" not in tables:
        problems.raise_any(f"the corpus {shown}")
    splits = tabular.collect_splits(tables)
    notes = tabular.collect_notes(tables["notes"], texts)
    patients = tabular.collect_patients(tables.get("patients"), notes, splits)
    labels = tabular.collect_labels(tables.get("diagnoses"), notes)
    without_notes = tables["patients"].frame.height - len(patients) if "patients" in tables else 0
    people = People()
    if not len(problems):
        telling = persons.read_telling_notes(notes)
        person_of = find_people(patients, notes, telling, stated)
        patients, people = persons.join_patients(patients, notes, telling, person_of)
        notes = persons.join_notes(notes, person_of)
        if labels is not None:
            # A diagnosis that one id has is the person's, whatever another says: what is true comes last.
            by_truth = sorted(labels.items(), key=lambda label: label[1])
            labels = {(person_of.get(one, one), diagnosis): present for (one, diagnosis), present in by_truth}
    if patients and all(patient.is_validation for patient in patients):
        problems.add(shown, "every patient with notes is in the validation split; give the train patients too")
    problems.raise_any(f"the corpus {shown}")

    lines = [f"{name} {table.file.format} {digest_file(table.file)}\n" for name, table in sorted(tables.items())]
    by_id = {patient.patient_id: patient for patient in sorted(patients, key=lambda one: one.patient_id)}
    return Corpus(
        patients={key: patient for key, patient in by_id.items() if not patient.is_validation},
        validation={key: patient for key, patient in by_id.items() if patient.is_validation},
        _notes=notes,
        _texts=texts,
        diagnosis_labels=labels,
        digest=hashlib.sha256("".join(lines).encode()).hexdigest(),
        warnings=tuple(_warnings(tables, patients, notes, without_notes=without_notes)),
        readings=(
            *(printable(f"{table.file.name}: {reading}.") for table in tables.values() for reading in table.readings),
            *people.describe(),
        ),
        people=people,
    )


def _warnings(
    tables: Mapping[str, Table],
    patients: Sequence[Patient],
    notes: Mapping[str, tuple[Note, ...]],
    *,
    without_notes: int,
) -> list[str]:
    """Return what a reader must know of the corpus; without counts, since small counts must not be published."""
    splits = {patient.split for patient in patients if not patient.is_validation}
    has_split = any("split" in table.columns for table in tables.values())
    nobody_held_out = "every patient counts as train, and no counterfactual arm exists."
    has_date = {note.visit_date is not None for own in notes.values() for note in own}
    warnings = {
        "Some notes have 32,767 characters, the most that a cell of a spreadsheet holds: it may have cut them.": (
            tables["notes"].may_be_cut
        ),
        f"There is no patients table: {nobody_held_out}": not has_split and "patients" not in tables,
        f"The patients table has no split column: {nobody_held_out}": not has_split and "patients" in tables,
        "No patient with notes is in the nontrain split: no counterfactual arm exists.": (
            has_split and splits == {"train"}
        ),
        "No patient with notes is in the train split: nothing here can have been memorized in training.": (
            splits == {"nontrain"}
        ),
        "The diagnoses table has no rows: nobody is known to have a diagnosis, or to have none.": (
            "diagnoses" in tables and tables["diagnoses"].frame.is_empty()
        ),
        "Some patients of the patients table have no notes; they cannot be targets and are left out.": (
            without_notes > 0
        ),
        "No note has a visit date: notes are taken in the order of the file.": has_date == {False},
        "Some notes have no visit date; they are taken as earlier than a patient's dated ones.": len(has_date) == 2,
    }
    return [warning for warning, holds in warnings.items() if holds]


def draw_secret(texts: Iterable[str], *, purpose: bytes) -> bytes:
    """Return 32 bytes drawn from the texts in their order; another purpose gives others."""
    digest = hashlib.sha256(purpose)
    for text in texts:
        data = text.encode("utf-8")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()


def all_texts(corpus: Corpus) -> Iterator[str]:
    """Yield the text of every note of the corpus's arms, in the order of the patients' ids."""
    return (note.text for patient_id in sorted(corpus.patients) for note in corpus.notes_of(patient_id))


def keyed_digest(key: bytes, content: bytes) -> str:
    """Return the hexadecimal HMAC-SHA-256 of the content."""
    return hmac.digest(key, content, "sha256").hex()
