"""The annotation prompt: the question about one patient's whole history, and its answer (paper, Appendix G, Figure 7).

Owns the wording (ours), which notes fit, the schema, and the validation of an answer: every span stands in the notes,
every medication in the list, no field contradicts another. Knows nothing of servers.
"""

import re
from collections.abc import Mapping, Sequence
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
    Form,
    Question,
    StrictModel,
    break_control_tokens,
    estimate_tokens,
    object_schema,
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


class _Entry(StrictModel):
    """What an answer says of one diagnosis, in the order in which the wording asks for its fields."""

    present: bool
    in_note_start: bool
    in_hpi: bool
    diagnosis_spans: list[str]
    icd10_spans: list[str]
    symptom_spans: list[str]
    medication_spans: list[str]
    medications_to_remove: list[_Removal]


ENTRY_SCHEMA: Final = schema_of(_Entry)


class _AnnotationAnswer(FilledForm):
    diagnoses: dict[str, _Entry]


def _form(panel: Sequence[Diagnosis]) -> Form[_AnnotationAnswer]:
    ids = [diagnosis.id for diagnosis in panel]
    schema = object_schema(question=TEXT, diagnoses=object_schema(**dict.fromkeys(ids, ENTRY_SCHEMA)))
    room = _ANSWER_TOKENS_OF_A_DIAGNOSIS * (len(panel) + 1)
    return Form("annotations", SYSTEM, QUESTION, _AnnotationAnswer, room, ", ".join(ids), schema)


def _texts(history: PatientHistory) -> list[str]:
    return [*history.notes, history.note_start, history.hpi, *history.medications]


def ask_for_annotations(history: PatientHistory, panel: Sequence[Diagnosis]) -> Question:
    """Return the question about one patient's whole history; cut the history to the model's context first."""
    parts = {
        "notes": "\n\n".join(f"[note {number}]\n{note}" for number, note in enumerate(history.notes, start=1)),
        "note_start": history.note_start,
        "hpi": history.hpi,
        "medications": "; ".join(history.medications),
    }
    sent = {name: break_control_tokens(text) for name, text in parts.items()}
    form, table = _form(panel), "\n".join(map(_describe, panel))
    return form.ask(_texts(history), fenced=list(sent.values()), table=table, ids=form.subject, **sent)


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
    read = _form(panel).read(answer, _texts(history))
    if isinstance(read, str):
        return read
    if read.diagnoses.keys() != {diagnosis.id for diagnosis in panel}:
        return "the answer's keys are not exactly the diagnoses"
    annotations = []
    for diagnosis in panel:
        entry = read.diagnoses[diagnosis.id]
        spans = {
            kind: tuple(dict.fromkeys(restore_control_tokens(getattr(entry, kind), history.notes))) for kind in _SPANS
        }
        if reason := _invalid_reason(entry, spans, history):
            return reason
        # Not stated, but a drug or a symptom of it is the patient's: unknown (docs/methods.md, section 3).
        is_hinted = bool(entry.symptom_spans or entry.medication_spans or entry.medications_to_remove)
        removals = tuple(MedicationRemoval(one.substring.strip(), one.reason) for one in entry.medications_to_remove)
        present = entry.present or (None if is_hinted else False)
        annotations.append(
            Annotation(
                diagnosis.id, present, entry.in_note_start, entry.in_hpi, **spans, medications_to_remove=removals
            )
        )
    return annotations


def _invalid_reason(entry: _Entry, spans: Mapping[str, Sequence[str]], history: PatientHistory) -> str | None:
    for kind, own in spans.items():
        if problem := spans_problem(own, history.notes):
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
    """Whether the piece is whole words of an entry, and one of them of the drug's name.

    What a judge names is later removed from all patients' lists, not this patient's alone: "50 mg" or "daily" would
    empty them. The name ends before the first dose, form or frequency.
    """
    whole = re.compile(rf"(?<!\w){re.escape(substring.strip())}(?!\w)")
    words = {word for word in _WORD.findall(substring.lower()) if len(word) >= _LEAST_MEDICATION_CHARS}

    def names_no_drug(word: str) -> bool:
        return word in _NO_DRUG or any(map(str.isdigit, word))

    def name_of(entry: str) -> list[str]:
        rest = [*dropwhile(names_no_drug, _WORD.findall(entry.lower()))]
        return [*takewhile(lambda word: not names_no_drug(word), rest)]

    return any(whole.search(entry) is not None and words.intersection(name_of(entry)) for entry in medications)


def _describe(diagnosis: Diagnosis) -> str:
    lists = {
        "names": diagnosis.names,
        "ICD-10 codes": diagnosis.icd10,
        "medications": diagnosis.medications,
        "symptoms": diagnosis.symptoms,
    }
    terms = "; ".join(f"{title}: {', '.join(terms)}" for title, terms in lists.items() if terms)
    return f"- {diagnosis.id} ({diagnosis.display}). {terms}"
