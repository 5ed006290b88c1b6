"""Covariates of a four-cell cohort: propensity scores and their overlap, balance (SMD), and swaps that improve it.

Owns arithmetic on covariates by cell, which are numbered as in `CONTRASTS` (paper, Appendix D; docs/methods.md, section
4). Propensity (Rosenbaum and Rubin 1983) is P(first of two groups) by logistic regression on z-scored covariates, which
the matchers share. Common support (positivity) is shown in bins cut at deciles of the candidates with the diagnosis:
where it is rare, one bin of equal width would hold all of them. scikit-learn is imported where it is used.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.schema.corpus import OverlapBin
from clinaudit.reports.schema.record import Arm

#: `(patients, covariates)` of one group.
Covariates = NDArray[np.float64]
#: `(patients,)`.
Scores = NDArray[np.float64]
_BINS: Final = 10
#: Decimal places that edges are rounded to (privacy): an unrounded edge is a patient's propensity, or lies between two.
_EDGE_PLACES: Final = 3
#: By arm: the cells with and without the diagnosis, as `clinaudit.audit.measures.cohorts.balance` numbers them.
_ARMS: Final[tuple[tuple[Arm, int, int], ...]] = (("train", 0, 1), ("nontrain", 2, 3))


class Propensity(NamedTuple):
    """Each row's probability of being in the first group, and its logit, by group."""

    first: Scores
    second: Scores
    first_logit: Scores
    second_logit: Scores


def standardize(first: Covariates, second: Covariates) -> tuple[Covariates, Covariates]:
    """Return z-scores over both groups together; a constant covariate stays 0.

    Both users depend on a covariate's unit: the model penalizes coefficients (L2), and distances add covariates up.
    """
    both = np.vstack([first, second])
    spread = both.std(axis=0)
    scaled: Covariates = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled[: len(first)], scaled[len(first) :]


def fit_propensity(first: Covariates, second: Covariates) -> Propensity:
    """Return the propensities of two standardized groups: L2-penalized logistic regression, psmpy's solver."""
    from sklearn.linear_model import LogisticRegression

    both = np.vstack([first, second])
    model = LogisticRegression(solver="liblinear").fit(both, np.arange(len(both)) < len(first))
    scores, logits = model.predict_proba(both)[:, 1], model.decision_function(both)
    return Propensity(scores[: len(first)], scores[len(first) :], logits[: len(first)], logits[len(first) :])


def describe_overlap(candidates: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> list[OverlapBin]:
    """Return the bins of both arms, counted for candidates and for the matched.

    `candidates` are the covariates by cell, at least one row each; `chosen` the rows of them that were matched.
    """
    described = []
    for arm, positive, negative in _ARMS[: len(candidates) // 2]:
        model = fit_propensity(*standardize(candidates[positive], candidates[negative]))
        scores = (model.first, model.second)
        edges = np.quantile(scores[0], np.linspace(0, 1, _BINS + 1)).round(_EDGE_PLACES)
        edges = np.unique([0.0, *edges[1:-1], 1.0])
        matched = (scores[0][list(chosen[positive])], scores[1][list(chosen[negative])])
        counts = [np.histogram(values, edges)[0].tolist() for values in (*scores, *matched)]
        for low, high, *of_bin in zip(edges[:-1], edges[1:], *counts, strict=True):
            described.append(
                OverlapBin(
                    arm=arm,
                    low=float(low),
                    high=float(high),
                    positive_candidates=of_bin[0],
                    negative_candidates=of_bin[1],
                    positive_matched=of_bin[2],
                    negative_matched=of_bin[3],
                )
            )
    return described


Flag = Literal["balanced", "imbalanced", "poorly_matched"]
#: Sums over the patients of a cell, of any shape.
Sums = NDArray[np.float64]
#: |SMD| above which a covariate is flagged, and above which the cohort's rules are inconclusive (docs/methods.md,
#: section 4).
FLAGGED_SMD = 0.1
POOR_SMD = 0.25
#: Swaps scored at a time (8 bytes each).
_CHUNK_CELLS = 2_000_000
#: Least share of the patients first matched that is kept when patients are dropped to get under each limit [choice].
#: A fifth of the patients is a fair price for a cohort without a flag, half of them for one whose rules can be decided
#: (docs/decisions.md, "Balance is restored after matching").
_KEPT_FOR_FLAGGED = 0.8
_KEPT_FOR_POOR = 0.5
#: Patients of one sex in a cell up to whom balance is judged by numbers.
FEW: Final = 10
COVARIATES: Final = ("age", "sex", "notes")
#: Contrast: the two cells compared, of 0 train positive, 1 train negative, 2 nontrain positive, 3 nontrain negative.
CONTRASTS: Final = {
    "pos-train vs. pos-nontrain": (0, 2),
    "pos-train vs. neg-train": (0, 1),
    "pos-nontrain vs. neg-nontrain": (2, 3),
}


@dataclass(frozen=True, slots=True)
class BalanceRow:
    """Standardized mean difference of one covariate in one contrast (the paper's Table 4)."""

    contrast: str
    covariate: str
    smd: float | None
    flag: Flag
    #: The same SMD among all candidates, before matching.
    smd_before: float | None = None
    #: Of sex: 1 to 10 of one sex are in some cell; the flag then follows from numbers, and the SMD is not published.
    few: bool = False
    #: The same of the candidates.
    few_before: bool = False


def standardized_mean_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return (mean1 - mean0) / sqrt((s1² + s0²) / 2), sample variances; 0/0 is 0, anything else over 0 None."""
    difference = float(first.mean() - second.mean())
    # One patient has no sample variance: it counts as 0.
    spread = sum(float(values.var(ddof=1)) if values.size > 1 else 0.0 for values in (first, second))
    if spread > 0:
        return difference / float(np.sqrt(spread / 2))
    return 0.0 if difference == 0 else None


def measure_balance(cells: Sequence[Covariates], before: Sequence[Covariates] | None = None) -> list[BalanceRow]:
    """Return the rows of the balance table, by contrast and then covariate (the paper's Table 4): nine of four cells.

    `before`: the cells that these were matched from.
    """
    rows = []
    for contrast, (first, second) in _contrasts(cells):
        for k, covariate in enumerate(COVARIATES):
            smd = standardized_mean_difference(cells[first][:, k], cells[second][:, k])
            earlier = None
            if before is not None:
                earlier = standardized_mean_difference(before[first][:, k], before[second][:, k])
            is_sex = covariate == "sex"
            few = is_sex and has_few(cells)
            flag = flag_few(cells[first][:, k], cells[second][:, k]) if few else flag_smd(smd)
            row = BalanceRow(
                contrast=contrast,
                covariate=covariate,
                smd=smd,
                flag=flag,
                smd_before=earlier,
                few=few,
                few_before=is_sex and before is not None and has_few(before),
            )
            rows.append(row)
    return rows


def _contrasts(cells: Sequence[object]) -> list[tuple[str, tuple[int, int]]]:
    """Return the contrasts of the cells that there are: of two cells, those trained on, only theirs."""
    return [(name, compared) for name, compared in CONTRASTS.items() if max(compared) < len(cells)]


def flag_smd(smd: float | None) -> Flag:
    """Return the flag of a standardized mean difference; None is an undefined one."""
    if smd is None or abs(smd) > POOR_SMD:
        return "poorly_matched"
    return "imbalanced" if abs(smd) > FLAGGED_SMD else "balanced"


def has_few(cells: Sequence[Covariates]) -> bool:
    """Return whether 1 to 10 patients of one sex are in some cell: an SMD and its flag would tell their number."""
    women = [(int(cell[:, COVARIATES.index("sex")].sum()), len(cell)) for cell in cells]
    return any(0 < count <= FEW for inside, size in women for count in (inside, size - inside))


def flag_few(first: NDArray[np.float64], second: NDArray[np.float64]) -> Flag:
    """Return the flag of sex where there are few of one: by the difference in numbers, not by the SMD [choice].

    Poorly matched where the cells differ by more than a quarter of their patients, or by more than ten; for a
    difference of up to five only where it is more than half of them. So in cells of ten or more the flag leaves at
    least five values for a number from 1 to 10.
    """
    allowed = allowed_difference(len(first))
    return "poorly_matched" if abs(float(first.sum() - second.sum())) > allowed else "balanced"


def allowed_difference(size: int) -> int:
    """Return by how many patients of one sex two cells of this size may differ, where there are few of it."""
    return min(FEW, max(size // 4, min(FEW // 2, size // 2)))


def improve_balance(
    pools: Sequence[Covariates], chosen: Sequence[Sequence[int]], *, kept: Sequence[int] = (0, 0, 0, 0)
) -> list[list[int]]:
    """Return a better balanced selection by greedy swaps: for each cell sorted rows of its pool, equally many a cell.

    `pools` are the covariates of each cell's candidates, `chosen` the rows of them that the matcher chose. Of each
    cell the first `kept` rows of the pool are never swapped for others.

    Propensity matching balances in expectation only: with few candidates, a covariate often stays imbalanced by chance.
    While a covariate is flagged, the best swap of a chosen for an unchosen patient of the same cell is made. Where no
    swap helps, one patient is dropped from each cell, until 80% are left, or half while a covariate is poorly matched.
    The goal is that of cardinality matching (Zubizarreta, Paredes and Rosenbaum 2014), the largest groups within a
    tolerance of balance; here it is sought greedily from the matcher's own answer. Only covariates are used, never an
    outcome, so that no result is biased by it. Deterministic; a tie goes to the first row.
    """
    selection = Selection(pools, chosen, kept=kept)
    begin = selection.size
    while (largest := selection.largest_smd()) > FLAGGED_SMD:
        if selection.swap():
            continue
        floor = (_KEPT_FOR_POOR if largest > POOR_SMD else _KEPT_FOR_FLAGGED) * begin
        if selection.size - 1 < max(floor, 2):
            break
        selection.drop()
    return [sorted(rows) for rows in selection.chosen]


class Selection:
    """The rows selected in each cell, and the two moves that change them: a swap and a drop."""

    def __init__(
        self, pools: Sequence[Covariates], chosen: Sequence[Sequence[int]], *, kept: Sequence[int] = (0, 0, 0, 0)
    ) -> None:
        # Centred on the overall mean, so that variances from sums of squares lose no digits.
        middle = np.concatenate(pools).mean(axis=0)
        self._pools = [pool - middle for pool in pools]
        # By cell, for each row: which distinct row of covariates it is.
        self._kinds = [np.unique(pool, axis=0, return_inverse=True)[1].reshape(-1) for pool in pools]
        self.chosen = [sorted(rows) for rows in chosen]
        self._kept = kept
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

    def swap(self) -> bool:
        """Make the swap that reduces imbalance most; False where none does."""
        best, move = float(self._imbalance(0, *self._sums(0), self.size)) - 1e-12, None
        for cell, pool in enumerate(self._pools):
            outside = np.setdiff1d(np.arange(len(pool)), self.chosen[cell])
            for leaving, joining, after in self._score_swaps(cell, outside):
                if after < best:
                    best, move = after, (cell, leaving, int(outside[joining]))
        if move is None:
            return False
        cell, leaving_at, joining_row = move
        self.chosen[cell] = sorted([*np.delete(self.chosen[cell], leaving_at).tolist(), joining_row])
        return True

    def drop(self) -> None:
        """Drop one patient from each cell in turn, each time the one without whom imbalance is least."""
        for cell, pool in enumerate(self._pools):
            sums, squares = self._sums(cell)
            inside = pool[self.chosen[cell]]
            after = self._imbalance(cell, sums - inside, squares - inside**2, self.size_of(cell) - 1)
            del self.chosen[cell][int(after.argmin())]

    def size_of(self, cell: int) -> int:
        """Patients of one cell, which differ only while `drop` is under way."""
        return len(self.chosen[cell])

    def _sums(self, cell: int) -> tuple[Sums, Sums]:
        inside = self._pools[cell][self.chosen[cell]]
        return inside.sum(axis=0), (inside**2).sum(axis=0)

    def _score_swaps(self, cell: int, outside: NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
        """Yield the best swap of each block of a cell: places in `chosen` and in `outside`, and the imbalance after it.

        A swap changes the SMDs of a covariate by that covariate's two values alone, of which there are few: ages in
        years, sexes, numbers of notes. So each pair of values is computed once, and patients with equal covariates are
        one.
        """
        pool, inside = self._pools[cell], np.array(self.chosen[cell])
        # `chosen` is sorted, so that rows which are kept come first.
        held = bisect_left(self.chosen[cell], self._kept[cell])
        _, leaving = np.unique(self._kinds[cell][inside[held:]], return_index=True)
        leaving += held
        _, joining = np.unique(self._kinds[cell][outside], return_index=True)
        # In the order of rows, so that a tie goes to the first.
        leaving, joining = np.sort(leaving), np.sort(joining)
        sums, squares = self._sums(cell)
        tables = []
        for k in range(pool.shape[1]):
            out_values, out_place = np.unique(pool[inside[leaving], k], return_inverse=True)
            in_values, in_place = np.unique(pool[outside[joining], k], return_inverse=True)
            gained = in_values[None] - out_values[:, None]
            gained_squares = (in_values**2)[None] - (out_values**2)[:, None]
            tables.append(
                (self._imbalance_of(k, cell, sums[k] + gained, squares[k] + gained_squares), out_place, in_place)
            )
        step = max(1, _CHUNK_CELLS // max(1, len(joining)))
        for start in range(0, len(leaving) if len(joining) else 0, step):
            block = slice(start, start + step)
            after = np.zeros((len(leaving[block]), len(joining)))
            for table, out_place, in_place in tables:
                after += table[out_place[block]][:, in_place]
            row, column = np.unravel_index(int(after.argmin()), after.shape)
            yield int(leaving[start + row]), int(joining[column]), float(after[row, column])

    def _imbalance(self, cell: int, sums: Sums, squares: Sums, size: int) -> Sums:
        """Return the sum of fourth powers of the nine SMDs, a smooth proxy of the largest: `(...)`.

        `cell` is taken to have the given `sums` and `squares`, `(..., covariates)`; the other cells stay as they are.
        """
        total: Sums = np.zeros(sums.shape[:-1])
        for k in range(sums.shape[-1]):
            total = total + self._imbalance_of(k, cell, sums[..., k], squares[..., k], size=size)
        return total

    def _imbalance_of(self, k: int, cell: int, sums: Sums, squares: Sums, *, size: int | None = None) -> Sums:
        """Return one covariate's part of the imbalance, `(...)`; `cell` keeps its size unless `size` is given."""
        moments = []
        for other in range(len(self._pools)):
            other_sums, other_squares = self._sums(other)
            moments.append(_moments(other_sums[k], other_squares[k], self.size_of(other)))
        moments[cell] = _moments(sums, squares, self.size_of(cell) if size is None else size)
        total: Sums = np.zeros(np.shape(sums))
        for _, (first, second) in _contrasts(moments):
            difference = moments[first][0] - moments[second][0]
            spread = np.sqrt((moments[first][1] + moments[second][1]) / 2)
            # Without variance the SMD of a difference is undefined: 10 is worse than any defined one.
            undefined = np.where(np.abs(difference) > 1e-9, 10.0, 0.0)
            smd = np.divide(difference, spread, out=undefined, where=spread > 1e-9)
            total = total + smd**4
        return total


def _moments(sums: Sums, squares: Sums, size: int) -> tuple[Sums, Sums]:
    """Return means and sample variances from sums, sums of squares and the number of values."""
    means = sums / size
    return means, np.maximum(squares - size * means**2, 0) / max(size - 1, 1)
