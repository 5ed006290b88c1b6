"""Facts read from a small corpus of one patient."""

import json
from pathlib import Path

from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.priors.facts import FactReader, PatientFacts
from clinaudit.templates.profile import load_profile

PROFILE = load_profile()

NOTE = (
    "patient: Ada Lund\ndob: 02/03/1960\nvisit date: 05/01/2024\nroom: 4\nprovider: Jo Ek, MD\nlocation: Elm Clinic\n"
    "CC: low mood\nhpi: 64-year-old female, tired.\nros:\npsychiatric: negative for anxiety.\n"
    "social history:\nmarital status: widowed\noccupation: cook\nchildren: 3\n"
    "current medications:\n- sertraline 50 mg daily\n- metformin 500 mg, twice daily; aspirin\n"
    "last reviewed on 5/01/2024 by Ek, Jo\nplan: rest\n"
)


def corpus_of(directory: Path, notes: list[dict[str, object]], patients: str | None = None) -> Corpus:
    directory.mkdir(exist_ok=True)
    (directory / "notes.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    if patients is not None:
        (directory / "patients.csv").write_text(patients, encoding="utf-8")
    return read_corpus(directory)


def facts_of(tmp_path: Path, text: str, patients: str | None = None, **columns: object) -> PatientFacts:
    corpus = corpus_of(tmp_path, [{"patient_id": "p", "note_id": "n", "text": text, **columns}], patients)
    return FactReader(PROFILE).read(corpus, "p")
