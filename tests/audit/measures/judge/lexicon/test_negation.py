"""Which mentions a clause denies: a table, and word for word what negspacy finds."""

import re
from collections.abc import Iterable

import pytest
import spacy
from negspacy.negation import Negex
from support.lexicon.reading import ALL_CASES, PANEL

from clinaudit.audit.measures.judge.lexicon.context import cut_clauses
from clinaudit.audit.measures.judge.lexicon.negation import Negation, negation_terms
from clinaudit.audit.measures.judge.scoring.labelled_texts import load_labelled_set
from clinaudit.templates.spans import Span


def _words(clause: str) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r"\w+", clause)]


@pytest.mark.parametrize(
    ("clause", "denied"),
    [
        ("Denies anxiety and panic", {"anxiety", "and", "panic"}),
        ("anxiety, denies panic", {"panic"}),
        ("PTSD unlikely", {"PTSD"}),
        ("no anxiety but panic", {"anxiety"}),
        ("not only anxiety", set()),
        ("noanxiety", set()),
        ("", set()),
    ],
)
def test_what_a_clause_denies(clause: str, denied: set[str]) -> None:
    found = Negation(negation_terms()).find_negated(clause, _words(clause))
    assert {clause[slice(*span)] for span in found} == denied


def test_every_word_of_the_shipped_texts_is_denied_where_negspacy_says_so() -> None:
    terms = negation_terms()
    nlp = spacy.blank("en")
    negex = Negex(nlp, "negex", neg_termset=terms, extension_name="is_negated", span_keys=["mentions"])

    def by_negspacy(clause: str, mentions: Iterable[Span]) -> set[Span]:
        doc = nlp.make_doc(clause)
        for token in doc:
            token.is_sent_start = token.i == 0
        spans = {span: doc.char_span(*span, alignment_mode="expand") for span in mentions}
        doc.spans["mentions"] = [found for found in spans.values() if found is not None]
        negex(doc)
        return {span for span, found in spans.items() if found is not None and found._.is_negated}

    negation = Negation(terms)
    texts = [text for text, _, _ in ALL_CASES]
    texts += [item.text for item in load_labelled_set(None, tuple(PANEL.values())).texts]
    denied = 0
    for text in texts:
        for clause in (text[slice(*clause)] for clause in cut_clauses(text)):
            words = _words(clause)
            found = negation.find_negated(clause, words)
            assert found == by_negspacy(clause, words)
            denied += len(found)
    assert denied > 1000
