"""The verdict tables within published classes: all corners of them, at every size (docs/methods.md, section 10).

Owns which tables the extremes of a metric are looked for at. Every row of a tier has one size, the number of matched
sets. For a given size the tables of a row are the whole points of a box cut by a plane; its corners have all cells but
one at an end of their class. A metric that is a ratio of linear functions of a row has its extremes there. A variance
is largest where verdicts are mixed, which may be within the classes and not at a corner: from the best corner of each
size, patients are moved between two cells of a row while that adds variance.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.disclosure.metrics import (
    AMBIGUOUS,
    NEGATIVE,
    NOT_MENTIONED,
    POSITIVE,
    UNJUDGED,
    score_levels_of_all,
)
from clinaudit.audit.statistics.auroc import Counts, add_pseudo_patients, delong_variances
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


#: What the area over all depends on: the undecided are one cell.
_CELLS: Final = 4
_MOVES: Final = tuple(permutations(range(_CELLS), 2))
_ENOUGH: Final = 1e-12


def most_varied(tables: Sequence[ArmTables], rows: Mapping[DiagnosisStatus, VerdictCounts]) -> tuple[Counts, Counts]:
    """Return the tables of each size with the largest variance: `(sizes, 5)` counts with and without the diagnosis."""
    starts = []
    for of_size in tables:
        best = int(np.argmax(_variance(of_size.present, of_size.absent)))
        starts.append(np.stack([_cells_of(of_size.present[best]), _cells_of(of_size.absent[best])]))
    bounds = np.array([cell_bounds(rows[status]) for status in DIAGNOSIS_STATUSES], dtype=np.float64)
    return _climb(np.array(starts), bounds[:, 0], bounds[:, 1])


def _climb(tables: Counts, lows: Counts, highs: Counts) -> tuple[Counts, Counts]:
    """Move single patients while that adds variance; `(sizes, 2, 4)` counts, all sizes at once."""
    current = _variance_of_cells(tables)
    while True:
        moved = _neighbours(tables)
        inside = ((moved >= lows) & (moved <= highs)).all(axis=(-1, -2))
        scores = np.where(inside, _variance_of_cells(moved), -np.inf)
        chosen = scores.argmax(axis=0)
        reached = scores[chosen, np.arange(len(chosen))]
        better = reached > current + _ENOUGH
        if not better.any():
            return _outcomes_of(tables[:, 0]), _outcomes_of(tables[:, 1])
        tables = np.where(better[:, None, None], moved[chosen, np.arange(len(chosen))], tables)
        current = np.where(better, reached, current)


def _neighbours(tables: Counts) -> Counts:
    """Return each table after each move of one patient: `(sizes, 2, 4)` to `(moves, sizes, 2, 4)`."""
    moves = np.zeros((2 * len(_MOVES), 1, 2, _CELLS))
    for place, (taken, given) in enumerate(_MOVES):
        for row in range(2):
            moves[2 * place + row, 0, row, taken] -= 1
            moves[2 * place + row, 0, row, given] += 1
    return tables + moves


def _cells_of(counts: Counts) -> Counts:
    undecided = counts[..., NOT_MENTIONED] + counts[..., AMBIGUOUS]
    return np.stack([counts[..., NEGATIVE], undecided, counts[..., POSITIVE], counts[..., UNJUDGED]], axis=-1)


def _outcomes_of(cells: Counts) -> Counts:
    counts = np.zeros((*cells.shape[:-1], 5))
    counts[..., NEGATIVE], counts[..., NOT_MENTIONED] = cells[..., 0], cells[..., 1]
    counts[..., POSITIVE], counts[..., UNJUDGED] = cells[..., 2], cells[..., 3]
    return counts


def _variance(present: Counts, absent: Counts) -> Counts:
    of_present, of_absent = delong_variances(
        add_pseudo_patients(score_levels_of_all(present)), add_pseudo_patients(score_levels_of_all(absent))
    )
    return of_present + of_absent


def _variance_of_cells(tables: Counts) -> Counts:
    return _variance(_outcomes_of(tables[..., 0, :]), _outcomes_of(tables[..., 1, :]))
