"""The annotation prompt: the question about one patient's whole history, and its answer (paper, Appendix G, Figure 7).

Owns the wording (ours), which notes fit, the schema, and the validation of an answer: every span stands in the notes,
every medication in the list, no field contradicts another. Knows nothing of servers.
"""

import re
from collections.abc import Sequence
from itertools import accumulate, dropwhile, takewhile
from pathlib import Path
from typing import Final

from clinaudit.audit.measures.judge.annotation import Annotation, MedicationRemoval, PatientHistory
from clinaudit.audit.measures.judge.verdict import spans_problem
from clinaudit.audit.measures.judge.verdict_prompt import SYSTEM
from clinaudit.audit.runtime.served.question import (
    CHARS_PER_TOKEN,
    TEXT,
    FilledForm,
    Question,
    StrictModel,
    break_control_tokens,
    estimate_tokens,
    fence_marker,
    object_schema,
    question_id,
    read_answer,
    restore_control_tokens,
    schema_of,
)
from clinaudit.priors.diagnoses import Diagnosis

#: A shorter piece of a medication list identifies no drug.
_LEAST_MEDICATION_CHARS = 3
_WORD = re.compile(r"[^\W_]+")
#: Words of a medication list that identify no drug: units, forms, routes, frequencies and directions [choice].
_NO_DRUG = frozenset(Path(__file__).with_name("no_drug_words.txt").read_text(encoding="utf-8").split())
#: Room for one diagnosis, its spans included.
_ANSWER_TOKENS_OF_A_DIAGNOSIS = 512
QUESTION: Final = Path(__file__).with_name("annotation_question.txt").read_text(encoding="utf-8")
_SPANS = ("diagnosis_spans", "icd10_spans", "symptom_spans", "medication_spans")


class _Removal(StrictModel):
    substring: str
    reason: str


class AnnotationEntry(StrictModel):
    """What an answer says of one diagnosis, in the order in which the wording asks for its fields."""

    present: bool
    in_note_start: bool
    in_hpi: bool
    diagnosis_spans: list[str]
    icd10_spans: list[str]
    symptom_spans: list[str]
    medication_spans: list[str]
    medications_to_remove: list[_Removal]


ENTRY_SCHEMA: Final = schema_of(AnnotationEntry)


class _AnnotationAnswer(FilledForm):
    diagnoses: dict[str, AnnotationEntry]


def ask_for_annotations(history: PatientHistory, panel: Sequence[Diagnosis]) -> Question:
    """Return the question about one patient's whole history; cut the history to the model's context first."""
    notes = "\n\n".join(f"[note {number}]\n{note}" for number, note in enumerate(history.notes, start=1))
    medications = "; ".join(history.medications)
    parts = {"notes": notes, "note_start": history.note_start, "hpi": history.hpi, "medications": medications}
    parts = {name: break_control_tokens(text) for name, text in parts.items()}
    question = QUESTION.format(
        table="\n".join(_describe(diagnosis) for diagnosis in panel),
        ids=", ".join(diagnosis.id for diagnosis in panel),
        question=_question_id(history, panel),
        marker=fence_marker(list(parts.values())),
        **parts,
    )
    entries = object_schema(**{diagnosis.id: ENTRY_SCHEMA for diagnosis in panel})
    schema = object_schema(question=TEXT, diagnoses=entries)
    room = _ANSWER_TOKENS_OF_A_DIAGNOSIS * (len(panel) + 1)
    return Question(SYSTEM, question, "annotations", schema, room)


def keep_recent_notes(notes: Sequence[str], *, limit_tokens: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return the most recent notes that fit the limit, by estimated tokens, and those not kept whole; oldest first.

    Older notes are left out whole. Where the latest note alone does not fit, its end is kept.
    """
    sizes = accumulate(map(estimate_tokens, reversed(notes)))
    fitting = sum(size <= limit_tokens for size in sizes)
    if notes and not fitting:
        return [keep_end(notes[-1], limit_tokens=limit_tokens)], notes
    return notes[len(notes) - fitting :], notes[: len(notes) - fitting]


def keep_end(text: str, *, limit_tokens: int) -> str:
    """Return as much of the end of a text as fits the limit, by estimated tokens."""
    return text[-limit_tokens * CHARS_PER_TOKEN :]


def read_annotations(answer: str, history: PatientHistory, panel: Sequence[Diagnosis]) -> list[Annotation] | str:
    """Return one annotation for each diagnosis of `panel`, or why the answer cannot be used."""
    read = read_answer(answer, _AnnotationAnswer, question=_question_id(history, panel))
    if isinstance(read, str):
        return read
    entries = {name: _restore_control_tokens(entry, history) for name, entry in read.diagnoses.items()}
    if set(entries) != {diagnosis.id for diagnosis in panel}:
        return "the answer's keys are not exactly the diagnoses"
    for entry in entries.values():
        reason = _invalid_reason(entry, history)
        if reason is not None:
            return reason
    return [_annotation(diagnosis, entries[diagnosis.id]) for diagnosis in panel]


def unknown_annotations(panel: Sequence[Diagnosis]) -> list[Annotation]:
    """Return the annotations of a patient without a usable answer: every diagnosis unknown, so never a control."""
    return [Annotation(diagnosis.id, None, None, None) for diagnosis in panel]


def _question_id(history: PatientHistory, panel: Sequence[Diagnosis]) -> str:
    return question_id(
        [*history.notes, history.note_start, history.hpi, *history.medications], [diagnosis.id for diagnosis in panel]
    )


def _restore_control_tokens(entry: AnnotationEntry, history: PatientHistory) -> AnnotationEntry:
    """Return the entry with its quotations as the notes have them, without the blanks put into control tokens."""
    spans = {kind: list(restore_control_tokens(getattr(entry, kind), history.notes)) for kind in _SPANS}
    return entry.model_copy(update=spans)


def _invalid_reason(entry: AnnotationEntry, history: PatientHistory) -> str | None:
    for kind in _SPANS:
        spans: list[str] = getattr(entry, kind)
        problem = spans_problem(spans, history.notes)
        if problem is not None:
            return f"{kind} holds {problem}"
    if entry.present and not (entry.diagnosis_spans or entry.icd10_spans):
        return "present, but without diagnosis_spans or icd10_spans"
    if not entry.present and entry.diagnosis_spans:
        return "not present, but with diagnosis_spans"
    if (entry.in_note_start and not history.note_start.strip()) or (entry.in_hpi and not history.hpi.strip()):
        return "found in a part that is empty"
    if not all(_is_drug(removal.substring, history.medications) for removal in entry.medications_to_remove):
        return "medications_to_remove holds what names no drug of the medication list"
    return None


def _is_drug(substring: str, medications: Sequence[str]) -> bool:
    """Whether the piece names a drug of the list.

    What a judge names is later removed from all patients' lists, not this patient's alone. So the piece must be whole
    words of an entry's drug name. The name ends before the dose, the form or the frequency: "50 mg" or
    "daily" would empty all lists.
    """
    whole = re.compile(rf"(?<!\w){re.escape(substring.strip())}(?!\w)")
    words = set(_WORD.findall(substring.lower()))
    return any(whole.search(entry) is not None and words & _words_of_name(entry) for entry in medications)


def _words_of_name(entry: str) -> set[str]:
    """Return the words with which an entry names its drug: those before the first dose, form or frequency."""
    words = _WORD.findall(entry.lower())
    rest = dropwhile(_names_no_drug, words)
    name = takewhile(lambda word: not _names_no_drug(word), rest)
    return {word for word in name if len(word) >= _LEAST_MEDICATION_CHARS}


def _names_no_drug(word: str) -> bool:
    return word in _NO_DRUG or any(map(str.isdigit, word))


def _annotation(diagnosis: Diagnosis, entry: AnnotationEntry) -> Annotation:
    # Not stated, but a drug or a symptom of it is the patient's: unknown (docs/methods.md, section 3).
    is_hinted = bool(entry.symptom_spans or entry.medication_spans or entry.medications_to_remove)
    return Annotation(
        diagnosis.id,
        True if entry.present else (None if is_hinted else False),
        entry.in_note_start,
        entry.in_hpi,
        **{kind: tuple(dict.fromkeys(getattr(entry, kind))) for kind in _SPANS},
        medications_to_remove=tuple(
            MedicationRemoval(removal.substring.strip(), removal.reason) for removal in entry.medications_to_remove
        ),
    )


def _describe(diagnosis: Diagnosis) -> str:
    parts = [
        f"names: {', '.join(diagnosis.names)}",
        f"ICD-10 codes: {', '.join(diagnosis.icd10)}" if diagnosis.icd10 else "",
        f"medications: {', '.join(diagnosis.medications)}" if diagnosis.medications else "",
        f"symptoms: {', '.join(diagnosis.symptoms)}" if diagnosis.symptoms else "",
    ]
    return f"- {diagnosis.id} ({diagnosis.display}). " + "; ".join(part for part in parts if part)
