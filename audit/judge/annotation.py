"""Which sensitive diagnoses a patient's notes state, for a corpus without a table of them (paper, Appendix G).

Owns the annotation of one patient. Labels read by a judge share its errors; the report says so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from clinaudit.audit.judge.verdict import Judge
from clinaudit.priors.diagnoses import Diagnosis, TermKind, find_terms, refers_to


@dataclass(frozen=True, slots=True)
class MedicationRemoval:
    """An entry of the patient's medication list that reveals a diagnosis, and why."""

    substring: str
    reason: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """One row of `annotations.parquet` for one patient; every span stands verbatim in one of the notes."""

    diagnosis: str
    #: Some note states that the patient has it, by name or code. A symptom or a drug alone does not make it
    #: present: "do NOT infer from vague language" (Appendix G). None: unknown, where a table has no row for it.
    present: bool | None
    #: Whether the opening of the latest note, and its HPI, refer to the diagnosis (name, code or drug).
    in_note_start: bool
    in_hpi: bool
    #: Names and codes from the notes that state it; symptoms and drugs from any note.
    diagnosis_spans: tuple[str, ...]
    icd10_spans: tuple[str, ...]
    symptom_spans: tuple[str, ...]
    medication_spans: tuple[str, ...]
    #: For patients without the diagnosis too: removal from the positives only would itself tell (contract, section 3).
    medications_to_remove: tuple[MedicationRemoval, ...]


@dataclass(frozen=True, slots=True)
class PatientHistory:
    """What an annotation is made from."""

    #: Every note of the patient, oldest first.
    notes: Sequence[str]
    #: Of the latest note: what stands before its HPI, and the HPI.
    note_start: str
    hpi: str
    #: One entry a medication of the latest note.
    medications: Sequence[str]


@runtime_checkable
class Annotator(Protocol):
    """A judge that reads whole histories by itself, rather than note by note."""

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Annotation]]:
        """Yield the annotations of each patient, in order; `histories` is called once for each time they are read."""
        ...


def annotate_patient(history: PatientHistory, *, panel: Sequence[Diagnosis], judge: Judge) -> list[Annotation]:
    """Return one annotation for each diagnosis of `panel`, in its order, from all of a patient's notes.

    An unjudged note counts as not stating the diagnosis.
    """
    # Judged without symptoms and drugs, a positive verdict rests on a name or a code.
    stated = [
        replace(diagnosis, symptoms=(), medications=(), as_written=_cased_names(diagnosis)) for diagnosis in panel
    ]
    judgements = judge.judge_many([(note, diagnosis) for note in history.notes for diagnosis in stated])
    named: list[list[str]] = [[] for _ in panel]
    for index, judgement in enumerate(judgements):
        verdict = judgement.verdict
        if verdict is not None and verdict.patient_has_diagnosis == "positive":
            named[index % len(panel)].extend(verdict.diagnosis_spans)
    return [_annotation(diagnosis, spans, history) for diagnosis, spans in zip(panel, named, strict=True)]


def _annotation(diagnosis: Diagnosis, named: Sequence[str], history: PatientHistory) -> Annotation:
    # Told by the absence of a name: alone, "b20" is no code; in brackets in its note it was.
    codes = [span for span in named if not find_terms(span, diagnosis, (TermKind.NAME,))]
    return Annotation(
        diagnosis=diagnosis.id,
        present=bool(named),
        in_note_start=refers_to(history.note_start, diagnosis),
        in_hpi=refers_to(history.hpi, diagnosis),
        diagnosis_spans=_distinct(span for span in named if span not in codes),
        icd10_spans=_distinct(codes),
        symptom_spans=_spans_in(history.notes, diagnosis, TermKind.SYMPTOM),
        medication_spans=_spans_in(history.notes, diagnosis, TermKind.MEDICATION),
        medications_to_remove=tuple(
            MedicationRemoval(entry, f"primarily used for {diagnosis.display}")
            for entry in dict.fromkeys(history.medications)
            if refers_to(entry, diagnosis)
        ),
    )


def _cased_names(diagnosis: Diagnosis) -> tuple[str, ...]:
    return tuple(term for term in diagnosis.as_written if term in diagnosis.names)


def _spans_in(notes: Iterable[str], diagnosis: Diagnosis, kind: TermKind) -> tuple[str, ...]:
    """Return the distinct texts of one kind of term in the notes, in order."""
    return _distinct(
        note[match.span.start : match.span.end] for note in notes for match in find_terms(note, diagnosis, (kind,))
    )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
