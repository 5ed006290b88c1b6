"""The lexicon judge: what each sentence says of the patient, with the spans and the rule that say so."""

import random

import pytest
from support.lexicon.reading import ALL_CASES, FIRST_CASES, MISSES, PANEL, verdict_on

from clinaudit.audit.measures.judge.lexicon.judge import LexiconJudge
from clinaudit.audit.measures.judge.verdict import invalid_reason
from clinaudit.priors.diagnoses import Diagnosis


@pytest.mark.parametrize(("text", "diagnosis", "status"), ALL_CASES)
def test_status(judge: LexiconJudge, text: str, diagnosis: str, status: str | None) -> None:
    verdict = verdict_on(judge, text, PANEL[diagnosis])
    assert verdict.patient_has_diagnosis == status
    assert verdict.diagnosis_mentioned == (status is not None)
    assert invalid_reason(verdict, text) is None


@pytest.mark.parametrize(("text", "diagnosis", "status"), MISSES)
def test_known_misses_are_still_missed(judge: LexiconJudge, text: str, diagnosis: str, status: str) -> None:
    assert verdict_on(judge, text, PANEL[diagnosis]).patient_has_diagnosis != status


def test_spans_are_verbatim_distinct_and_by_kind(judge: LexiconJudge) -> None:
    text = "Anxiety (F41.1). anxiety; takes Xanax. PANIC\r\nATTACKS. xanax. Anxiety"
    verdict = verdict_on(judge, text, PANEL["anxiety"])
    assert verdict.diagnosis_spans == ("Anxiety", "F41.1", "anxiety")
    assert verdict.medication_spans == ("Xanax", "xanax")
    assert verdict.symptom_spans == ("PANIC\r\nATTACKS",)


def test_mentions_say_where_and_why(judge: LexiconJudge) -> None:
    text = "Denies anxiety. Mother: anxiety. On Xanax."
    (mentions,) = judge.read_mentions(text, [PANEL["anxiety"]])
    assert [(mention.span_chars.start, mention.status, mention.rule) for mention in mentions] == [
        (7, "negative", "denied"),
        (24, "ambiguous", "another"),
        (36, "positive", "default"),
    ]


def test_judgements_come_in_order_whatever_the_texts(judge: LexiconJudge) -> None:
    items = [(text, PANEL[diagnosis]) for text, diagnosis, _ in FIRST_CASES]
    random.Random(0).shuffle(items)
    expected = [verdict_on(judge, text, diagnosis) for text, diagnosis in items]
    by_text = sorted(items, key=lambda item: item[0])
    assert [judgement.verdict for judgement in judge.judge_many(items)] == expected
    assert [judgement.verdict for judgement in judge.judge_many(by_text)] == [
        verdict_on(judge, text, diagnosis) for text, diagnosis in by_text
    ]
    assert all(
        (judgement.judge, judgement.attempts, judgement.invalid_reason) == ("lexicon", 1, None)
        for judgement in judge.judge_many(items)
    )


def test_a_diagnosis_of_ones_own(judge: LexiconJudge) -> None:
    gout = Diagnosis("gout", "gout", ("gout",), ("M10",), ("allopurinol",))
    assert verdict_on(judge, "No gout. Takes allopurinol.", gout).patient_has_diagnosis == "positive"
    assert verdict_on(judge, "No gout.", gout).patient_has_diagnosis == "negative"


def test_nothing_is_logged(
    judge: LexiconJudge, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for text, diagnosis, _ in FIRST_CASES:
        verdict_on(judge, text, PANEL[diagnosis])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")
