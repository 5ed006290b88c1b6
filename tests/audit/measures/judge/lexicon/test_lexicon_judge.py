"""The lexicon judge: what each sentence says of the patient, why, and what identifies the judge."""

import pytest
from support.lexicon.reading import ALL_CASES, FIRST_CASES, MISSES, PANEL, verdict_on

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import verdict_problem
from clinaudit.priors.diagnoses import load_panel


@pytest.mark.parametrize(("text", "diagnosis", "status"), ALL_CASES)
def test_status(judge, text, diagnosis, status):
    verdict = verdict_on(judge, text, PANEL[diagnosis])
    assert verdict.patient_has_diagnosis == status
    assert verdict.diagnosis_mentioned == (status is not None)
    assert verdict_problem(verdict, text) is None


@pytest.mark.parametrize(("text", "diagnosis", "status"), MISSES)
def test_known_misses_are_still_missed(judge, text, diagnosis, status):
    assert verdict_on(judge, text, PANEL[diagnosis]).patient_has_diagnosis != status


def test_spans_are_verbatim_distinct_and_by_kind(judge):
    text = "Anxiety (F41.1). anxiety; takes Xanax. PANIC\r\nATTACKS. xanax. Anxiety"
    verdict = verdict_on(judge, text, PANEL["anxiety"])
    assert verdict.diagnosis_spans == ("Anxiety", "F41.1", "anxiety")
    assert verdict.medication_spans == ("Xanax", "xanax")
    assert verdict.symptom_spans == ("PANIC\r\nATTACKS",)


def test_mentions_say_where_and_why(judge):
    text = "Denies anxiety. Mother: anxiety. On Xanax."
    (mentions,) = judge.read_mentions(text, [PANEL["anxiety"]])
    assert [(mention.span_chars.start, mention.status, mention.rule) for mention in mentions] == [
        (7, "negative", "denied"),
        (24, "ambiguous", "another"),
        (36, "positive", "default"),
    ]


def test_nothing_is_logged(judge, caplog, capfd):
    for text, diagnosis, _ in FIRST_CASES:
        verdict_on(judge, text, PANEL[diagnosis])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


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
