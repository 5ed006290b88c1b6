"""How cues are found and which decides: the language of phrases, the reach of each, and of whom a mention is."""

import pytest
from support.cases import read_cases

from clinaudit.audit.measures.judge.lexicon.cues import (
    CUE_TABLES,
    decide,
    gender_of_patient,
    is_given_for_another,
    is_of_another,
    locate,
    pattern,
    read_clause,
)
from clinaudit.priors.diagnoses import TermKind
from clinaudit.templates.shown_text import Span

CASES = read_cases("measure_cases.txt")


def marked(text):
    """Return the text without brackets, its clause, and the place of the words in brackets."""
    plain = text.replace("[", "").replace("]", "")
    clause = read_clause(plain)
    return plain, clause, locate(clause, Span(text.index("["), text.index("]") - 1))


@pytest.mark.parametrize(("text", "said"), CASES["cues"])
def test_the_cue_that_decides(text, said):
    _, clause, words = marked(text)
    cue = decide(clause, words, TermKind.NAME, is_infection=False)
    assert (f"{cue.says}: {clause.text[cue.start : cue.end].strip()}" if cue else None) == said


@pytest.mark.parametrize(("text", "said"), CASES["whose it is"])
def test_whose_it_is(text, said):
    plain, clause, words = marked(text)
    assert is_of_another(clause, words.start, gender_of_patient(plain)) is (said == "another")


@pytest.mark.parametrize(("text", "said"), CASES["what a drug is given for"])
def test_what_a_drug_is_given_for(text, said):
    _, clause, drug = marked(text)
    assert is_given_for_another(clause, drug, only_listed=False) is (said == "another")


@pytest.mark.parametrize("table", ["turns", "people", "purpose"])
def test_every_pattern_names_what_there_is(table):
    """They are compiled when a text first asks for them."""
    for name in CUE_TABLES[table]["patterns"]:
        assert "@" not in pattern(table, name).pattern


def test_every_phrase_can_be_met():
    """Each row has its parts, and none of its phrases is empty."""
    says = {"denied", "stated", "over", "queried", "asked", "general", "guarded", "held", "changed", "nothing"}
    for row in CUE_TABLES["cues"]:
        assert row["says"] in says
        assert row["reach"] in {"ahead", "back", "both"}
        assert row["ends"] in {"word", "list", "clause", "item", "phrase", "sentence"}
        assert all(phrase.strip() for phrase in row["words"].strip().split("\n"))
