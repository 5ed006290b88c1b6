"""Matching in ids against the set of tuples it replaces; regions and covered tokens by hand."""

import numpy as np
import pytest

from clinaudit.audit.measures.memorization.patient_text import concatenate_sequences
from clinaudit.audit.measures.memorization.verbatim import covered_tokens, find_matches, merge_overlapping_matches


def matches(generations: list[list[int]], notes: list[list[int]], n: int) -> list[list[bool]]:
    return [
        begins.tolist()
        for begins in find_matches(concatenate_sequences(generations), concatenate_sequences(notes), match_tokens=n)
    ]


def test_no_match_crosses_from_one_sequence_into_the_next():
    run = list(range(40))
    assert not any(matches([run], [run[:20], run[20:]], 30)[0])
    assert not any(flag for begins in matches([run[:20], run[20:]], [run], 30) for flag in begins)
    assert matches([run], [run], 30) == [[True] * 11 + [False] * 29]


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
def test_covered_tokens_and_regions(begins, n, covered, regions):
    assert covered_tokens(flags(begins), match_tokens=n).tolist() == flags(covered).tolist()
    assert [tuple(region) for region in merge_overlapping_matches(flags(begins), match_tokens=n)] == regions
