"""Keywords: which phrases are kept, their weights, and the order of the steps in notes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hand_made_bench import hand_made_bench, question

from clinaudit.audit.unlearning.benchmark.files import Keyword, Words, words_of
from clinaudit.audit.unlearning.metrics.keywords import (
    EnglishParser,
    Seeds,
    best_of_notes,
    extract_keywords,
    load_seeds,
    relevance,
)

SEEDS = frozenset({("lung", "cancer"), ("cancer",), ("a", "b", "c", "d", "e")})


def kidney_seeds(*terms: str) -> Seeds:
    """The seeds, with a list for a category that has none."""
    return replace(load_seeds(), by_category={"kidney": frozenset(map(words_of, terms))})


class EveryRun:
    """A parser to which every run of up to seven words is a phrase: what is dropped, the extraction dropped."""

    name = "every run of words"

    def phrases(self, texts: Iterable[str]) -> Iterator[list[Words]]:
        for text in texts:
            words = words_of(text)
            yield [words[i:j] for i in range(len(words)) for j in range(i + 1, min(i + 7, len(words)) + 1)]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("cancer", 1.0),
        ("lung cancer", 1.0),
        ("small lung cancer", 0.9),
        # The words of a seed that do not stand together: Jaccard 2/3 of "lung cancer", but it contains "cancer".
        ("lung and cancer", 0.9),
        ("lung", 0.6 * 1 / 2),
        ("water", 0.0),
        ("b a c d e", 0.6),
        # Jaccard 5/6 is the least that is kept, 4/5 is dropped.
        ("b a c d e x", 0.5),
        ("a b c d", 0.6 * 4 / 5),
    ],
)
def test_relevance(phrase: str, expected: float) -> None:
    assert relevance(words_of(phrase), SEEDS) == pytest.approx(expected)


def relevance_twin(phrase: Words, seeds: frozenset[Words]) -> float:
    """The same by strings and sets, all seeds at once."""
    if phrase in seeds:
        return 1.0
    if any(f" {' '.join(seed)} " in f" {' '.join(phrase)} " for seed in seeds):
        return 0.9
    return max(0.6 * len(set(phrase) & set(seed)) / len(set(phrase) | set(seed)) for seed in seeds)


@given(st.lists(st.sampled_from(("lung", "cancer", "a", "b", "c", "d", "e")), min_size=1, max_size=6))
def test_relevance_equals_its_twin(phrase: list[str]) -> None:
    assert relevance(tuple(phrase), SEEDS) == pytest.approx(relevance_twin(tuple(phrase), SEEDS))


def test_of_notes_longer_phrases_go_before_the_best_are_taken() -> None:
    weights = {words_of(phrase): weight for phrase, weight in [("a x", 9.0), ("a y", 8.0), ("a", 1.0)]}
    weights |= {(letter,): 2.0 for letter in "bcde"}
    # By taking the five best first, "a x" and "a y" would have driven out two of them.
    assert set(best_of_notes(weights)) == {("a",), ("b",), ("c",), ("d",), ("e",)}
    assert len(best_of_notes(weights | {("f",): 1.5})) == 5
    assert ("a",) not in best_of_notes(weights | {("f",): 1.5})


def test_keywords_of_the_hand_made_benchmark(tmp_path: Path) -> None:
    bench = hand_made_bench(tmp_path)
    found = extract_keywords(bench, EnglishParser(load_seeds().lexicon))
    assert [keyword for keyword in found if keyword.qa_id == "q1"] == [
        # Twice in the note, once in the answer: the larger weight.
        Keyword("q1", "lung cancer", 1.1, ("note", "answer")),
        Keyword("q1", "biopsy", 1.05, ("note", "question")),
        Keyword("q1", "chemotherapy", 1.05, ("note",)),
    ]
    # No list for kidneys, and no sensitive diagnosis in the note.
    assert not [keyword for keyword in found if keyword.qa_id == "q4"]
    # "chest pain" is a seed of another category.
    assert "chest pain" not in {keyword.phrase for keyword in found}


def test_generic_short_and_long_phrases_are_dropped(tmp_path: Path) -> None:
    bench = hand_made_bench(tmp_path)
    asked = question("q4", "P3", "Is there no history of it?", "is to be drunk now: a lot of water")
    seeds = kidney_seeds("history", "no", "a", "is", "water")
    found = extract_keywords(replace(bench, questions=(asked,)), EveryRun(), seeds=seeds)
    phrases = {keyword.phrase for keyword in found}
    assert {"water", "a lot of water", "be drunk now a lot of", "no history"} <= phrases
    # Generic; shorter than three characters; seven words.
    assert not phrases & {"history", "no", "a", "is", "to be drunk now a lot of"}
    assert max(len(phrase.split()) for phrase in phrases) == 6


def test_frequency_adds_at_most_five_times(tmp_path: Path) -> None:
    bench = hand_made_bench(tmp_path)
    bench = replace(bench, notes={**bench.notes, "P3": ("water. " * 5, "water. " * 4)})
    found = extract_keywords(bench, EveryRun(), seeds=kidney_seeds("water"))
    assert {keyword.weight for keyword in found if keyword.phrase == "water"} == {1.25}


def test_without_a_list_the_sensitive_diagnoses_of_the_notes_are_seeds() -> None:
    seeds = load_seeds()
    assert not seeds.of_patient("kidney", ["Kidney stones."])
    hiv = seeds.of_patient("kidney", ["HIV, on biktarvy."])
    assert ("hiv",) in hiv
    assert ("depression",) not in hiv
    # A category with a list keeps to it.
    assert seeds.of_patient("cancer", ["HIV."]) == seeds.by_category["cancer"]
    # As many as AMNESIA's Table 7 lists.
    assert {category: len(terms) for category, terms in seeds.by_category.items()} == {
        "cancer": 50,
        "cardiovascular": 51,
        "infectious_immune": 53,
    }
