"""What a benchmark holds: patients, questions and lengths by category (AMNESIA, Tables 1, 4 and 5).

Owns the counts. Lengths are in words: a token is of one model, and the paper does not say of which. Knows nothing of
how they are shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clinaudit.audit.unlearning.benchmark.categories.taxonomy import OTHER, taxonomy
from clinaudit.audit.unlearning.benchmark.records import QUESTION_KINDS, BenchPatient, Question, Split


def describe_bench(
    patients: Sequence[BenchPatient],
    questions: Sequence[Question],
    splits: Sequence[Split],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the counts of a benchmark; its notes by patient id. `bench.json` keeps them: they are PHI, being exact."""
    own = [question for question in questions if question.use != "rephrased"]
    return {
        "patients": len(patients),
        "patients_trained_on": sum(patient.is_trained for patient in patients),
        "questions": len(own),
        "holdout_questions": sum(question.use == "holdout" for question in own),
        "rephrased_questions": len(questions) - len(own),
        "categories": [
            _of_category(category, patients, own, notes)
            for category in (*taxonomy(), OTHER)
            if any(patient.category == category for patient in patients)
        ],
        "splits": [_of_split(split, own) for split in splits],
    }


def _of_category(
    category: str,
    patients: Sequence[BenchPatient],
    questions: Sequence[Question],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    members = {patient.patient_id for patient in patients if patient.category == category}
    asked = [question for question in questions if question.patient_id in members]
    lengths = [len(text.split()) for patient_id in sorted(members) for text in notes[patient_id]]
    row: dict[str, Any] = {
        "category": category,
        "patients": len(members),
        "share": round(len(members) / len(patients), 4),
        "questions": len(asked),
        "note_words": {"min": min(lengths), "mean": _mean(lengths), "max": max(lengths)},
    }
    for kind in QUESTION_KINDS:
        of_kind = [question for question in asked if question.kind == kind]
        row[f"{kind}_question_words"] = _mean([len(question.question.split()) for question in of_kind])
        row[f"{kind}_answer_words"] = _mean([len(question.answer.split()) for question in of_kind])
    return row


def _of_split(split: Split, questions: Sequence[Question]) -> dict[str, Any]:
    forget = set(split.forget)
    trained = [question.patient_id in forget for question in questions if question.use == "train"]
    retained = set(split.retain)
    of_retain = sum(question.patient_id in retained for question in questions if question.use == "train")
    return {
        "split": split.name,
        "forget_patients": len(split.forget),
        "forget_questions": sum(trained),
        "retain_patients": len(split.retain),
        "retain_questions": of_retain,
    }


def _mean(lengths: Sequence[int]) -> float | None:
    return round(sum(lengths) / len(lengths), 1) if lengths else None
