"""Covariate balance of a four-cell cohort: standardized mean differences, and the choice of patients that lowers them.

Owns arithmetic on covariates by cell. Knows nothing of diagnoses, arms or outcomes: cells are numbered as in
`CONTRASTS` (paper, Appendix D; contract, section 5).
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.results import BalanceRow

Flag = Literal["balanced", "imbalanced", "poorly_matched"]
#: `(patients, covariates)` of one cell.
Covariates = NDArray[np.float64]

#: |SMD| above which a covariate is flagged, and above which the cohort's rules are inconclusive (contract, section 5).
FLAGGED_SMD = 0.1
POOR_SMD = 0.25

#: Share of the patients first matched that stays, at least, when patients are dropped to get under each limit.
_KEPT_FOR_FLAGGED = 0.8
_KEPT_FOR_POOR = 0.5

COVARIATES: Final = ("age", "sex", "notes")
#: Contrast: the two cells compared, of 0 train positive, 1 train negative, 2 nontrain positive, 3 nontrain negative.
CONTRASTS: Final = {
    "pos-train vs. pos-nontrain": (0, 2),
    "pos-train vs. neg-train": (0, 1),
    "pos-nontrain vs. neg-nontrain": (2, 3),
}


def standardized_mean_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return (mean1 - mean0) / sqrt((s1² + s0²) / 2), sample variances; 0/0 is 0, anything else over 0 None."""
    difference = float(first.mean() - second.mean())
    # One patient shows no spread.
    spread = sum(float(values.var(ddof=1)) if values.size > 1 else 0.0 for values in (first, second))
    if spread > 0:
        return difference / float(np.sqrt(spread / 2))
    return 0.0 if difference == 0 else None


def measure_balance(cells: Sequence[Covariates], before: Sequence[Covariates] | None = None) -> list[BalanceRow]:
    """Return the nine rows of the balance table, by contrast and then covariate (the paper's Table 4).

    `before`: the cells that these were matched from.
    """
    rows = []
    for contrast, (first, second) in CONTRASTS.items():
        for k, covariate in enumerate(COVARIATES):
            smd = standardized_mean_difference(cells[first][:, k], cells[second][:, k])
            earlier = None
            if before is not None:
                earlier = standardized_mean_difference(before[first][:, k], before[second][:, k])
            row = BalanceRow(contrast=contrast, covariate=covariate, smd=smd, flag=flag_smd(smd), smd_before=earlier)
            rows.append(row)
    return rows


def flag_smd(smd: float | None) -> Flag:
    """Return how far apart a standardized mean difference says two groups are."""
    if smd is None or abs(smd) > POOR_SMD:
        return "poorly_matched"
    return "imbalanced" if abs(smd) > FLAGGED_SMD else "balanced"


def refine_choice(pools: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return a choice of rows from each cell's pool that is better balanced: sorted rows, equally many a cell.

    Propensity matching balances on average only: with few candidates to choose from, a covariate often stays apart by
    chance. While a covariate is flagged, the best exchange of a chosen patient for an unchosen one of the same cell is
    made; where no exchange helps, one patient leaves each cell, until 80% are left, or, while a covariate is poorly
    matched, half. This is cardinality matching (Zubizarreta, Paredes and Rosenbaum 2014), the largest groups within a
    tolerance, done greedily from the matcher's own answer. It sees covariates only, never an outcome, so that it cannot
    bend a result. Deterministic; a tie goes to the first row.
    """
    state = _Choice(pools, chosen)
    begin = state.size
    while (largest := state.largest_smd()) > FLAGGED_SMD:
        if state.exchange():
            continue
        floor = (_KEPT_FOR_POOR if largest > POOR_SMD else _KEPT_FOR_FLAGGED) * begin
        if state.size - 1 < max(floor, 2):
            break
        state.drop()
    return [sorted(rows) for rows in state.chosen]


class _Choice:
    """The rows chosen in each cell, and the two moves that change them."""

    def __init__(self, pools: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> None:
        # Centred on the whole, so that variances from sums of squares lose no digits.
        middle = np.concatenate(pools).mean(axis=0)
        self._pools = [pool - middle for pool in pools]
        self.chosen = [sorted(rows) for rows in chosen]
        sizes = {len(rows) for rows in self.chosen}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError("the cells must be equally large and not empty")

    @property
    def size(self) -> int:
        """Patients a cell."""
        return len(self.chosen[0])

    def largest_smd(self) -> float:
        """Return the largest of the nine |SMD|, infinite where one is undefined."""
        rows = measure_balance([pool[rows] for pool, rows in zip(self._pools, self.chosen, strict=True)])
        return max(float("inf") if row.smd is None else abs(row.smd) for row in rows)

    def exchange(self) -> bool:
        """Make the exchange that lowers imbalance most; False where none does."""
        best, move = float(self._imbalance(0, *self._sums(0), self.size)) - 1e-12, None
        for cell, pool in enumerate(self._pools):
            inside = self.chosen[cell]
            outside = np.setdiff1d(np.arange(len(pool)), inside)
            if not outside.size:
                continue
            sums, squares = self._sums(cell)
            gained = pool[outside][None] - pool[inside][:, None]
            gained_squares = (pool[outside] ** 2)[None] - (pool[inside] ** 2)[:, None]
            after = self._imbalance(cell, sums + gained, squares + gained_squares, self.size)
            if after.min() < best:
                best = float(after.min())
                leaving, joining = np.unravel_index(int(after.argmin()), after.shape)
                move = (cell, int(leaving), int(outside[joining]))
        if move is None:
            return False
        cell, leaving_at, joining_row = move
        self.chosen[cell] = sorted([*np.delete(self.chosen[cell], leaving_at).tolist(), joining_row])
        return True

    def drop(self) -> None:
        """Leave one patient out of each cell in turn, each time the one without whom imbalance is least."""
        for cell, pool in enumerate(self._pools):
            sums, squares = self._sums(cell)
            inside = pool[self.chosen[cell]]
            after = self._imbalance(cell, sums - inside, squares - inside**2, self.size_of(cell) - 1)
            del self.chosen[cell][int(after.argmin())]

    def size_of(self, cell: int) -> int:
        """Patients of one cell, which differ only while `drop` is under way."""
        return len(self.chosen[cell])

    def _sums(self, cell: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        inside = self._pools[cell][self.chosen[cell]]
        return inside.sum(axis=0), (inside**2).sum(axis=0)

    def _imbalance(
        self, cell: int, sums: NDArray[np.float64], squares: NDArray[np.float64], size: int
    ) -> NDArray[np.float64]:
        """Return the sum of fourth powers of the nine SMDs, a smooth stand-in for their largest.

        `cell` is taken to have the `sums` and `squares` given, `(..., covariates)`; the other cells are as they are.
        """
        moments = [_moments(*self._sums(other), self.size_of(other)) for other in range(len(self._pools))]
        moments[cell] = _moments(sums, squares, size)
        total = np.zeros(sums.shape[:-1])
        for first, second in CONTRASTS.values():
            difference = moments[first][0] - moments[second][0]
            spread = np.sqrt((moments[first][1] + moments[second][1]) / 2)
            # Over no spread, a difference is undefined: worse than any that is defined.
            undefined = np.where(np.abs(difference) > 1e-9, 10.0, 0.0)
            smd = np.divide(difference, spread, out=undefined, where=spread > 1e-9)
            total = total + (smd**4).sum(axis=-1)
        return total


def _moments(
    sums: NDArray[np.float64], squares: NDArray[np.float64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and sample variances from sums, sums of squares and the number summed."""
    means = sums / size
    return means, np.maximum(squares - size * means**2, 0) / max(size - 1, 1)
