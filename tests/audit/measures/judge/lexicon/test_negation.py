"""Which mentions a clause denies: a table, and word for word what negspacy finds."""

import re
from collections.abc import Iterable

import pytest
import spacy
from negspacy.negation import Negex
from support.lexicon.reading import ALL_CASES, PANEL

from clinaudit.audit.measures.judge.lexicon.context import cut_clauses
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.lexicon.negation import Negation, negation_terms
from clinaudit.audit.measures.judge.scoring import load_labelled_set
from clinaudit.priors.diagnoses import load_panel
from clinaudit.templates.spans import Span


def _words(clause: str) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r"\w+", clause)]


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
    texts += load_labelled_set(None, tuple(PANEL.values())).texts.filter(kind="labelled")["text"].to_list()
    denied = 0
    for text in texts:
        for clause in (text[slice(*clause)] for clause in cut_clauses(text)):
            words = _words(clause)
            found = negation.find_negated(clause, words)
            assert found == by_negspacy(clause, words)
            denied += len(found)
    assert denied > 1000


@pytest.mark.parametrize("sign", [".", "!", "?"])
def test_a_run_of_signs_ends_one_clause_at_its_end(sign: str) -> None:
    text = f"No anxiety{sign * 5} Depression{sign * 3}x"
    ends = text.index(" Depression")
    assert [text[slice(*clause)] for clause in cut_clauses(text)] == [text[:ends], text[ends:]]


def test_identity_tells_panels_apart_and_is_stable() -> None:
    whole, part = LexiconJudge(load_panel()).identity(), LexiconJudge(load_panel(only=["hiv"])).identity()
    assert whole == LexiconJudge(load_panel()).identity()
    assert whole["kind"] == "lexicon"
    assert {key for key in whole if whole[key] != part[key]} == {"lexicon"}


@pytest.mark.parametrize(
    ("module", "table", "value"),
    [
        ("context", "WRAPPED_LINE_CHARS", 80),
        ("context", "MAX_CLAUSE_CHARS", 1000),
        ("context", "_SECTION", re.compile("family:")),
        ("context", "_NEGATED_LIST", re.compile("denies:")),
        ("context", "_CLAUSE_END", re.compile(";")),
        ("judge", "BEFORE_CHARS", 100),
        ("judge", "AFTER_CHARS", 100),
    ],
)
def test_another_table_or_reach_makes_another_judge(
    judge: LexiconJudge, monkeypatch: pytest.MonkeyPatch, module: str, table: str, value: object
) -> None:
    before = judge.identity()
    monkeypatch.setattr(f"clinaudit.audit.measures.judge.lexicon.{module}.{table}", value)
    after = judge.identity()
    assert {key for key in before if before[key] != after[key]} == {"rules"}


def test_the_reach_around_a_mention_bounds_no_rule(judge: LexiconJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled = load_labelled_set(None, tuple(PANEL.values()))
    items = [(text, PANEL[diagnosis]) for text, diagnosis, _ in ALL_CASES]
    items += [
        (text, PANEL[diagnosis])
        for text, diagnosis in labelled.texts.filter(kind="labelled").select("text", "diagnosis").iter_rows()
    ]
    before = [judgement.verdict for judgement in judge.judge_many(items)]
    monkeypatch.setattr("clinaudit.audit.measures.judge.lexicon.judge.BEFORE_CHARS", 3000)
    monkeypatch.setattr("clinaudit.audit.measures.judge.lexicon.judge.AFTER_CHARS", 1600)
    assert [judgement.verdict for judgement in judge.judge_many(items)] == before
