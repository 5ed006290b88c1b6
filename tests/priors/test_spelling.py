"""Which words are mended, and where they stand: near misses of the panel's terms, and no word that is one."""

import random
from functools import cache

import pytest
from support.cases import read_cases
from support.lexicon.reading import PANEL

from clinaudit.priors.spelling import Spelling
from clinaudit.templates.shown_text import Span

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


def letters_left_out(word, target):
    """How many letters of the longer are in no longest common subsequence that begins with both words' first."""

    @cache
    def common(at, of_target):
        if at == len(word) or of_target == len(target):
            return 0
        if word[at] == target[of_target]:
            return 1 + common(at + 1, of_target + 1)
        return max(common(at + 1, of_target), common(at, of_target + 1))

    return max(len(word), len(target)) - (1 + common(1, 1) if word[0] == target[0] else 0)


def test_the_nearest_word_is_that_of_the_definition():
    rng = random.Random(0)
    found = 0
    targets = sorted(SPELLING._long)
    for _ in range(150):
        letters = [*rng.choice(targets)]
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(1, len(letters))
            letters[at : at + rng.randint(0, 2)] = rng.choice(("", "e", "n", letters[-1]))
        word = "".join(letters)
        near = [(letters_left_out(word, target), target) for target in targets]
        near = [(edits, target) for edits, target in near if edits <= (2 if len(target) >= 10 else 1)]
        assert SPELLING._nearest(word) == (min(near)[1] if near and len(word) >= 6 else None), word
        found += bool(near)
    assert found > 50
