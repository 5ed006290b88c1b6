"""Counts that stand alone, told in two parts of an arm's class, leave themselves and all others three values.

Exhaustively, and independent of the program, as in `test_lemma`. Of an arm's class of twenty such a count says whether
it lies in the first five. An arm is at least what its patients are counted for: who is given an identifier; bins in
twenties of them; short answers beside text that only longer ones hold; and, of those asked, who was refused besides.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

ARM, SETS, ENOUGH, SMALL = 20, 10, 3, 10
#: Twenties above the lowest class.
REACH = 2
#: Lower ends within a class: of counts that stand alone, and of a draft of them in fives.
HALVES, FIVES = (1, 6), (1, 6, 11, 16)


def lower_ends(ends: tuple[int, ...], *, bins: int, most_refused: tuple[int, ...]) -> Iterator[int]:
    """Yield what an arm is at least, by what is published of its patients."""
    for tens in range(REACH):
        # Somebody is in so many bins in twenties; the other cells of a partition beside the one with the short answers.
        of_identifiers = [*ends, *range(1, bins + 1)]
        of_short = [end + cells for end in ends for cells in range(7)]
        of_chat = [first + refused for first in (*of_identifiers, *of_short[:5]) for refused in most_refused]
        yield from (ARM * tens + end for end in (*of_identifiers, *of_short, *of_chat))


def fewest_values_of_sets(lows: Iterator[int]) -> int:
    """Return the fewest values of a number of sets, and of a cell of a row of theirs, where sets use an arm up."""
    found = []
    for low in set(lows):
        arm = range(low, (low - 1) // ARM * ARM + ARM + 1)
        sets = [size for size in range(1, arm[-1] // 2 + 1) if 2 * size in arm]
        found.append(len(sets))
        for cells, tens in itertools.product(range(1, 6), range(4)):
            others_low, others_high = SETS * tens + cells - 1, SETS * tens + SETS * (cells - 1)
            left = {
                value for value in range(1, SETS + 1) if any(others_low <= size - value <= others_high for size in sets)
            }
            if left and (cells > 1 or not tens):
                found.append(len(left))
    return min(found)


def test_what_an_arm_is_at_least_leaves_its_sets_and_their_rows_three_values() -> None:
    assert fewest_values_of_sets(lower_ends(HALVES, bins=3, most_refused=(1,))) == 5


def test_fives_and_short_answers_in_them_would_leave_one() -> None:
    assert fewest_values_of_sets(lower_ends(FIVES, bins=3, most_refused=(1,))) < ENOUGH


@pytest.mark.parametrize(("refused", "fewest"), [((1,), 13), ((1, 6, 11, 16), 1)])
def test_answers_and_refusals_of_an_arm_leave_every_bin_three_values(refused: tuple[int, ...], fewest: int) -> None:
    found = []
    # A partition of the answers has up to seven cells; those asked are in one class of twenty.
    for cells, of_refused in itertools.product(range(2, 8), refused):
        # All cells in their lowest class: one of them has what the others and the total leave.
        most = ARM - of_refused
        if most >= cells:
            found.append(most - (cells - 1))
    assert min(found) == fewest


def classes(ends: tuple[int, ...], largest: int) -> list[range]:
    """Return the classes of a count that stands alone, up to some number; those with nobody among them."""
    lows = [ARM * tens + end for tens in range(largest // ARM + 1) for end in ends]
    return [range(1), *(range(low, high) for low, high in itertools.pairwise([*lows, ARM * (largest // ARM + 1) + 1]))]


def fewest_values_of_totals(ends: tuple[int, ...], *, bins: int) -> int:
    """Return the fewest values of any of five counts that bound each other, and of a bin of either total.

    Own and other identifiers, and sampled ones; any verified, which is one's own or another's; any in the pool, which
    is one's own verified or sampled. Of both totals so many bins are known to hold somebody.
    """
    fewest = SMALL
    all_classes = classes(ends, ARM)
    for own, other, sampled, verified, pooled in itertools.product(all_classes, repeat=5):
        o, t, s, v, p = np.meshgrid(own, other, sampled, verified, pooled, indexing="ij", sparse=True)
        fits = (t <= v) & (v <= o + t) & (s <= p) & (p <= o + s) & (p <= v + s) & (v <= p + t)
        if not fits.any():
            continue
        for of_verified, of_pooled in itertools.product({0, min(bins, verified[-1])}, {0, min(bins, pooled[-1])}):
            kept = fits & (v >= of_verified) & (p >= of_pooled)
            if not kept.any():
                continue
            left = [np.flatnonzero(kept.any(axis=tuple(set(range(5)) - {axis}))) for axis in range(5)]
            for values, class_ in zip(left, (own, other, sampled, verified, pooled), strict=True):
                if 0 < class_[int(values[0])] <= SMALL:
                    fewest = min(fewest, len(values))
            for values, class_, cells in ((left[3], verified, of_verified), (left[4], pooled, of_pooled)):
                if cells:
                    fewest = min(fewest, class_[int(values[-1])] - (cells - 1))
    return fewest


@pytest.mark.parametrize(("bins", "fewest"), [(3, 3), (4, 2)])
def test_counts_that_bound_each_other_leave_each_other_and_their_bins_three_values(bins: int, fewest: int) -> None:
    assert fewest_values_of_totals(HALVES, bins=bins) == fewest
