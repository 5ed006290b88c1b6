"""Annotation: which sensitive diagnoses a patient's notes state, for a corpus without a table of them (Appendix G).

Owns the annotation of one patient. Labels that a judge reads share its errors (misclassified labels); the report says
so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from clinaudit.audit.measures.judge.verdict import Judge
from clinaudit.audit.runtime.served.answer_cache import AnswerCache
from clinaudit.audit.runtime.served.question import AskingEstimate
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
    #: Some note states by name or code that the patient has it. A symptom or a drug alone does not make it present:
    #: "do NOT infer from vague language" (Appendix G). It does not leave it absent either. None is unknown: the table
    #: has no row for it; or no note states it, and some note asks for it, gives the patient a symptom or a drug of it,
    #: or was not judged.
    present: bool | None
    #: Whether the opening of a note that a prompt is taken from, and its HPI, refer to the diagnosis (name, code or
    #: drug). None: unknown, the judge gave no usable answer; the prompt is then searched for the panel's terms only, as
    #: every prompt is.
    in_note_start: bool | None
    in_hpi: bool | None
    #: Names and codes come from the notes that state it; symptoms and drugs from any note.
    diagnosis_spans: tuple[str, ...] = ()
    icd10_spans: tuple[str, ...] = ()
    symptom_spans: tuple[str, ...] = ()
    medication_spans: tuple[str, ...] = ()
    #: Listed for patients without the diagnosis too: removal from the positives alone would itself reveal it
    #: (docs/methods.md, section 1).
    medications_to_remove: tuple[MedicationRemoval, ...] = ()


@dataclass(frozen=True, slots=True)
class PatientHistory:
    """The notes of one patient, as an annotation takes them."""

    #: Every note of the patient, oldest first.
    notes: Sequence[str]
    #: Of the notes that prompts are taken from, mostly the latest: what stands before the HPI, and the HPI.
    note_start: str
    hpi: str
    #: One entry for each medication of the latest note.
    medications: Sequence[str]


@runtime_checkable
class HistoryJudge(Protocol):
    """A judge that reads whole histories by itself, rather than note by note, and whose answers cost time or money."""

    def use_cache(self, cache: AnswerCache | None, *, announce: Callable[[AskingEstimate], None] | None = None) -> None:
        """Keep answers in `cache` (None: no longer), and `announce` the estimated usage before asking."""
        ...

    def annotate_many(
        self, histories: Callable[[], Iterable[PatientHistory]], panel: Sequence[Diagnosis]
    ) -> Iterator[list[Annotation]]:
        """Yield the annotations of each patient, in order; `histories` is called once for each pass over them."""
        ...


def annotate_patient(history: PatientHistory, *, panel: Sequence[Diagnosis], judge: Judge) -> list[Annotation]:
    """Return one annotation for each diagnosis of `panel`, in its order, from all of a patient's notes.

    Where no note states the diagnosis, the label is unknown, neither case nor control, if some note is unjudged, asks
    for it ("?PTSD"), or gives the patient a drug or a symptom of it as the judge reads it (docs/methods.md, section 3).
    """
    judgements = judge.judge_many([(note, diagnosis) for note in history.notes for diagnosis in panel])
    named: list[list[str]] = [[] for _ in panel]
    is_open = [False] * len(panel)
    for index, judgement in enumerate(judgements):
        verdict, of = judgement.verdict, index % len(panel)
        is_positive = verdict is not None and verdict.patient_has_diagnosis == "positive"
        if (
            verdict is not None
            and verdict.diagnosis_spans
            and (is_positive if judgement.is_named is None else judgement.is_named)
        ):
            named[of].extend(verdict.diagnosis_spans)
        elif verdict is None or is_positive or judgement.is_queried:
            # Positive, but not by name or code: not stated, and nothing that a control could have.
            is_open[of] = True
    return [
        _annotation(diagnosis, spans, history, is_open=unsure)
        for diagnosis, spans, unsure in zip(panel, named, is_open, strict=True)
    ]


def unknown_annotations(panel: Sequence[Diagnosis]) -> list[Annotation]:
    """Return the annotations of a patient without a usable answer: every diagnosis unknown, so never a control."""
    return [Annotation(diagnosis.id, None, None, None) for diagnosis in panel]


def leave_open(
    annotations: Sequence[Annotation], panel: Sequence[Diagnosis], *, unread: Sequence[str]
) -> list[Annotation]:
    """Return the annotations; a diagnosis that is absent, but that a note which the judge was not given brings up,
    is unknown."""
    return [
        replace(row, present=None)
        if row.present is False and any(find_terms(note, diagnosis, tuple(TermKind)) for note in unread)
        else row
        for row, diagnosis in zip(annotations, panel, strict=True)
    ]


def _annotation(diagnosis: Diagnosis, named: Sequence[str], history: PatientHistory, *, is_open: bool) -> Annotation:
    # A span with a figure and no name is a code: "b20" alone is not recognized as one, although in brackets it was.
    codes = [
        span for span in named if any(map(str.isdigit, span)) and not find_terms(span, diagnosis, (TermKind.NAME,))
    ]
    revealing = [entry for entry in dict.fromkeys(history.medications) if refers_to(entry, diagnosis)]
    return Annotation(
        diagnosis.id,
        # What stands in the medication list is the patient's.
        True if named else (None if revealing or is_open else False),
        refers_to(history.note_start, diagnosis),
        refers_to(history.hpi, diagnosis),
        _distinct(span for span in named if span not in codes),
        _distinct(codes),
        _spans_in(history.notes, diagnosis, TermKind.SYMPTOM),
        _spans_in(history.notes, diagnosis, TermKind.MEDICATION),
        tuple(MedicationRemoval(entry, f"primarily used for {diagnosis.display}") for entry in revealing),
    )


def _spans_in(notes: Iterable[str], diagnosis: Diagnosis, kind: TermKind) -> tuple[str, ...]:
    """Return the distinct texts of one kind of term in the notes, in order."""
    return _distinct(
        note[match.span.start : match.span.end] for note in notes for match in find_terms(note, diagnosis, (kind,))
    )


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
