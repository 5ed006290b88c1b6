"""The tables of a random corpus, as an audit reads them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from unittest.mock import patch

from support.generations import Generation
from support.random_corpora import RandomCorpus
from support.written_corpus import answer_of

from clinaudit.audit.runtime.model.tokenizer import ModelTokenizer
from clinaudit.priors.corpus.corpus import Corpus, read_corpus


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


def read_drawn(corpus: Drawn, folder: Path) -> Corpus:
    """Write the tables to a new folder and read them, each id as a person: drawn patients copy whole notes."""
    write_tables(corpus, folder)
    with patch("clinaudit.priors.corpus.corpus.find_people", return_value={}):
        return read_corpus(folder)


def answers_of(corpus: RandomCorpus, tokenizer: ModelTokenizer) -> list[Generation]:
    """Return the generations of a random corpus, each named by its number."""
    return [
        answer_of(
            tokenizer,
            f"p{written.patient}",
            written.ids,
            name=str(number),
            arm="train" if corpus.train[written.patient] else "nontrain",
            prompt=written.prompt,
        )
        for number, written in enumerate(corpus.generations)
    ]
