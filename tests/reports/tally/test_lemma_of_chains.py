"""Sets, targets and patients bound each other: in steps of ten, twenty and twenty all cells keep four values.

Exhaustively, and independent of the program, as in `test_lemma`. A cohort of `s` sets has 2s patients in an arm, which
are at most its targets; these are at most the split's patients, and twice the sets of all cohorts. Where one cohort
uses an arm up the bounds are equations.
"""

import itertools

import pytest

#: Non-empty cells of a partition, at most, and tens (or twenties) above the lowest class that its cells have together.
MOST_CELLS, REACH = 7, 3
#: Counts that nobody may learn.
SMALL = 10


def values_left(cells: int, tens: int, step: int, total: range) -> int | None:
    """Return how many values a cell of the lowest class can have in a partition of `total`; None if none is small."""
    others_low, others_high = step * tens + cells - 1, step * tens + step * (cells - 1)
    possible = [
        value
        for value in range(1, step + 1)
        if others_low <= total.stop - 1 - value and total.start - value <= others_high
    ]
    return len(possible) if possible and possible[0] <= SMALL else None


def fewest_values(step: int) -> tuple[int, int]:
    """Return the fewest values of a cell of a row of verdicts, and of one of the targets, in steps of `step`."""
    of_sets, of_targets = [], []
    numbers = range(1, MOST_CELLS + 1), range(REACH + 1)
    for (cells, tens), (asked, asked_tens) in itertools.product(itertools.product(*numbers), repeat=2):
        # The largest number of patients of the split, and of sets of all other cohorts.
        for split, others in itertools.product(range(1, 10), range(0, 40, 10)):
            sets_low, sets_high = 10 * tens + cells, 10 * tens + 10 * cells
            low, high = step * asked_tens + asked, min(step * asked_tens + step * asked, step * split)
            sets = range(max(sets_low, -(-low // 2) - others), min(sets_high, high // 2) + 1)
            targets = range(max(low, 2 * sets_low), min(high, 2 * (sets_high + others)) + 1)
            if not len(sets) or not len(targets):
                continue
            if cells > 1 or not tens:
                of_sets.append(values_left(cells, tens, 10, sets))
            if asked > 1 or not asked_tens:
                of_targets.append(values_left(asked, asked_tens, step, targets))
    return min(n for n in of_sets if n), min(n for n in of_targets if n)


@pytest.mark.parametrize(("step", "fewest"), [(20, (4, 11)), (10, (1, 1))])
def test_steps_of_twenty_keep_what_steps_of_ten_give_away(step: int, fewest: tuple[int, int]) -> None:
    assert fewest_values(step) == fewest
