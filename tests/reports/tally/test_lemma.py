"""Classes of ten leave every count of 1 to 10 at least four values, whatever partitions share its total: exhaustively.

Knows nothing of the program: this is what its rules rest on.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from clinaudit.reports.schema.numbers import CountRange
from clinaudit.reports.tally.classes import Interval, class_of, class_of_mean

#: Non-empty cells of a partition, at most.
MOST_CELLS = 7


def values_left(cells: tuple[int, ...], tens: tuple[int, ...]) -> int | None:
    """Return how many values a cell of 1 to 10 in the first partition can have; None where no total fits them all.

    Partition p has `cells[p]` non-empty cells, each from 10 k + 1 to 10 k + 10; its k sum up to `tens[p]`.
    """
    totals = range(
        max(10 * ten + count for count, ten in zip(cells, tens, strict=True)),
        min(10 * ten + 10 * count for count, ten in zip(cells, tens, strict=True)) + 1,
    )
    others_low, others_high = 10 * tens[0] + cells[0] - 1, 10 * tens[0] + 10 * (cells[0] - 1)
    if not totals:
        return None
    return sum(any(others_low <= total - value <= others_high for total in totals) for value in range(1, 11))


def fewest_values(most_cells: int, partitions: int, *, reach: int) -> int:
    found = [
        values_left(cells, tens)
        for cells in itertools.product(range(1, most_cells + 1), repeat=partitions)
        for tens in itertools.product(range(reach + 1), repeat=partitions)
        # A partition of the one cell alone has no other tens than its own.
        if cells[0] > 1 or tens[0] == 0
    ]
    return min(count for count in found if count is not None)


@pytest.mark.parametrize(("most_cells", "fewest"), [(2, 9), (4, 7), (MOST_CELLS, 4)])
def test_two_partitions_of_one_total_leave_every_cell_enough_values(most_cells: int, fewest: int) -> None:
    assert fewest_values(most_cells, 2, reach=14) == fewest


def test_three_partitions_tell_no_more_than_two() -> None:
    assert fewest_values(MOST_CELLS, 3, reach=4) == 4


def test_an_eighth_cell_would_leave_three_values_and_a_tenth_one() -> None:
    assert fewest_values(8, 2, reach=9) == 3
    assert fewest_values(10, 2, reach=10) == 1


def fewest_values_in_table(rows: int, columns: int) -> int:
    """Return the fewest values of a cell where all cells, all sums and the total are known as classes."""
    fewest = 10
    for empty in itertools.product((False, True), repeat=rows * columns - 1):
        # The first cell is the one attacked; others may be empty.
        values = [np.arange(1, 11), *(np.zeros(1, int) if is_empty else np.arange(1, 11) for is_empty in empty)]
        table = np.stack([grid.ravel() for grid in np.meshgrid(*values, indexing="ij")]).reshape(rows, columns, -1)
        known = np.zeros(table.shape[-1], dtype=np.int64)
        for margin in (*table.sum(axis=1), *table.sum(axis=0), table.sum(axis=(0, 1))):
            known = 10 * known + (margin + 9) // 10
        distinct = np.unique(11 * known + table[0, 0])
        fewest = min(fewest, int(np.unique(distinct // 11, return_counts=True)[1].min()))
    return fewest


@pytest.mark.parametrize(("rows", "columns", "fewest"), [(2, 2, 7), (2, 3, 5)])
def test_tables_whose_sums_are_classes_too_leave_every_cell_enough_values(rows: int, columns: int, fewest: int) -> None:
    assert fewest_values_in_table(rows, columns) == fewest


#: Tens (or twenties) above the lowest class that the cells of a partition have together, at most.
REACH = 3
#: Counts that nobody may learn.
SMALL = 10


def values_left_in_chain(cells: int, tens: int, step: int, total: range) -> int | None:
    """Return how many values a cell of the lowest class can have in a partition of `total`; None if none is small."""
    others_low, others_high = step * tens + cells - 1, step * tens + step * (cells - 1)
    possible = [
        value
        for value in range(1, step + 1)
        if others_low <= total.stop - 1 - value and total.start - value <= others_high
    ]
    return len(possible) if possible and possible[0] <= SMALL else None


def fewest_in_chain(step: int) -> tuple[int, int]:
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
                of_sets.append(values_left_in_chain(cells, tens, 10, sets))
            if asked > 1 or not asked_tens:
                of_targets.append(values_left_in_chain(asked, asked_tens, step, targets))
    return min(n for n in of_sets if n), min(n for n in of_targets if n)


@pytest.mark.parametrize(("step", "fewest"), [(20, (4, 11)), (10, (1, 1))])
def test_steps_of_twenty_keep_what_steps_of_ten_give_away(step: int, fewest: tuple[int, int]) -> None:
    assert fewest_in_chain(step) == fewest


ARM, SETS, ENOUGH = 20, 10, 3
#: Twenties above the lowest class.
LONE_REACH = 2
#: Lower ends within a class: of counts that stand alone, and of a draft of them in fives.
HALVES, FIVES = (1, 6), (1, 6, 11, 16)


def lower_ends(ends: tuple[int, ...], *, bins: int, most_refused: tuple[int, ...]) -> Iterator[int]:
    """Yield what an arm is at least, by what is published of its patients."""
    for tens in range(LONE_REACH):
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


_UNIT = 0.01
_EDGES = (Interval(0.0, 0.0), Interval(0.0, 0.01), Interval(0.01, 0.1), Interval(0.1, 0.5))


def bins_of(*counts: int) -> list[tuple[Interval, CountRange]]:
    return [(edge, class_of(count)) for edge, count in zip(_EDGES, counts, strict=False)]


def can_have(bins: list[tuple[Interval, CountRange]], low: float, high: float) -> bool:
    """Whether every table within the classes has some mean in the range, who has any having a whole percent."""
    for counts in itertools.product(*(range(count.low, count.high + 1) for _, count in bins)):
        least = sum(n * min(max(edge.low, _UNIT), edge.high) for n, (edge, _) in zip(counts, bins, strict=True))
        most = sum(n * edge.high for n, (edge, _) in zip(counts, bins, strict=True))
        patients = sum(counts)
        if least / patients > high + 1e-12 or most / patients < low - 1e-12:
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_a_whole_percent_is_one_that_every_table_could_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = [int(rng.choice([0, 4, 15, 47])) for _ in _EDGES]
    counts[0] += 1
    bins = bins_of(*counts)
    mean = sum(n * rng.uniform(edge.low, edge.high) for n, edge in zip(counts, _EDGES, strict=True)) / sum(counts)
    shown = class_of_mean(mean, bins, unit=_UNIT)
    assert shown.low - 1e-12 <= mean <= shown.high + 1e-12
    if shown.whole is not None:
        assert math.isclose(shown.whole, round(mean, 2))
        assert can_have(bins, shown.low, shown.high)


def test_whoever_has_any_text_has_more_than_next_to_nothing() -> None:
    # Of 119 patients with up to one percent each, a mean below half a percent would tell that hardly anybody has more.
    shown = class_of_mean(0.0048, bins_of(9, 119, 1), unit=_UNIT)
    assert shown.whole is None
    assert shown.high == pytest.approx(0.015)
    # Where few have any, all tables have the same percent, and it is given.
    assert class_of_mean(0.0001, bins_of(110, 4), unit=_UNIT).whole == 0.0
