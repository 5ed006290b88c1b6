"""Where a mention stands: its section and its clause, in random notes of headers, lists and signs."""

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


def opens_a_section(header):
    """Whether a header that stands alone on its line is one: in capitals, or with one and several words."""
    name = header["name"]
    return header["bare"] is None or name.isupper() or (name[0].isupper() and (" " in name or header["family"]))


def sections_of_all_headers(text):
    """Return the kind at each character, from every header of the text rather than from those that change it."""
    lined = f"\n{text}"
    headers = [*filter(opens_a_section, layout._LAYOUT["HEADER"].finditer(lined))]
    kinds = ["other"] * len(lined)
    for header, end in zip(headers, [*(one.end() for one in headers[1:]), len(lined)], strict=False):
        kind = next(kind for kind in ("family", "allergies", "education", "other") if header[kind])
        if kind == "family":
            end = layout._family_end(lined, header.end(), end, is_after_sign=header["sign"] is not None)
        kinds[header.end() : end] = [kind] * (end - header.end())
    return kinds[1:]


def test_sections_are_those_of_a_reading_of_all_headers():
    rng = Random(1)
    told = 0
    for _ in range(600):
        lines = (
            rng.choice(NAMES) + rng.choice((":", " -", ",", "")) + drawn_text(rng, 4) for _ in range(rng.randint(1, 6))
        )
        text = rng.choice(("\n", "\n", ". ")).join(lines)
        kinds = [section_at(text, at) for at in range(len(text))]
        assert kinds == sections_of_all_headers(text), text
        told += len({*kinds} - {"other"})
    assert told > 300


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
