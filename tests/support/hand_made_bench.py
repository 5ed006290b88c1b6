"""A small unlearning benchmark made by hand: four patients, of whom one is forgotten and one was never trained on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.written_corpus import write_corpus

from clinaudit.audit.unlearning.benchmark.files import (
    Bench,
    BenchPatient,
    Keyword,
    Question,
    Split,
    read_bench,
    write_bench,
)

NOTES = {
    "P1": "Assessment: lung cancer, on chemotherapy. The lung cancer was found by biopsy. No chest pain.",
    "P2": "Assessment: breast cancer. Radiotherapy is planned.",
    "P3": "Assessment: kidney stones. Drink more water.",
    "P4": "Assessment: lymphoma in remission.",
}
CATEGORIES = {"P1": "cancer", "P2": "cancer", "P3": "kidney", "P4": "cancer"}
SPLITS = (Split("random", None, 25, ("P1",), ("P2", "P3")), Split("category", "cancer", 25, ("P2",), ("P1", "P3")))


def question(qa_id: str, patient_id: str, text: str, answer: str, *facts: str, **fields: Any) -> Question:
    """Return a question; factual and of training unless `fields` say otherwise."""
    values = {"kind": "factual", "use": "train", "origin": "given", "address": "At the visit of May:", **fields}
    values.setdefault("note_ids", (f"{patient_id}-0",))
    return Question(qa_id=qa_id, patient_id=patient_id, question=text, answer=answer, facts=facts, **values)


def bench_of(
    patients: Sequence[BenchPatient],
    questions: Sequence[Question],
    splits: Sequence[Split],
    notes: Mapping[str, tuple[str, ...]] | None = None,
) -> Bench:
    """Return a benchmark that was never written, of no corpus."""
    return Bench(
        tuple(patients), tuple(questions), tuple(splits), (), notes or {}, "b" * 64, "c" * 64, settings={}, counts=None
    )


QUESTIONS = (
    question("q1", "P1", "What was found by biopsy?", "A lung cancer was found.", "lung cancer"),
    question("q2", "P1", "Why chemotherapy?", "For lung cancer.", "lung cancer", kind="reasoning"),
    question("q3", "P2", "What is planned?", "Radiotherapy is planned.", "Radiotherapy"),
    question("q4", "P3", "What is to be drunk?", "More water.", "water", use="holdout"),
    question("q5", "P4", "What is in remission?", "The lymphoma is.", "lymphoma"),
)


def save_hand_made_bench(root: Path, *, keywords: Sequence[Keyword] = ()) -> Path:
    """Write the corpus and the benchmark under a directory; return that of the benchmark."""
    corpus = write_corpus(root / "corpus", {own: [text] for own, text in NOTES.items()}, never_seen=["P4"])
    patients = [
        BenchPatient(own, category, "given", NOTES[own], is_trained=own != "P4") for own, category in CATEGORIES.items()
    ]
    bench = Bench.of(corpus, patients=patients, questions=QUESTIONS, splits=SPLITS, keywords=keywords)
    write_bench(root / "bench", bench, corpus_path=root / "corpus")
    return root / "bench"


def hand_made_bench(root: Path) -> Bench:
    """Return the benchmark as it is read again."""
    return read_bench(save_hand_made_bench(root))
