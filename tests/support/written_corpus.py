"""A corpus of a few patients with their notes, and answers about them."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from support.generations import Generation, spans_of

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus, read_corpus
from clinaudit.reports.schema.record import Arm

_NOBODY: Mapping[str, Mapping[str, object]] = {}


def write_corpus(
    folder: Path,
    notes: Mapping[str, Sequence[str]],
    *,
    never_seen: Collection[str] | None = None,
    patients: Mapping[str, Mapping[str, object]] = _NOBODY,
    visits: Sequence[Mapping[str, object]] = (),
) -> Corpus:
    """Return a corpus of patients with their notes; by default whoever's id begins with q was never seen.

    `patients` and `visits` are further columns: of a patient, and of everybody's first note, second note, ...
    """
    folder.mkdir(parents=True)
    unseen = {own for own in notes if own.startswith("q")} if never_seen is None else never_seen
    tables: dict[str, list[Mapping[str, object]]] = {
        "patients": [
            {"patient_id": own, "split": "nontrain" if own in unseen else "train", **patients.get(own, {})}
            for own in notes
        ],
        "notes": [
            {"patient_id": own, "note_id": f"{own}-{number}", "text": text, **(visits[number] if visits else {})}
            for own, texts in notes.items()
            for number, text in enumerate(texts)
        ],
    }
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_corpus(folder)


def answer_of(
    tokenizer: ModelTokenizer,
    patient: str,
    written: str | Sequence[int],
    *,
    name: str = "g",
    arm: Arm = "train",
    tier: str = "public",
    prompt: str | None = None,
) -> Generation:
    """Return an answer about a patient, given as text or as tokens."""
    if isinstance(written, str):
        text, (ids, spans) = written, tokenizer.encode_with_spans(written)
    else:
        ids = tuple(written)
        text, spans = tokenizer.decode_with_spans(ids)
    return Generation(name, patient, arm, tier, "text", (), prompt, text, tuple(ids), spans_of(spans), "stop")
