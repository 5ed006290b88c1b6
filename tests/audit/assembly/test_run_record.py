"""Digests of what a run leaves hidden: the same on one corpus, and nobody without the notes can make them."""

import hashlib
from pathlib import Path

from clinaudit.audit.assembly.run_record import hidden_digest
from clinaudit.priors.corpus.corpus import Corpus, read_corpus


def corpus_of(folder: Path, *texts: str) -> Corpus:
    folder.mkdir()
    rows = [f"p{place},n{place},{text}" for place, text in enumerate(texts)]
    (folder / "notes.csv").write_text("\n".join(["patient_id,note_id,text", *rows]) + "\n", encoding="utf-8")
    return read_corpus(folder)


def test_a_hidden_digest_is_the_same_on_one_corpus_and_another_on_another(tmp_path: Path) -> None:
    same, again = corpus_of(tmp_path / "a", "cc: cough", "cc: fall"), corpus_of(tmp_path / "b", "cc: cough", "cc: fall")
    other = corpus_of(tmp_path / "c", "cc: cough", "cc: fall.")
    digest = hidden_digest(same, b"p0\np1\n")
    assert digest == hidden_digest(again, b"p0\np1\n")
    others = {hidden_digest(other, b"p0\np1\n"), hidden_digest(same, b"p0\n"), hashlib.sha256(b"p0\np1\n").hexdigest()}
    assert digest not in others
    assert len(others) == 3
