"""What identifies the lexicon judge: its panel, and every table that decides."""

import pytest
from support.lexicon.reading import ALL_CASES, PANEL

from clinaudit.audit.measures.judge.lexicon import judge as judge_module
from clinaudit.audit.measures.judge.lexicon.context import cut_clauses
from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.scoring import load_labelled_set
from clinaudit.priors.diagnoses import load_panel


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
        ("judge", "WRAPPED_LINE_CHARS", 80),
        ("judge", "MAX_CLAUSE_CHARS", 1000),
        ("judge", "BEFORE_CHARS", 100),
        ("judge", "AFTER_CHARS", 100),
        ("judge", "PHRASE_TABLES", {"rules": []}),
        ("judge", "CUE_TABLES", {"cues": []}),
        ("judge", "SPELLING_TABLE", {"right": []}),
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
    judge_module._attribute.cache_clear()
    assert [judgement.verdict for judgement in judge.judge_many(items)] == before
    judge_module._attribute.cache_clear()
