"""Sets, the matching of subjects against brute force, and Rouge-L."""

import random
from functools import partial
from itertools import combinations

import pytest
from rouge_score.rouge_scorer import RougeScorer
from support.cases import read_rows
from support.pii.subject_matching_twin import best_matching, f1, texts

from clinaudit.audit.pii.benchmark.sample import comparable_text
from clinaudit.audit.pii.benchmark.scoring import (
    TypedText,
    average_over_subjects,
    match_subjects,
    rouge_l,
    score_overlap,
    score_sets,
    texts_of,
    typed_similarity,
)
from clinaudit.audit.pii.taxonomy import PII_TYPES

ROWS = read_rows("pii/rows.txt")


def subject(*entities: str) -> frozenset[TypedText]:
    """A subject of entities written `text/TYPE`; without a type it is PER."""
    parts = [entity.partition("/") for entity in entities]
    by_name = {kind: kind for kind in PII_TYPES}
    return frozenset(TypedText(text, by_name[kind or "PER"]) for text, _, kind in parts)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("", "", (1, 1, 1)),
        ("a", "", (0, 0, 0)),
        ("", "a", (0, 0, 0)),
        ("abc", "abc", (1, 1, 1)),
        ("abcd", "ab", (0.5, 1, 2 / 3)),
        ("ax", "abc", (0.5, 1 / 3, 0.4)),
    ],
)
def test_sets_score_as_worked_by_hand(predicted: str, gold: str, expected: tuple[float, float, float]) -> None:
    assert score_sets(set(predicted), set(gold)) == pytest.approx(expected)


@pytest.mark.parametrize(("one", "other", "same"), ROWS["texts are compared by nfkc and trimmed with their case"])
def test_texts_are_compared_by_nfkc_and_trimmed_with_their_case(one: str, other: str, same: bool) -> None:
    assert (comparable_text(one) == comparable_text(other)) is same


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], (1, 1, 1)),
        ([subject("a")], [], (0, 0, 0)),
        ([], [subject("a")], (0, 0, 0)),
        ([subject()], [subject()], (1, 1, 1)),
        ([subject(), subject("a")], [subject("a")], (0.5, 1, 0.5)),
    ],
)
def test_nobody_found_and_nobody_there(
    predicted: list[frozenset[TypedText]], gold: list[frozenset[TypedText]], expected: tuple[float, float, float]
) -> None:
    assert average_over_subjects(predicted, gold, match_subjects(predicted, gold), score_sets) == expected


def random_subjects(rng: random.Random, count: int, words: str) -> list[frozenset[TypedText]]:
    return [
        frozenset(TypedText(rng.choice(words), rng.choice(("PER", "LOC"))) for _ in range(rng.randrange(4)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_the_matching_equals_a_brute_force_twin_over_all_assignments(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        # Few words, so that ties are many; the twin knows the one matching that is first.
        words = rng.choice(("ab", "abcd", "abcdefghij"))
        sizes = rng.choice(((2, 2), (3, 3), (2, 4), (4, 2), (4, 4), (5, 5), (1, 3), (6, 2)))
        predicted, gold = (random_subjects(rng, size, words) for size in sizes)
        matching = match_subjects(predicted, gold)
        assert matching == best_matching(predicted, gold)
        for seen, score in ((frozenset, score_sets), (texts, lambda p, g: score_sets(texts_of(p), texts_of(g)))):
            expected = sum(f1(seen(predicted[p]), seen(gold[g])) for p, g in matching) / max(len(predicted), len(gold))
            assert average_over_subjects(predicted, gold, matching, score).f1 == pytest.approx(float(expected))
    # Of realistic size.
    entities = [TypedText(f"t{number}", rng.choice(PII_TYPES)) for number in range(40)]
    gold = [frozenset(rng.sample(entities, rng.randrange(4, 17))) for _ in range(6)]
    predicted = [frozenset(entity for entity in of if rng.random() < 0.7) for of in gold]
    rng.shuffle(predicted)
    assert match_subjects(predicted, gold) == best_matching(predicted, gold)


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
    assert score_overlap(set(predicted), set(gold), partial(rouge_l, by_character=False)) == pytest.approx(expected)


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
