"""The verdict tables within published classes: all corners of them, at every size (docs/methods.md, section 10).

Owns which tables the extremes of a metric are looked for at. Knows nothing of metrics. Every row of a tier has one
size, the number of matched sets. For a given size the tables of a row are the whole points of a box cut by a plane; its
corners have all cells but one at an end of their class. A metric that is a ratio of linear functions of a row has its
extremes there.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, DiagnosisStatus, VerdictCounts
from clinaudit.reports.schema.numbers import CountRange

#: Counts by `disclosure.metrics.OUTCOMES` on the last axis.
Tables = NDArray[np.float64]
_ORDERS: Final = tuple(permutations(range(4)))


class ArmTables(NamedTuple):
    """The corners of one arm at one size: `(tables, 5)` of patients with the diagnosis, and of those without."""

    size: int
    present: Tables
    absent: Tables


def size_of_rows(rows: Iterator[VerdictCounts]) -> CountRange:
    """Return the size that all rows share: the number of matched sets."""
    bounds = [cell_bounds(row) for row in rows]
    return CountRange(low=max(sum(low) for low, _ in bounds), high=min(sum(high) for _, high in bounds))


def arm_tables(rows: Mapping[DiagnosisStatus, VerdictCounts], sizes: CountRange) -> list[ArmTables]:
    """Return the corners of one arm at each size that leaves a table."""
    found = []
    for size in range(sizes.low, sizes.high + 1):
        present, absent = (
            _corners(*cell_bounds(row), (row.ambiguous.low, row.ambiguous.high), size)
            for row in (rows[status] for status in DIAGNOSIS_STATUSES)
        )
        if len(present) and len(absent):
            first, second = np.meshgrid(np.arange(len(present)), np.arange(len(absent)), indexing="ij")
            found.append(ArmTables(size, present[first.ravel()], absent[second.ravel()]))
    return found


def cells_of(row: VerdictCounts) -> tuple[CountRange, ...]:
    """Return the cells of a row in the order of `OUTCOMES`: the undecided are one."""
    return row.negative, row.undecided, row.positive, row.unjudged


def cell_bounds(row: VerdictCounts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ends of the cells of a row; the undecided hold the ambiguous."""
    lows = [cell.low for cell in cells_of(row)]
    lows[1] = max(lows[1], row.ambiguous.low)
    return tuple(lows), tuple(cell.high for cell in cells_of(row))


@lru_cache(maxsize=65536)
def _corners(lows: tuple[int, ...], highs: tuple[int, ...], ambiguous: tuple[int, int], size: int) -> Tables:
    """Return the corners of one row at one size, `(corners, 5)`: each order of filling its cells gives one."""
    spare = size - sum(lows)
    found: set[tuple[int, ...]] = set()
    if 0 <= spare <= sum(highs) - sum(lows):
        for order in _ORDERS:
            cells, left = list(lows), spare
            for cell in order:
                added = min(left, highs[cell] - lows[cell])
                cells[cell] += added
                left -= added
            negative, undecided, positive, unjudged = cells
            for unclear in {ambiguous[0], min(ambiguous[1], undecided)}:
                found.add((negative, undecided - unclear, unclear, positive, unjudged))
    return np.array(sorted(found), dtype=np.float64).reshape(-1, 5)
