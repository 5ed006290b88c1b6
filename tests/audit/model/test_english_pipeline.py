"""Pieces of a text for a pipeline, and the model that is not there."""

import pytest

from clinaudit.audit.language import english_pipeline
from clinaudit.audit.language.english_pipeline import load_english, pieces_of
from clinaudit.errors import BadInputError


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("short", [(0, "short")]),
        ("one line\nand more", [(0, "one line\n"), (9, "and more")]),
        ("two words longer", [(0, "two words "), (10, "longer")]),
        ("abcdefghijklmno", [(0, "abcdefghij"), (10, "klmno")]),
        # A piece never ends before it begins.
        (" bcdefghijklm", [(0, " bcdefghij"), (10, "klm")]),
    ],
)
def test_a_piece_ends_with_a_line_else_with_a_word(text: str, pieces: list[tuple[int, str]]) -> None:
    found = list(pieces_of(text, most_chars=10))
    assert found == pieces
    assert "".join(piece for _, piece in found) == text


def test_a_model_that_is_not_installed_is_told_with_what_else_can_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(english_pipeline, "_PACKAGES", ("no_such_model",))
    with pytest.raises(BadInputError, match=r"install clinaudit\[pii\], or wait"):
        load_english(exclude=(), otherwise="wait")
