"""Is a long prompt looked through in a time that grows with its length, and found in it what a short one would show?

Time is not measured: counted is how much text the detectors are given.
"""

import itertools
import random
import re

import pytest
from support.pii.masked_by_rules import BY_RULES, mask_prompt

from clinaudit.audit.pii import plain_text
from clinaudit.audit.pii.masking.detection import EnsembleDetector
from clinaudit.audit.pii.plain_text import overlapping_pieces
from clinaudit.audit.pii.taxonomy import EntitySpan

_FILLER = "She was seen for a cough.\n"
#: What each other reading of a text changes.
_READ_OTHERWISE = (*("Z o r a  Q u e x", "DOB1950-11-11", "<b>Zora</b> Quex", "Zora\nQuex", "five five five 0 1 3 4"),)


class Counting:
    """Finds a name, and counts the characters that it is given."""

    name = "counting"

    def __init__(self) -> None:
        self.chars = 0

    def detect(self, text: str) -> list[EntitySpan]:
        self.chars += len(text)
        return [
            EntitySpan(*match.span(), "full_name", self.name) for match in re.finditer(r"Zora ?Quex|Zora|1950", text)
        ]


def test_what_one_place_changes_makes_no_detector_read_the_whole_text_again() -> None:
    counting = Counting()
    text = (_FILLER * 4_000).join(["", *_READ_OTHERWISE, ""])
    EnsembleDetector([counting]).detect(text)
    assert counting.chars < 1.2 * len(text)


def test_in_pieces_the_same_is_found_as_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    parts = [rng.choice((_FILLER, "no change ", "\n", *_READ_OTHERWISE, "&#90;ora")) + " " for _ in range(2_000)]
    text = "".join(parts)
    assert len(text) > 20_000
    in_pieces = EnsembleDetector([Counting()]).detect(text)
    monkeypatch.setattr(plain_text, "_PIECE_CHARS", len(text))
    assert in_pieces == EnsembleDetector([Counting()]).detect(text) != []


@pytest.mark.parametrize(
    "text", ["", "x", "x" * 1_000, "word " * 300, "a line\n" * 200, "\n" * 500, ("y" * 90 + "\n") * 9]
)
def test_pieces_overlap_and_cover_the_text(text: str) -> None:
    pieces = list(overlapping_pieces(text, chars=100, shared=20))
    assert pieces[0][0] == 0
    assert pieces[-1][1] == len(text)
    assert all(end - begin <= 100 for begin, end in pieces)
    for (before, end), (begin, _) in itertools.pairwise(pieces):
        assert before < begin <= end - 20


def test_a_name_of_the_beginning_is_masked_at_the_end() -> None:
    masked = mask_prompt("Mr. Quexborough came.\n" + _FILLER * 400 + "Then Quexborough left.", None, BY_RULES)
    assert masked.text is not None
    assert masked.text.endswith("Then <PERSON_1> left.")
