"""Counts of a corpus for `clinaudit check`; also note texts that stand in both splits.

The counts are exact, for the corpus's owner alone; none of them enters a published report as it is.
"""

import hashlib
from collections import defaultdict
from dataclasses import dataclass

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.priors.corpus.patient import Split
from clinaudit.templates.sections import normalize_newlines


@dataclass(frozen=True, slots=True)
class SplitDescription:
    """Counts of one split."""

    patients: int
    notes: int
    #: Notes with a visit date.
    dated_notes: int
    known_age: int
    known_sex: int
    known_name: int
    known_dob: int


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """Counts of a corpus; shared texts are compared with `\\r\\n` and `\\r` read as `\\n`."""

    train: SplitDescription
    nontrain: SplitDescription
    #: Patients and notes of the validation split.
    validation: tuple[int, int]
    #: Patients of the patients table that have no notes.
    patients_without_notes: int
    #: Patients labelled positive and negative, by diagnosis, sorted; empty without a table.
    labels: dict[str, tuple[int, int]]
    #: Distinct note texts that stand in notes of both splits.
    shared_texts: int
    #: Patients, of either split, with such a note.
    patients_with_shared_texts: int
    #: What was read otherwise than it is written, and what the corpus lacks, in words.
    warnings: tuple[str, ...]


def describe_corpus(corpus: Corpus) -> CorpusDescription:
    """Count what is in a corpus."""
    texts = [
        (_digest(note.text), patient)
        for patient in corpus.patients.values()
        for note in corpus.notes_of(patient.patient_id)
    ]
    splits: defaultdict[bytes, set[Split]] = defaultdict(set)
    for text, patient in texts:
        splits[text].add(patient.split)
    shared = {text for text, seen in splits.items() if len(seen) == 2}
    return CorpusDescription(
        train=_describe_split(corpus, "train"),
        nontrain=_describe_split(corpus, "nontrain"),
        validation=(len(corpus.validation), sum(len(corpus.notes_of(patient_id)) for patient_id in corpus.validation)),
        patients_without_notes=corpus.patients_without_notes,
        labels=_count_labels(corpus),
        shared_texts=len(shared),
        patients_with_shared_texts=len({patient.patient_id for text, patient in texts if text in shared}),
        warnings=(*corpus.readings, *corpus.warnings),
    )


def _digest(text: str) -> bytes:
    """Return the digest of a text, compared in its place: all texts together would not fit into memory."""
    return hashlib.blake2b(normalize_newlines(text).encode("utf-8"), digest_size=16).digest()


def _describe_split(corpus: Corpus, split: Split) -> SplitDescription:
    patients = [corpus.patients[patient_id] for patient_id in corpus.patient_ids(split)]
    notes = [note for patient in patients for note in corpus.notes_of(patient.patient_id)]
    return SplitDescription(
        patients=len(patients),
        notes=len(notes),
        dated_notes=sum(note.visit_date is not None for note in notes),
        known_age=sum(patient.age is not None for patient in patients),
        known_sex=sum(patient.sex is not None for patient in patients),
        known_name=sum(patient.name is not None for patient in patients),
        known_dob=sum(patient.dob is not None or patient.birth_year is not None for patient in patients),
    )


def _count_labels(corpus: Corpus) -> dict[str, tuple[int, int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (patient_id, diagnosis), present in (corpus.diagnosis_labels or {}).items():
        if patient_id in corpus.validation:
            continue
        counts[diagnosis][0 if present else 1] += 1
    return {diagnosis: (positive, negative) for diagnosis, (positive, negative) in sorted(counts.items())}
