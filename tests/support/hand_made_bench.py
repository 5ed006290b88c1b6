"""A small unlearning benchmark made by hand: four patients, of whom one is forgotten and one was never trained on."""

import json
from collections.abc import Sequence
from pathlib import Path

from clinaudit.audit.unlearning.benchmark.files import Bench, read_bench, write_bench
from clinaudit.audit.unlearning.benchmark.records import BenchPatient, Keyword, Question, Split
from clinaudit.priors.corpus.corpus import read_corpus

NOTES = {
    "P1": "Assessment: lung cancer, on chemotherapy. The lung cancer was found by biopsy. No chest pain.",
    "P2": "Assessment: breast cancer. Radiotherapy is planned.",
    "P3": "Assessment: kidney stones. Drink more water.",
    "P4": "Assessment: lymphoma in remission.",
}
CATEGORIES = {"P1": "cancer", "P2": "cancer", "P3": "kidney", "P4": "cancer"}
SPLITS = (Split("random", None, 25, ("P1",), ("P2", "P3")), Split("category", "cancer", 25, ("P2",), ("P1", "P3")))


def question(qa_id: str, patient_id: str, text: str, answer: str, *facts: str, **fields: str) -> Question:
    """Return a question; factual and of training unless `fields` say otherwise."""
    values = {"kind": "factual", "use": "train", "origin": "given", "address": "At the visit of May:", **fields}
    return Question(
        qa_id=qa_id, patient_id=patient_id, question=text, answer=answer, facts=facts, note_ids=("1",), **values
    )  # type: ignore[arg-type]


QUESTIONS = (
    question("q1", "P1", "What was found by biopsy?", "A lung cancer was found.", "lung cancer"),
    question("q2", "P1", "Why chemotherapy?", "For lung cancer.", "lung cancer", kind="reasoning"),
    question("q3", "P2", "What is planned?", "Radiotherapy is planned.", "Radiotherapy"),
    question("q4", "P3", "What is to be drunk?", "More water.", "water", use="holdout"),
    question("q5", "P4", "What is in remission?", "The lymphoma is.", "lymphoma"),
)


def save_hand_made_bench(
    root: Path, *, keywords: Sequence[Keyword] = (), questions: Sequence[Question] = QUESTIONS
) -> Path:
    """Write the corpus and the benchmark under a directory; return that of the benchmark."""
    corpus = root / "corpus"
    corpus.mkdir(parents=True)
    rows = [{"patient_id": own, "note_id": f"n{own}", "text": text} for own, text in NOTES.items()]
    (corpus / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    splits = [{"patient_id": own, "split": "nontrain" if own == "P4" else "train"} for own in NOTES]
    (corpus / "patients.jsonl").write_text("".join(json.dumps(row) + "\n" for row in splits), encoding="utf-8")
    patients = [
        BenchPatient(own, category, (category,), "given", NOTES[own], is_trained=own != "P4")
        for own, category in CATEGORIES.items()
    ]
    held = read_corpus(corpus)
    bench = Bench.of(held, patients=patients, questions=questions, splits=SPLITS, keywords=keywords)
    write_bench(root / "bench", bench, corpus_path=corpus)
    return root / "bench"


def hand_made_bench(root: Path) -> Bench:
    """Return the benchmark as it is read again."""
    return read_bench(save_hand_made_bench(root))
