"""The table within published classes whose AUROC varies most, at each size (docs/methods.md, section 10).

A variance is largest where verdicts are mixed, which may be within the classes and not at a corner. Owns the search:
from the best corner of each size, patients are moved between two cells of a row, one at a time, while that adds
variance.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Final

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import (
    AMBIGUOUS,
    NEGATIVE,
    NOT_MENTIONED,
    POSITIVE,
    UNJUDGED,
    score_levels_of_all,
)
from clinaudit.audit.results.ranges.verdict_tables import ArmTables, cell_bounds
from clinaudit.audit.statistics.auroc import Counts, add_pseudo_patients, delong_variances
from clinaudit.reports.schema.disclosure import DIAGNOSIS_STATUSES, DiagnosisStatus, VerdictCounts

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
