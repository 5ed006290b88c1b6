"""What identifies the lexicon judge: its panel, and every table that decides."""

import pytest

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.priors.diagnoses import load_panel


def test_identity_tells_panels_apart_and_is_stable():
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
def test_another_table_or_reach_makes_another_judge(judge, monkeypatch, module, table, value):
    before = judge.identity()
    monkeypatch.setattr(f"clinaudit.audit.measures.judge.lexicon.{module}.{table}", value)
    after = judge.identity()
    assert {key for key in before if before[key] != after[key]} == {"rules"}
