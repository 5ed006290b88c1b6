"""The tables of a random corpus, as an audit reads them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Drawn(Protocol):
    """A corpus of drawn patients: whether each was trained on, and the texts of each one's notes."""

    @property
    def train(self) -> Sequence[bool]: ...

    @property
    def patients(self) -> Sequence[Sequence[str]]: ...


def write_tables(corpus: Drawn, folder: Path) -> None:
    """Write patients `p0`, `p1`, ... and their notes to a new folder."""
    folder.mkdir()
    patients = [
        {"patient_id": f"p{index}", "split": "train" if train else "nontrain"}
        for index, train in enumerate(corpus.train)
    ]
    notes = [
        {"patient_id": f"p{index}", "note_id": f"p{index}-{at}", "text": text}
        for index, own in enumerate(corpus.patients)
        for at, text in enumerate(own)
    ]
    for name, rows in (("patients", patients), ("notes", notes)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
