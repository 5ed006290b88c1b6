"""The leakage score and its echo-free variant: hand cases, and a twin that compares strings."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinaudit.audit.unlearning.benchmark.records import Keyword
from clinaudit.audit.unlearning.metrics.words import leakage_score, not_in_question

WORDS = ("lung", "cancer", "a", "Stage", "2")


def keywords(**weights: float) -> list[Keyword]:
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
    assert leakage_score(keywords(cancer=0.5, lung_cancer=1.5), answer) == expected


def test_no_keyword_is_no_score_and_not_zero() -> None:
    assert leakage_score([], "cancer") is None


def test_a_keyword_in_the_question_does_not_count_as_a_leak() -> None:
    own = keywords(biopsy=1.0, lung_cancer=1.0)
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
