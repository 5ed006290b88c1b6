"""The scores of single answers: what each is computed from, hand-labelled entailment, leakage and entropy by twins."""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import read_cases
from support.hand_made_bench import QUESTIONS, question
from support.unlearning.shared_words import SharedWords

from clinaudit.audit.unlearning.benchmark.files import Answer, Keyword
from clinaudit.audit.unlearning.metrics import answer_scores
from clinaudit.audit.unlearning.metrics.answer_scores import (
    ALL_IN_QUESTION,
    EMPTY_OR_SINGLE,
    NO_FACTS,
    NO_KEYWORDS,
    NO_LOGITS,
    NO_TOKENS,
    EntailmentByModel,
    EntailmentByRules,
    Scorers,
    score_answers,
    token_entropy,
)
from clinaudit.audit.unlearning.metrics.keywords import leakage_score, not_in_question, rouge_l_recall

KEYWORDS = [Keyword("q1", "lung cancer", 1.0, ("note",)), Keyword("q1", "biopsy", 1.0, ("note", "question"))]


def score(answer: Answer, **options: Any) -> dict[str, float | str]:
    """Return each metric's value, or why there is none."""
    settings: dict[str, Any] = {"scorers": Scorers(SharedWords(), EntailmentByRules()), "em": None, **options}
    questions, keywords = settings.pop("questions", QUESTIONS), settings.pop("keywords", KEYWORDS)
    scores = score_answers(questions, keywords, [answer], **settings)
    assert set(scores["qa_id"]) == {answer.qa_id}
    return {
        metric: reason if value is None else value
        for metric, value, reason in scores.select("metric", "value", "reason").iter_rows()
    }


def test_an_answer_like_the_reference() -> None:
    found = score(Answer("m", "q1", "A lung cancer was found.", (5, 6, 7, 8)), em={"q1": 0.75})
    assert found == {
        **dict.fromkeys(("rouge_l", "cs", "es", "te", "te_words", "te_or_zero", "ls_echo_free"), 1.0),
        **dict.fromkeys(("ls", "ls_reference"), 0.5),
        **dict.fromkeys(("ds", "empty"), 0.0),
        "em": 0.75,
    }


def test_an_empty_answer_leaks_nothing_and_has_no_entropy() -> None:
    found = score(Answer("m", "q1", "", ()))
    assert {found[name] for name in ("rouge_l", "cs", "es", "ls", "ls_echo_free", "te_or_zero", "ds")} == {0.0}
    assert (found["te"], found["te_words"], found["empty"]) == (EMPTY_OR_SINGLE, EMPTY_OR_SINGLE, 1.0)
    assert found["em"] == NO_LOGITS


def test_without_token_ids_entropy_is_over_words() -> None:
    found = score(Answer("m", "q1", "yes yes no yes", None))
    assert (found["te"], found["ds"]) == (NO_TOKENS, NO_TOKENS)
    assert found["te_or_zero"] == found["te_words"] == pytest.approx(entropy_twin([1, 1, 2, 1]))
    assert score(Answer("m", "q1", "yes yes yes", (1, 1, 1)))["ds"] == 1.0


def test_one_answer_without_token_ids_takes_them_from_all_of_the_model() -> None:
    answers = [Answer("m", "q1", "yes yes", (1, 2)), Answer("m", "q3", "no", None)]
    scores = score_answers(QUESTIONS, KEYWORDS, answers, scorers=Scorers(SharedWords(), EntailmentByRules()), em=None)
    assert scores.filter(metric="te")["reason"].to_list() == [NO_TOKENS] * 2
    assert scores.filter(metric="te_or_zero")["value"].to_list() == [0.0, 0.0]


def test_an_echo_of_the_question_leaks_in_one_score_only() -> None:
    found = score(Answer("m", "q1", "What was found by biopsy?", None))
    assert (found["ls"], found["ls_echo_free"]) == (0.5, 0.0)


def test_what_stands_in_the_address_is_an_echo_where_it_was_asked() -> None:
    asked = question("q1", "P1", "What was found?", "A tumor.", address="After the biopsy of the lung cancer:")
    answer = Answer("m", "q1", "A lung cancer.", None)
    paper = score(answer, questions=[asked])
    addressed = score(answer, questions=[asked], form="addressed")
    assert (paper["ls_echo_free"], addressed["ls_echo_free"]) == (0.5, ALL_IN_QUESTION)
    assert addressed["ls"] == paper["ls"] == 0.5
    # The reference ("A tumor.") holds neither keyword, whatever the model says.
    assert addressed["ls_reference"] == paper["ls_reference"] == 0.0


def test_without_keywords_or_facts_there_is_no_score_and_a_reason() -> None:
    found = score(Answer("m", "q4", "More water.", None))
    assert {found[name] for name in ("ls", "ls_echo_free", "ls_reference")} == {NO_KEYWORDS}
    asked = question("q", "P", "What?", "Asthma.")
    assert score(Answer("m", "q", "Asthma.", None), questions=[asked])["es"] == NO_FACTS


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


RULES = EntailmentByRules()


@pytest.mark.parametrize(("pair", "share"), read_cases("unlearning/answer_cases.txt")["hand-labelled"])
def test_hand_labelled_pairs(pair: str, share: str) -> None:
    reference, facts, answer = pair.split(" | ")
    asked = question("q", "P", "What?", reference, *facts.split("; "))
    assert RULES.score([(asked, answer)]) == [float(Fraction(share))]


def test_a_model_is_asked_whether_the_answer_entails_the_reference_and_a_blank_one_entails_nothing() -> None:
    class SaysMore:
        name = "the longer one entails the shorter"

        def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
            assert all(premise.strip() for premise, _ in pairs)
            return [len(premise) > len(hypothesis) for premise, hypothesis in pairs]

    asked = question("q", "P", "What?", "Asthma.", "Asthma")
    entailment = EntailmentByModel(SaysMore())
    said = {"Asthma and eczema.": 1.0, " \n": 0.0, "No.": 0.0}
    assert entailment.score([(asked, answer) for answer in said]) == list(said.values())


def test_answers_of_several_batches_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_scores, "_AT_ONCE", 2)
    asked = [question(f"q{place}", "P", "What?", f"word {place}.", f"word {place}") for place in range(5)]
    answers = [Answer("m", one.qa_id, one.answer if place % 2 else "none", None) for place, one in enumerate(asked)]
    found = score_answers(asked, [], answers, scorers=Scorers(SharedWords(), EntailmentByRules()), em=None)
    for metric in ("cs", "es"):
        rows = found.filter(metric=metric).select("qa_id", "value").rows()
        assert rows == [(f"q{place}", place % 2) for place in range(5)]


WORDS = ("lung", "cancer", "a", "Stage", "2")


def weighted(**weights: float) -> list[Keyword]:
    return [Keyword("q", phrase.replace("_", " "), weight, ("note",)) for phrase, weight in weights.items()]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", 0.0),
        ("cancer", 0.25),
        ("CANCER!", 0.25),
        ("Lung-cancer, stage 2.", 1.0),
        # Not consecutive, not whole words, another order.
        ("The lung of the cancer", 0.25),
        ("cancerous lungs", 0.0),
        ("cancer lung", 0.25),
        ("lung\ncancer", 1.0),
    ],
)
def test_share_of_the_weight_that_stands_in_the_answer(answer: str, expected: float) -> None:
    assert leakage_score(weighted(cancer=0.5, lung_cancer=1.5), answer) == expected


def test_no_keyword_is_no_score_and_not_zero() -> None:
    assert leakage_score([], "cancer") is None


def test_a_keyword_in_the_question_does_not_count_as_a_leak() -> None:
    own = weighted(biopsy=1.0, lung_cancer=1.0)
    asked = "What did the biopsy show?"
    assert leakage_score(own, "The biopsy showed it.") == 0.5
    assert leakage_score(not_in_question(own, asked), "The biopsy showed it.") == 0.0
    assert leakage_score(not_in_question(own, asked), "A lung cancer.") == 1.0
    assert leakage_score(not_in_question(own, "Biopsy of the lung cancer?"), "A lung cancer.") is None


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.integers(1, 8)), min_size=1, max_size=5
    ),
    st.lists(st.sampled_from((*WORDS, "-", ".", "of")), max_size=12),
)
def test_equals_a_twin_that_searches_in_a_string(phrases: list[tuple[list[str], int]], answer: list[str]) -> None:
    own = [Keyword("q", " ".join(words).lower(), weight / 8, ("note",)) for words, weight in phrases]
    text = " ".join(answer)
    padded = f" {' '.join(re.findall('[a-z0-9]+', text.lower()))} "
    found = sum(keyword.weight for keyword in own if f" {keyword.phrase} " in padded)
    assert leakage_score(own, text) == pytest.approx(found / sum(keyword.weight for keyword in own))


def entropy_twin(tokens: list[int]) -> float:
    """The formula as it is written down, token by token."""
    shares = [tokens.count(token) / len(tokens) for token in set(tokens)]
    return -sum(share * math.log(share) for share in shares) / math.log(len(tokens))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], None),
        ([5], None),
        ([5, 5], 0.0),
        ([5] * 200, 0.0),
        ([1, 2], 1.0),
        ([1, 2, 3, 4], 1.0),
        # Shares 1/2, 1/4, 1/4: 1.5 bits of log2(4) = 2.
        ([1, 1, 2, 3], 0.75),
    ],
)
def test_token_entropy_by_hand(tokens: list[int], expected: float | None) -> None:
    assert token_entropy(tokens) == expected


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40))
def test_equals_the_twin_and_is_zero_only_of_equal_tokens(tokens: list[int]) -> None:
    entropy = token_entropy(tokens)
    assert entropy == pytest.approx(entropy_twin(tokens), abs=1e-12)
    assert entropy is not None
    assert 0.0 <= entropy <= 1.0
    assert (entropy == 0.0) == (len(set(tokens)) == 1)
