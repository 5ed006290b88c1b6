"""Matching in ids against the set of tuples it replaces; regions and covered tokens by hand."""

import random

import numpy as np
import pytest

from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import covered_tokens, find_matches, merge_overlapping_matches


def begins_by_definition(generated: list[int], notes: list[list[int]], n: int) -> list[bool]:
    windows = {tuple(note[at : at + n]) for note in notes for at in range(len(note) - n + 1)}
    return [tuple(generated[at : at + n]) in windows for at in range(len(generated))]


def matches(generations: list[list[int]], notes: list[list[int]], n: int) -> list[list[bool]]:
    return [
        begins.tolist()
        for begins in find_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n)
    ]


@pytest.mark.parametrize("block", range(4))
def test_matches_equal_a_set_of_tuples(block: int) -> None:
    rng = random.Random(block)
    for _ in range(400):
        # Few distinct ids make periodic text and many chance hits; n from below to above the length of a seed.
        n, alphabet = rng.choice([1, 2, 3, 7, 8, 9, 15, 30]), rng.choice([1, 2, 3, 50, 2**32])
        notes = [[rng.randrange(alphabet) for _ in range(rng.randrange(90))] for _ in range(rng.randrange(5))]
        generations: list[list[int]] = []
        for _ in range(rng.randrange(4)):
            generated: list[int] = []
            for _ in range(rng.randrange(4)):
                note = rng.choice(notes) if notes else []
                begin = rng.randrange(len(note) + 1)
                generated += note[begin : begin + rng.randrange(60)]
                generated += [rng.randrange(alphabet)] * rng.randrange(2)
            generations.append(generated)
        expected = [begins_by_definition(generated, notes, n) for generated in generations]
        assert matches(generations, notes, n) == expected, (n, notes, generations)


def test_no_match_crosses_from_one_sequence_into_the_next() -> None:
    run = list(range(40))
    assert not any(matches([run], [run[:20], run[20:]], 30)[0])
    assert not any(flag for begins in matches([run[:20], run[20:]], [run], 30) for flag in begins)
    assert matches([run], [run], 30) == [[True] * 11 + [False] * 29]


def test_ids_at_both_ends_of_their_range() -> None:
    assert matches([[0, 2**32 - 1, 0]], [[2**32 - 1, 0]], 2) == [[False, True, False]]
    assert matches([[0] * 30], [[0] * 29], 30) == [[False] * 30]


def test_one_id_repeated_through_a_long_note() -> None:
    generated = [5] * 500 + [6] + [5] * 500
    begins = matches([generated], [[5] * 20_000], 30)[0]
    assert begins == [True] * 471 + [False] * 30 + [True] * 471 + [False] * 29


def flags(text: str) -> np.ndarray:
    return np.array([char == "x" for char in text])


@pytest.mark.parametrize(
    ("begins", "n", "covered", "regions"),
    [
        ("", 3, "", []),
        (".....", 3, ".....", []),
        ("x....", 3, "xxx..", [(0, 3)]),
        # Matches that share one token merge; matches that only touch stay apart.
        ("x.x....", 3, "xxxxx..", [(0, 5)]),
        ("x..x...", 3, "xxxxxx.", [(0, 3), (3, 6)]),
        ("xx...x...", 3, "xxxx.xxx.", [(0, 4), (5, 8)]),
        # With n = 1 nothing overlaps.
        ("xx.x", 1, "xx.x", [(0, 1), (1, 2), (3, 4)]),
    ],
)
def test_covered_tokens_and_regions(begins: str, n: int, covered: str, regions: list[tuple[int, int]]) -> None:
    assert covered_tokens(flags(begins), match_tokens=n).tolist() == flags(covered).tolist()
    assert [tuple(region) for region in merge_overlapping_matches(flags(begins), match_tokens=n)] == regions


def test_sequences_laid_end_to_end() -> None:
    sequences = concatenate_sequences([(1, 2), (), (3,)])
    assert [sequences[index].tolist() for index in range(len(sequences))] == [[1, 2], [], [3]]
    assert len(concatenate_sequences([])) == 0
    assert matches([], [[1]], 1) == []
    assert matches([[], [1]], [], 1) == [[], [False]]
