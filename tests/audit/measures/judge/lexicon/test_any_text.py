"""Texts that nobody writes: random notes and endless ones get valid verdicts, in time."""

import random

import pytest
from support.lexicon.reading import FIRST_CASES, PANEL, verdict_on
from support.simulations import first_of

from clinaudit.audit.measures.judge.lexicon.judge import MAX_CLAUSE_CHARS, clause_around
from clinaudit.audit.measures.judge.verdict import verdict_problem
from clinaudit.templates.shown_text import Span

PIECES = (
    *(text for text, _, _ in FIRST_CASES),
    *(term for diagnosis in PANEL.values() for term in (*diagnosis.names, *diagnosis.medications, *diagnosis.icd10)),
    *("no ", "denies ", ", ", "; ", ".", "\n", "\r\n", "\r", "\t", " - ", ":", "(", ")", "0"),
    *("family history:", "allergies:", "é", "\u0130", "\u2028", "\u00a0", "\U0001f9ec", "ß", "\u200b", "e\u0301"),
    *("\x00", "’", "\ufffd", "ſertraline", "\u212a"),
)


@pytest.mark.parametrize("seed", first_of(40, always=10))
def test_verdicts_on_random_notes_are_valid(judge, seed):
    rng = random.Random(seed)
    text = "".join(rng.choice(PIECES) + rng.choice(("", " ", " ", "\n")) for _ in range(rng.randrange(1, 120)))
    diagnoses = list(PANEL.values())
    for diagnosis, verdict, mentions in zip(
        diagnoses,
        judge.judge_many([(text, diagnosis) for diagnosis in diagnoses]),
        judge.read_mentions(text, diagnoses),
        strict=True,
    ):
        assert verdict_problem(verdict, text) is None, diagnosis.id
        assert verdict.diagnosis_mentioned == bool(mentions)
        assert all(text[slice(*mention.span_chars)] == mention.text for mention in mentions)
        assert set(verdict.spans) == {mention.text for mention in mentions}


@pytest.mark.parametrize(
    "text",
    [
        "no anxiety " * 1_000,
        "no anxiety\n" * 1_000,
        "denies " + "anxiety, " * 1_000,
        "x" * 200_000 + " anxiety",
        "anxiety" + " " * 200_000 + "disorder",
        "mother " * 4_000 + "anxiety",
        "(" * 50_000 + "anxiety" + "," * 50_000,
        "anxiety " + "." * 200_000 + "x",
        "anxiety " + "!." * 100_000 + "x",
        "anxiety " + "?" * 200_000 + "x",
    ],
    ids=["one line", "lines", "list", "one word", "blanks", "relatives", "signs", "dots", "exclamations", "questions"],
)
def test_endless_texts_are_judged(judge, text):
    verdict = verdict_on(judge, text, PANEL["anxiety"])
    assert verdict.diagnosis_mentioned
    assert verdict_problem(verdict, text) is None


def test_an_endless_line_is_read_in_parts():
    """Of one clause of 27,000 characters each of 3,000 mentions would be held against 3,000 commas."""
    text = "denies " + "anxiety, " * 3_000
    clauses = (clause_around(text, Span(at, at + 1)) for at in range(0, len(text), 100))
    assert max(clause.end - clause.start for clause in clauses) <= MAX_CLAUSE_CHARS
