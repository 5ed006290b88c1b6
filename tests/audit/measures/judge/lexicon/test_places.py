"""Where the judge looks: patterns that are tried at some places alone find what a search of the whole text does."""

from random import Random

from clinaudit.audit.measures.judge.lexicon import context

NAMES = ("family history", "FHx", "fam. hx", "Allergies", "handouts", "HPI", "plan", "P", "o/e", "past medical history")
SIGNS = (".", ". ", "?", "? no", "!", ";", "..", ".)", "e.g. ", "dr. ", ":", " :", " -", "-", "–", " – x", ",", ", ")
OTHER = ("\n", "\r\n", "\r", "\t", " ", "cough", "Depression", "x", "é", "\u2028", "\u00a0", "3", '"')


def test_patterns_are_found_wherever_they_stand() -> None:
    rng = Random(0)
    found = 0
    for _ in range(3000):
        text = "".join(rng.choice(rng.choice((NAMES, SIGNS, OTHER))) for _ in range(rng.randint(1, 14)))
        openings = [match.start() for match in context._MAY_OPEN_SECTION.finditer(text)]
        ends = [match.start() for match in context._MAY_END_CLAUSE.finditer(text)]
        for pattern, starts in (
            (context._SECTION, openings),
            (context._HEADER_WITHOUT_MARK, openings),
            (context._HEADER_BEFORE_DASH_OR_COMMA, openings),
            (context._DASHED_SECTION, openings),
            (context._CLAUSE_END, ends),
        ):
            every = [(match.span(), match.lastgroup) for match in pattern.finditer(text)]
            assert [(match.span(), match.lastgroup) for match in context._find_all(pattern, text, starts)] == every
            found += len(every)
    assert found > 2000
