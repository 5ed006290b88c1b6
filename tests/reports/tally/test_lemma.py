"""Classes of ten leave every count of 1 to 10 at least four values, whatever partitions share its total: exhaustively.

Knows nothing of the program: this is what its rules rest on.
"""

import itertools

import numpy as np
import pytest

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
