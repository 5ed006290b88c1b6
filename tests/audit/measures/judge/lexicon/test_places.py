"""Where a mention stands: its section and its clause, in random notes of headers, lists and signs."""

import re
from random import Random

from clinaudit.audit.measures.judge.lexicon import judge as layout
from clinaudit.audit.measures.judge.lexicon.judge import clause_around, section_at
from clinaudit.templates.shown_text import Span

NAMES = ("family history", "FHx", "fam. hx", "Allergies", "handouts", "HPI", "plan", "P", "o/e", "past medical history")
SIGNS = (".", ". ", "?", "? no", "!", ";", "..", ".)", "e.g. ", "dr. ", ":", " :", " -", "-", "–", " – x", ",", ", ")
OTHER = ("\n", "\r\n", "\r", "\t", " ", "cough", "Depression", "x", "é", "\u2028", "\u00a0", "3", '"')
LISTS = ("denies the following:", "\n- ", "\n1. ", "\n\n", "\n \n", "[ ] ", "none", "except", "x" * 70, "mother: ")


def drawn_text(rng, most):
    return "".join(rng.choice(rng.choice((NAMES, SIGNS, OTHER, LISTS))) for _ in range(rng.randint(1, most)))


def test_sections_are_those_of_a_reading_of_all_headers(monkeypatch):
    """Of a text without a header that changes whom a mention is about, the headers are not read."""
    rng, kinds_of = Random(1), {}
    for _ in range(600):
        lines = (
            rng.choice(NAMES) + rng.choice((":", " -", ",", "")) + drawn_text(rng, 4) for _ in range(rng.randint(1, 6))
        )
        text = rng.choice(("\n", "\n", ". ")).join(lines)
        kinds_of[text] = [section_at(text, at) for at in range(len(text))]
    assert sum(len({*kinds} - {"other"}) for kinds in kinds_of.values()) > 300
    monkeypatch.setitem(layout._LAYOUT, "TELLING", re.compile(""))
    layout._sections.cache_clear()
    for text, kinds in kinds_of.items():
        assert [section_at(text, at) for at in range(len(text))] == kinds, text


def test_every_character_has_one_clause_and_a_span_those_of_its_ends():
    rng = Random(2)
    several = 0
    for _ in range(500):
        text = drawn_text(rng, 40)
        clauses = [clause_around(text, Span(at, at + 1)) for at in range(len(text))]
        assert all(clauses[at] == clauses[clauses[at].start] for at in range(len(text))), text
        assert all(clause.start <= at < clause.end for at, clause in enumerate(clauses)), text
        start = rng.randrange(len(text))
        end = min(len(text), start + rng.randint(1, 9))
        assert clause_around(text, Span(start, end)) == (clauses[start].start, clauses[end - 1].end), text
        several += len({*clauses}) > 1
    assert several > 400
