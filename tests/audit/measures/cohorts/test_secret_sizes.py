"""Sizes from settings are lowered by what only the notes tell."""

from pathlib import Path

import pytest

from clinaudit.audit.measures.cohorts.stage import draw_secret_number, lower_size
from clinaudit.priors.corpus.corpus import read_corpus


def secret_of(folder: Path, texts: list[str]) -> int:
    folder.mkdir()
    rows = [f"p{i},n{i},{text}" for i, text in enumerate(texts)]
    (folder / "notes.csv").write_text("\n".join(["patient_id,note_id,text", *rows]) + "\n", encoding="utf-8")
    scratch = folder.parent / f"{folder.name}-scratch"
    scratch.mkdir()
    return draw_secret_number(read_corpus(folder, scratch=scratch))


def test_every_size_from_91_to_100_comes_about_and_no_other() -> None:
    assert {lower_size(100, secret) for secret in range(1000)} == set(range(91, 101))


def test_a_small_size_is_lowered_by_half_at_most() -> None:
    assert {lower_size(6, secret) for secret in range(100)} == {3, 4, 5, 6}
    assert {lower_size(1, secret) for secret in range(100)} == {1}


@pytest.mark.parametrize("changed", [["first note", "second note."], ["first note"], ["first notesecond", " note"]])
def test_the_draw_depends_on_every_note(tmp_path: Path, changed: list[str]) -> None:
    texts = ["first note", "second note"]
    secret = secret_of(tmp_path / "a", texts)
    assert secret_of(tmp_path / "b", texts) == secret
    assert secret_of(tmp_path / "c", changed) != secret
