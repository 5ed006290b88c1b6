"""Which words are mended, and where they stand: near misses of the panel's terms, and no word that is one."""

import random

import pytest
from support.cases import read_cases
from support.lexicon.reading import PANEL

from clinaudit.audit.measures.judge.lexicon.spelling import Spelling, _distance
from clinaudit.templates.spans import Span

SPELLING = Spelling(tuple(PANEL.values()))


@pytest.mark.parametrize(("written", "meant"), read_cases("measure_cases.txt")["spelling"])
def test_a_word_and_what_it_was_meant_to_be(written, meant):
    assert SPELLING.mend(f"x {written}, y").text == f"x {meant or written}, y"


def test_a_place_in_the_mended_text_is_one_in_the_text():
    text = "Hx of anxeity; HIVpositive. Anxiety"
    mended = SPELLING.mend(text)
    assert mended.text == "Hx of anxiety; HIV positive. Anxiety"
    for word, written in (("anxiety", "anxeity"), ("HIV", "HIVpositive"), ("positive", "HIVpositive"), ("Anx", "Anx")):
        start = mended.text.index(word)
        assert text[slice(*mended.as_written(Span(start, start + len(word))))] == written
    assert SPELLING.mend("Anxiety").as_written(Span(0, 7)) == (0, 7)


def edits_by_definition(word, other):
    """The least number of letters left out, put in, changed or swapped with the next."""
    if not word or not other:
        return len(word) + len(other)
    ways = [
        edits_by_definition(word[1:], other) + 1,
        edits_by_definition(word, other[1:]) + 1,
        edits_by_definition(word[1:], other[1:]) + (word[0] != other[0]),
    ]
    if word[:2] == other[:2][::-1] and len(word) > 1:
        ways.append(edits_by_definition(word[2:], other[2:]) + 1)
    return min(ways)


def test_the_distance_is_that_of_the_definition():
    rng = random.Random(0)
    for _ in range(300):
        word, other = ("".join(rng.choice("ab c") for _ in range(rng.randrange(6))) for _ in range(2))
        assert _distance(word, other) == edits_by_definition(word, other)
