"""Where the judge looks: patterns that are tried at some places alone find what a search of the whole text does."""

from random import Random

from clinaudit.audit.measures.judge.lexicon import context
from clinaudit.audit.measures.judge.lexicon.context import SectionKind, clauses_around, cut_clauses, kind_at
from clinaudit.templates.spans import Span

NAMES = ("family history", "FHx", "fam. hx", "Allergies", "handouts", "HPI", "plan", "P", "o/e", "past medical history")
SIGNS = (".", ". ", "?", "? no", "!", ";", "..", ".)", "e.g. ", "dr. ", ":", " :", " -", "-", "–", " – x", ",", ", ")
OTHER = ("\n", "\r\n", "\r", "\t", " ", "cough", "Depression", "x", "é", "\u2028", "\u00a0", "3", '"')
LISTS = ("denies the following:", "\n- ", "\n1. ", "\n\n", "\n \n", "[ ] ", "none", "except", "x" * 70, "mother: ")


def drawn_text(rng, most):
    return "".join(rng.choice(rng.choice((NAMES, SIGNS, OTHER, LISTS))) for _ in range(rng.randint(1, most)))


def kinds_of_all_headers(text):
    """Return the kind at each character, from every header of the text rather than from some of them."""
    every = range(len(text))
    headers = context._headers(text, every)
    found = [(start, kind) for start, kind, _ in headers]
    for (start, kind), (_, _, is_before_sign), end in zip(
        tuple(found), headers, [*(start for start, _ in found[1:]), len(text)], strict=False
    ):
        if kind is SectionKind.FAMILY:
            family_end = context._family_end(text, start, end, is_before_dash_or_comma=is_before_sign)
            found += [(family_end, SectionKind.OTHER)] if family_end < end else []
    found.sort()
    return [next((kind for start, kind in reversed(found) if start <= at), SectionKind.OTHER) for at in every]


def test_sections_are_those_of_a_reading_of_all_headers():
    rng = Random(1)
    told = 0
    for _ in range(600):
        lines = (
            rng.choice(NAMES) + rng.choice((":", " -", ",", "")) + drawn_text(rng, 4) for _ in range(rng.randint(1, 6))
        )
        text = rng.choice(("\n", "\n", ". ")).join(lines)
        kinds = [kind_at(text, at) for at in range(len(text))]
        assert kinds == kinds_of_all_headers(text), text
        told += len({*kinds} - {SectionKind.OTHER})
    assert told > 300


def test_clauses_around_a_mention_are_those_of_the_whole_text():
    rng = Random(2)
    left_out = 0
    for _ in range(1500):
        text = drawn_text(rng, 40)
        starts = sorted(rng.randrange(len(text)) for _ in range(rng.randint(1, 4)))
        spans = sorted({Span(start, min(len(text), start + rng.randint(1, 9))) for start in starts})
        every, around = cut_clauses(text, keep=spans), clauses_around(text, spans)
        assert around == [clause for clause in every if clause in around], text
        assert all(any(clause.start <= span.start < clause.end for clause in around) for span in spans)
        left_out += len(every) - len(around)
    assert left_out > 1000


def test_patterns_are_found_wherever_they_stand():
    rng = Random(0)
    found = 0
    for _ in range(3000):
        text = "".join(rng.choice(rng.choice((NAMES, SIGNS, OTHER))) for _ in range(rng.randint(1, 14)))
        openings = [0, *(match.start() for match in context._MAY_OPEN_SECTION.finditer(text))]
        ends = [match.start() for match in context._MAY_END_CLAUSE.finditer(text)]
        for pattern, starts in (
            (context._SECTION, openings),
            (context._HEADER_WITHOUT_MARK, openings),
            (context._HEADER_BEFORE_DASH_OR_COMMA, openings),
            (context._DASHED_SECTION, openings),
            (context.LAYOUT["CLAUSE_END"], ends),
        ):
            every = [(match.span(), match.lastgroup) for match in pattern.finditer(text)]
            assert [(match.span(), match.lastgroup) for match in context._find_all(pattern, text, starts)] == every
            found += len(every)
    assert found > 2000
