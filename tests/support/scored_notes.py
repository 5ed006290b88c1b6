"""Small corpora of both arms, and scores of their notes, for membership."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from support.patient_facts import corpus_of

from clinaudit.priors.corpus.corpus import Corpus
from clinaudit.reports.schema.record import Arm

_WORDS = [f"word{place}" for place in range(40)]
_START = datetime.date(2020, 1, 1)


class Drawn(NamedTuple):
    """What a patient's notes are drawn like."""

    is_train: bool
    rng: np.random.Generator


def days_alike(drawn: Drawn) -> int:
    return int(drawn.rng.integers(0, 700))


def words_alike(drawn: Drawn) -> list[str]:
    return [_WORDS[place] for place in drawn.rng.integers(0, len(_WORDS), int(drawn.rng.integers(20, 60)))]


def draw_corpus(
    folder: Path,
    seed: int,
    *,
    train: int = 30,
    never_seen: int = 30,
    notes: Callable[[Drawn], int] = lambda drawn: int(drawn.rng.integers(1, 4)),
    day: Callable[[Drawn], int] = days_alike,
    words: Callable[[Drawn], list[str]] = words_alike,
) -> Corpus:
    """Draw a corpus whose arms are alike but for what is given; ids do not tell the arms."""
    rng = np.random.default_rng(seed)
    splits = rng.permutation([True] * train + [False] * never_seen)
    rows: list[dict[str, object]] = []
    table = ["patient_id,split"]
    for place, is_train in enumerate(splits):
        patient, drawn = f"p{place:03}", Drawn(bool(is_train), rng)
        table.append(f"{patient},{'train' if is_train else 'nontrain'}")
        for number in range(notes(drawn)):
            date = (_START + datetime.timedelta(days=day(drawn))).isoformat()
            text = " ".join(words(drawn))
            rows.append({"patient_id": patient, "note_id": f"{patient}-{number}", "visit_date": date, "text": text})
    return corpus_of(folder, rows, "\n".join(table) + "\n")


def scores_of_corpus(corpus: Corpus, seed: int, *, gain: float) -> pl.DataFrame:
    """Draw scores of every note, those trained on more likely by `gain` in each token's log p."""
    rng = np.random.default_rng(seed)
    rows = []
    for patient_id, patient in corpus.patients.items():
        for note in corpus.notes_of(patient_id):
            tokens = len(note.text.split())
            log_probs = -rng.exponential(2.0, tokens) + (gain if patient.split == "train" else 0.0)
            rows.append(scored(patient_id, patient.split, note.note_id, log_probs.tolist()))
    return frame_of(rows)


def scored(patient: str, arm: Arm, note: str, log_probs: list[float], **more: object) -> dict[str, object]:
    """Return a row of scores, of a target and by the audited model unless `more` says otherwise."""
    row = {"role": "target", "patient_id": patient, "arm": arm, "note_id": note, "first_token": 1, "model": "audited"}
    return {**row, "log_probs": log_probs, "means": None, "deviations": None, **more}


def frame_of(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    floats = pl.List(pl.Float32())
    texts = dict.fromkeys(("role", "patient_id", "arm", "note_id", "model"), pl.String())
    schema = {**texts, "first_token": pl.Int64(), "log_probs": floats, "means": floats, "deviations": floats}
    return pl.DataFrame(rows, schema=schema, orient="row")
