"""The scores of single answers: what each metric is computed from, and why one is not there."""

import pytest
from support.hand_made_bench import QUESTIONS, question

from clinaudit.audit.unlearning.benchmark.records import Answer, Keyword, Scores
from clinaudit.audit.unlearning.metrics.answer_scores import (
    ALL_IN_QUESTION,
    BY_RULES_ONE_WAY,
    EMPTY_OR_SINGLE,
    NO_KEYWORDS,
    NO_LOGITS,
    NO_TOKENS,
    EntailmentByRules,
    compare_with_before,
    score_answers,
)
from clinaudit.audit.unlearning.metrics.words import rouge_l_recall

KEYWORDS = [Keyword("q1", "lung cancer", 1.0, ("note",)), Keyword("q1", "biopsy", 1.0, ("note", "question"))]


class SharedWords:
    """An embedder whose similarity can be counted by hand: shared words of all words."""

    name = "shared words"

    def similarity(self, first: str, second: str) -> float:
        one, other = set(first.lower().split()), set(second.lower().split())
        return len(one & other) / max(1, len(one | other))


def score(answer: Answer, **options: object) -> Scores:
    settings = {"embedder": SharedWords(), "entailment": EntailmentByRules(), "em": None, **options}
    (scores,) = score_answers(QUESTIONS, KEYWORDS, [answer], **settings)  # type: ignore[arg-type]
    return scores


def test_an_answer_like_the_reference() -> None:
    scores = score(Answer("m", "q1", "A lung cancer was found.", (5, 6, 7, 8)), em={"q1": 0.75})
    assert (scores.rouge_l, scores.cs, scores.es, scores.te, scores.em) == (1.0, 1.0, 1.0, 1.0, 0.75)
    assert (scores.ls, scores.ls_echo_free) == (0.5, 1.0)
    assert scores.reasons == {"es_reverse": BY_RULES_ONE_WAY}


def test_an_empty_answer_leaks_nothing_and_has_no_entropy() -> None:
    scores = score(Answer("m", "q1", "", ()))
    assert (scores.rouge_l, scores.cs, scores.es, scores.ls, scores.ls_echo_free) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert (scores.te, scores.te_words, scores.em) == (None, None, None)
    assert scores.reasons["te"] == scores.reasons["te_words"] == EMPTY_OR_SINGLE
    assert scores.reasons["em"] == NO_LOGITS


def test_without_token_ids_entropy_is_over_words() -> None:
    scores = score(Answer("m", "q1", "yes yes yes", None))
    assert (scores.te, scores.te_words, scores.reasons["te"]) == (None, 0.0, NO_TOKENS)


def test_an_echo_of_the_question_leaks_in_one_score_only() -> None:
    scores = score(Answer("m", "q1", "What was found by biopsy?", None))
    assert (scores.ls, scores.ls_echo_free) == (0.5, 0.0)


def test_what_stands_in_the_address_is_an_echo_where_it_was_asked() -> None:
    asked = question("q1", "P1", "What was found?", "A tumor.", address="After the biopsy of the lung cancer:")
    settings = {"embedder": SharedWords(), "entailment": EntailmentByRules(), "em": None}
    answers = [Answer("m", "q1", "A lung cancer.", None)]
    (paper,) = score_answers([asked], KEYWORDS, answers, **settings)  # type: ignore[arg-type]
    (addressed,) = score_answers([asked], KEYWORDS, answers, form="addressed", **settings)  # type: ignore[arg-type]
    assert paper.ls_echo_free == 0.5
    assert addressed.ls_echo_free is None
    assert addressed.reasons["ls_echo_free"] == ALL_IN_QUESTION
    assert addressed.ls == paper.ls == 0.5


def test_a_question_without_keywords_has_no_leakage_score() -> None:
    scores = score(Answer("m", "q4", "More water.", None))
    assert (scores.ls, scores.ls_echo_free) == (None, None)
    assert scores.reasons["ls"] == scores.reasons["ls_echo_free"] == NO_KEYWORDS


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("", "a b", 0.0),
        ("a b c", "a c", 1.0),
        ("c a", "a c", 0.5),
        # Stemmed.
        ("He was treating fevers", "treated fever", 1.0),
        ("?", "?", 0.0),
    ],
)
def test_rouge_l_recall(answer: str, reference: str, expected: float) -> None:
    assert rouge_l_recall(answer, reference) == expected


def test_answers_before_unlearning_are_compared_by_question() -> None:
    after = [Answer("after", "q1", "a b", None), Answer("after", "q2", "c", None)]
    before = [Answer("before", "q2", "d", None), Answer("before", "q1", "a b", None)]
    settings = {"embedder": SharedWords(), "entailment": EntailmentByRules(), "em": None}
    scores = score_answers(QUESTIONS, KEYWORDS, after, **settings)  # type: ignore[arg-type]
    compared = compare_with_before(scores, after, before, embedder=SharedWords())
    assert [one.cs_before for one in compared] == [1.0, 0.0]
    assert [one.cs_before for one in scores] == [None, None]
