"""Rouge-L of texts and of sets of texts, worked by hand."""

import random
from itertools import combinations

import pytest
from rouge_score.rouge_scorer import RougeScorer

from clinaudit.audit.pii.benchmark.scoring.matching import TypedText, rouge_l, score_overlap, typed_similarity


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("Saint Mary Hospital", "Saint Mary Hospital", 1.0),
        ("Mary Hospital", "Saint Mary Hospital", 0.8),  # 2 of 2 words, 2 of 3
        ("hospital, Saint Mary", "Saint Mary Hospital", 2 / 3),  # the order counts
        ("saint mary hospital", "Saint Mary Hospital", 1.0),  # the case does not
        ("Oslo", "Bergen", 0.0),
        ("", "Bergen", 0.0),
        ("José", "Jose", 0.0),  # letters beyond a to z are letters
        ("@@@", "@@@", 1.0),  # equal texts, though without a word
    ],
)
def test_words(predicted: str, gold: str, expected: float) -> None:
    assert rouge_l(predicted, gold, by_character=False) == pytest.approx(expected)
    assert rouge_l(gold, predicted, by_character=False) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("$4,200", "$4,200", 1.0),
        ("4,200", "$4,200", 10 / 11),  # 5 of 5 characters, 5 of 6
        ("2019", "2018", 0.75),
        ("abc", "ABC", 0.0),
    ],
)
def test_characters(predicted: str, gold: str, expected: float) -> None:
    assert rouge_l(predicted, gold, by_character=True) == pytest.approx(expected)


def test_words_of_plain_letters_are_those_of_the_reference() -> None:
    reference = RougeScorer(["rougeL"])
    texts = ["Ann B. Lee", "ann lee", "Lee, Ann", "St. Mary's Clinic", "Mary Clinic of Oslo", "a_b c"]
    for one in texts:
        for other in texts:
            expected = reference.score(other, one)["rougeL"].fmeasure
            assert rouge_l(one, other, by_character=False) == pytest.approx(expected)


def test_entities_of_two_types_share_nothing() -> None:
    assert typed_similarity(TypedText("Ann Lee", "PER"), TypedText("Ann Lee", "PER")) == 1
    assert typed_similarity(TypedText("Ann Lee", "PER"), TypedText("Ann Lee", "ORG")) == 0
    assert typed_similarity(TypedText("2019", "DATETIME"), TypedText("2018", "DATETIME")) == 0.75
    assert typed_similarity(TypedText("2019", "DEM"), TypedText("2018", "DEM")) == 0


def by_word(one: str, other: str) -> float:
    return rouge_l(one, other, by_character=False)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], (1, 1, 1)),
        (["a"], [], (0, 0, 0)),
        ([], ["a"], (0, 0, 0)),
        (["x"], ["y"], (0, 0, 0)),
        # Precision: 0.8 and 0; recall: 0.8 alone.
        (["Mary Hospital", "Oslo"], ["Saint Mary Hospital"], (0.4, 0.8, 8 / 15)),
        # One predicted text may be the best for two.
        (["Ann Lee"], ["Ann", "Lee"], (2 / 3, 2 / 3, 2 / 3)),
    ],
)
def test_sets_of_texts(predicted: list[str], gold: list[str], expected: tuple[float, float, float]) -> None:
    assert score_overlap(set(predicted), set(gold), by_word) == pytest.approx(expected)


def longest_common(one: str, other: str) -> int:
    """The length of the longest common subsequence, by trying all of them."""
    kept = {"".join(part) for size in range(len(one) + 1) for part in combinations(one, size)}
    return max(size for size in range(len(other) + 1) for part in combinations(other, size) if "".join(part) in kept)


def test_rouge_equals_a_brute_force_twin() -> None:
    rng = random.Random(0)
    for _ in range(60):
        one, other = ("".join(rng.choices("ab1-", k=rng.randrange(1, 8))) for _ in range(2))
        expected = 2 * longest_common(one, other) / (len(one) + len(other))
        assert rouge_l(one, other, by_character=True) == pytest.approx(expected)
