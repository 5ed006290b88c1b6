"""Source notes at most and at least: by hand, and against every cover of random pieces."""

import itertools
import math

import numpy as np
import pytest

from clinaudit.audit.measures.memorization.generation_metrics import count_source_notes


@pytest.mark.parametrize(
    ("holders", "expected"),
    [
        ([], (0, 0)),
        ([(0,)], (1, 1)),
        # The latest note of each piece is another; one note holds all three.
        ([(0, 1), (0, 2), (0, 3)], (4, 1)),
        ([(0,), (1,), (2,)], (3, 3)),
        # Notes 1 and 2 cover it.
        ([(1,), (1, 3), (2,), (2,)], (3, 2)),
        # Greedy takes note 4, which holds most, and then needs two more; 5 and 6 would do.
        ([(5,), (4, 5), (4, 5), (4, 6), (4, 6), (6,)], (3, 3)),
    ],
)
def test_by_hand(holders: list[tuple[int, ...]], expected: tuple[int, int]) -> None:
    assert count_source_notes(holders) == expected


def test_the_greedy_cover_lies_between_the_least_cover_and_its_bound() -> None:
    rng = np.random.default_rng(0)
    larger = 0
    for _ in range(200):
        holders = [
            tuple(int(note) for note in rng.choice(6, rng.integers(1, 4), replace=False))
            for _ in range(rng.integers(1, 8))
        ]
        notes = {note for own in holders for note in own}
        least = next(
            size
            for size in range(1, 7)
            for cover in itertools.combinations(notes, size)
            if all(set(own) & set(cover) for own in holders)
        )
        held, fewest = count_source_notes(holders)
        assert held == len(notes)
        assert least <= fewest <= least * (1 + math.log(len(holders)))
        larger += fewest > least
    assert larger < 40


def test_a_piece_that_no_note_holds_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a note"):
        count_source_notes([(1,), ()])
