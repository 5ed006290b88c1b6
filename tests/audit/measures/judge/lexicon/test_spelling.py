"""Which words are mended, and where they stand: near misses of the panel's terms, and no word that is one."""

import random
import re
from pathlib import Path

import pytest
from support.lexicon.reading import PANEL

from clinaudit.audit.measures.judge.lexicon.spelling import Spelling, _distance
from clinaudit.templates.spans import Span

SPELLING = Spelling(tuple(PANEL.values()))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("anxeity", "anxiety"),
        ("deppresion", "depression"),
        ("bi-polar", "bipolar"),
        ("setraline", "sertraline"),
        ("HIVpositive", "HIV positive"),
        ("noanxiety", "no anxiety"),
        ("hxofdepression", "hx of depression"),
        # An error in a word that is run together with others, or beside a hyphen, which may stand inside a word.
        ("majordepresion", "major depression"),
        ("recurrentmajordepresion", "recurrent major depression"),
        ("posttramaticstress", "posttraumatic stress"),
        ("bi-poler", "bipolar"),
        ("sever-depresion", "sever-depression"),
        ("decompresion", "decompresion"),
        ("co-morbid", "co-morbid"),
        # Words of their own, and short ones.
        ("compression", "compression"),
        # A brand, and what may be a person's name.
        ("lexipro", "lexapro"),
        ("Lexipro", "Lexipro"),
        ("Bictarvy", "biktarvy"),
        ("expression", "expression"),
        ("adoption", "adoption"),
        ("absorption", "absorption"),
        ("retrovirus", "retrovirus"),
        ("fluvoxamine", "fluvoxamine"),
        ("ptds", "ptds"),
        ("maniac", "maniac"),
        ("hives", "hives"),
        ("anti-depressant", "anti-depressant"),
    ],
)
def test_a_word_and_what_it_was_meant_to_be(written: str, meant: str) -> None:
    assert SPELLING.mend(f"x {written}, y").text == f"x {meant}, y"


def test_a_place_in_the_mended_text_is_one_in_the_text() -> None:
    text = "Hx of anxeity; HIVpositive. Anxiety"
    mended = SPELLING.mend(text)
    assert mended.text == "Hx of anxiety; HIV positive. Anxiety"
    for word, written in (("anxiety", "anxeity"), ("HIV", "HIVpositive"), ("positive", "HIVpositive"), ("Anx", "Anx")):
        start = mended.text.index(word)
        assert text[slice(*mended.as_written(Span(start, start + len(word))))] == written
    assert SPELLING.mend("Anxiety").as_written(Span(0, 7)) == (0, 7)


def test_no_word_of_the_pages_is_mended() -> None:
    """The words of this project's own pages and reports, which name every term rightly but for four examples."""
    root = Path(__file__).parents[5]
    pages = [*root.glob("docs/*.md"), *root.glob("reports/**/*.py"), *root.glob("reports/**/*.toml")]
    words = {word for page in pages for word in re.findall(r"[A-Za-z-]{6,}", page.read_text(encoding="utf-8"))}
    assert len(words) > 3_000
    assert {word for word in words if SPELLING.mend(word).text != word} == {
        *("hxofdepression", "HIVpositive", "majordepresion", "bi-poler")
    }


def edits_by_definition(word: str, other: str) -> int:
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


def test_the_distance_is_that_of_the_definition() -> None:
    rng = random.Random(0)
    for _ in range(300):
        word, other = ("".join(rng.choice("ab c") for _ in range(rng.randrange(6))) for _ in range(2))
        assert _distance(word, other) == edits_by_definition(word, other)
