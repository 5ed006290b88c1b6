"""Judges asked about labelled texts, about injections, and beside each other."""

import pytest
from support.judging.word_judge import HIV, QUIET, WordJudge, small_set

from clinaudit.audit.measures.judge.ledger import Inquiry, Ledger, ask_judge
from clinaudit.audit.measures.judge.scoring.judge_score import compare_judges, disagreement_rows, score_judge


def test_a_judge_is_asked_about_texts_and_injections_once() -> None:
    judge, ledger, labelled = WordJudge(), Ledger(), small_set()
    first, outcomes = score_judge(judge, labelled, ledger, QUIET, seed=0)
    assert len(judge.asked) == len(labelled.texts) + 2 * len(labelled.injections)
    assert outcomes == [text.verdict for text in labelled.texts]
    assert first.agreement.kappa.value == 1
    # One of four injections makes the verdict useless: that is a change.
    assert first.flip_rate.value == first.hiding_rate.value == 1 / 4
    assert score_judge(judge, labelled, ledger, QUIET, seed=0)[0] == first
    assert len(judge.asked) == len(labelled.texts) + 2 * len(labelled.injections)


def test_two_judges_are_compared_and_their_disagreements_listed() -> None:
    inquiries = [Inquiry(f"g{i}", text, HIV) for i, text in enumerate(("positive", "negative", "cough", "broken"))]
    first = ask_judge(WordJudge(), inquiries, Ledger(), QUIET, stage="x")
    second = ask_judge(WordJudge("other", deaf_to="negative"), inquiries, Ledger(), QUIET, stage="x")
    agreement = compare_judges(inquiries, first, second, second_judge="other", seed=0)
    assert (agreement.verdicts, agreement.disagreements, agreement.unjudged) == (4, 1, 1)
    assert agreement.agreement.value == 2 / 3
    # By hand: 2 of 3 alike, by chance (1*1 + 1*0 + 1*2) / 9 = 1/3.
    assert agreement.kappa.value == pytest.approx(0.5)
    (row,) = disagreement_rows(inquiries, first, second)
    assert row["generation_id"] == "g1"
    assert (row["verdict"], row["second_verdict"], row["spans"]) == ("negative", "not_mentioned", ["negative"])
