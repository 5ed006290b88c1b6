"""Matched sets, one patient of each of the four cells, and their balance (docs/methods.md, section 4).

Owns the pairs across arms and within them, 1:1 by propensity, without replacement (psmpy, as in the paper); the swaps
and drops that improve the balance of covariates between cells (SMD); and the last matching within that choice.
Propensity (Rosenbaum and Rubin 1983) is P(first of two groups). Cells are in the order of `CELLS`.
"""

import contextlib
import io
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

#: `(patients, covariates)` of one group.
Covariates = NDArray[np.float64]
#: How alike groups are.
Flag = Literal["balanced", "imbalanced", "poorly_matched"]
#: Flags, best first.
FLAGS: Final[tuple[Flag, ...]] = ("balanced", "imbalanced", "poorly_matched")
#: |SMD| above which a covariate is flagged, and above which the cohort's rules are inconclusive (docs/methods.md,
#: section 4).
FLAGGED_SMD = 0.1
POOR_SMD = 0.25
#: Least share of the patients first matched that is kept when patients are dropped to get under each limit [choice].
#: A fifth of the patients is a fair price for a cohort without a flag, half of them for one whose rules can be decided
#: (docs/decisions.md, "Balance is restored after matching").
_KEPT_FOR_FLAGGED = 0.8
_KEPT_FOR_POOR = 0.5
#: Patients of one sex in a cell up to whom balance is judged by numbers.
FEW: Final = 10
#: Sums, means or variances, of any shape.
Numbers = NDArray[np.float64]
#: Arm of each cell, and whether its patients have the diagnosis.
CELLS: Final = (("train", True), ("train", False), ("nontrain", True), ("nontrain", False))
#: Column of the candidates, by covariate.
COVARIATES: Final = {"age": "age", "sex": "female", "notes": "notes"}
_SEX: Final = list(COVARIATES).index("sex")
#: Groups of a cohort that are compared (the paper's Table 4), by the places of their cells.
CONTRASTS: Final = {
    "with: train against nontrain": (0, 2),
    "train: with against without": (0, 1),
    "nontrain: with against without": (2, 3),
}
Cell = TypeVar("Cell")


def tabulate_covariates(patients: pl.DataFrame) -> Covariates:
    """Return age in years, 1 for female, number of notes: `(patients, 3)`."""
    return patients.select(pl.col(*COVARIATES.values()).cast(pl.Float64)).to_numpy(order="c")


def contrast(cells: Sequence[Cell]) -> dict[str, tuple[Cell, Cell]]:
    """Return the pairs of cells that are compared: of two cells, those trained on, only theirs."""
    return {name: (cells[one], cells[of]) for name, (one, of) in CONTRASTS.items() if max(one, of) < len(cells)}


def standardized_mean_difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return (mean1 - mean0) / sqrt((s1² + s0²) / 2), sample variances; 0/0 is 0, anything else over 0 None."""
    difference = float(first.mean() - second.mean())
    # One patient has no sample variance: it counts as 0.
    spread = sum(float(values.var(ddof=1)) if values.size > 1 else 0.0 for values in (first, second))
    if spread > 0:
        return difference / float(np.sqrt(spread / 2))
    return 0.0 if difference == 0 else None


def _compare(cells: Sequence[Covariates]) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64], float]]:
    """Yield of each contrast each covariate's place, values and |SMD|, which is infinite where undefined."""
    for first, second in contrast(cells).values():
        for k in range(len(COVARIATES)):
            smd = standardized_mean_difference(first[:, k], second[:, k])
            yield k, first[:, k], second[:, k], float("inf") if smd is None else abs(smd)


def flag_cells(cells: Sequence[Covariates]) -> Flag:
    """Return the worst flag of any covariate in any contrast.

    Where 1 to 10 patients of one sex are in some cell, that of sex follows from numbers: an SMD would tell how many.
    """
    by_numbers = 0 < count_rarer_sex(cells) <= FEW
    flags = [
        _flag_few(first, second) if by_numbers and k == _SEX else _flag_smd(smd)
        for k, first, second, smd in _compare(cells)
    ]
    return max(flags, key=FLAGS.index)


def _flag_smd(smd: float) -> Flag:
    return "poorly_matched" if smd > POOR_SMD else "imbalanced" if smd > FLAGGED_SMD else "balanced"


def count_rarer_sex(cells: Sequence[Covariates]) -> int:
    """Return the fewest patients of one sex in any cell, cells without them left out; 0 of empty cells."""
    women = [(int(cell[:, _SEX].sum()), len(cell)) for cell in cells]
    return min((count for inside, size in women for count in (inside, size - inside) if count), default=0)


def _flag_few(first: NDArray[np.float64], second: NDArray[np.float64]) -> Flag:
    """Return the flag of sex where there are few of one: by the difference in numbers, not by the SMD [choice].

    Poorly matched are cells that differ by more than a quarter of their patients, or by more than ten; by up to five
    only where that is more than half. So in cells of ten or more the flag leaves at least five values for 1 to 10.
    """
    size = len(first)
    allowed = min(FEW, max(size // 4, min(FEW // 2, size // 2)))
    return "poorly_matched" if abs(float(first.sum() - second.sum())) > allowed else "balanced"


def improve_balance(
    pools: Sequence[Covariates], chosen: Sequence[Sequence[int]], *, kept: Sequence[int]
) -> list[list[int]]:
    """Return a better balanced choice by greedy swaps: for each cell sorted rows of its pool, equally many a cell.

    `pools` are the covariates of each cell's candidates, `chosen` the rows of them that the matcher chose. Of each
    cell the first `kept` rows of the pool are never swapped for others.

    With few candidates a covariate often stays imbalanced by chance. While one is flagged, the best swap of a chosen
    for an unchosen patient of the same cell is made. Where no swap helps, one patient is dropped from each cell, until
    80% are left, or half while a covariate is poorly matched. The goal is that of cardinality matching (Zubizarreta,
    Paredes and Rosenbaum 2014), the largest groups within a tolerance of balance. No outcome is used, so that no result
    is biased by it. Deterministic; a tie goes to the first row.
    """
    # Centred on the overall mean, so that variances from sums of squares lose no digits.
    middle = np.concatenate(pools).mean(axis=0)
    pools = [pool - middle for pool in pools]
    choice = [sorted(rows) for rows in chosen]
    begin = len(choice[0])
    while (largest := max(smd for *_, smd in _compare(_take(pools, choice)))) > FLAGGED_SMD:
        swapped = swap_best(pools, choice, kept=kept)
        if swapped is None:
            floor = (_KEPT_FOR_POOR if largest > POOR_SMD else _KEPT_FOR_FLAGGED) * begin
            if len(choice[0]) - 1 < max(floor, 2):
                break
            swapped = _drop_one_each(pools, choice)
        choice = swapped
    return choice


def _take(pools: Sequence[Covariates], choice: Sequence[Sequence[int]]) -> list[Covariates]:
    return [pool[rows] for pool, rows in zip(pools, choice, strict=True)]


def swap_best(
    pools: Sequence[Covariates], choice: Sequence[list[int]], *, kept: Sequence[int]
) -> list[list[int]] | None:
    """Return the choice, of sorted rows, after the swap that reduces imbalance most; None where none does."""
    cells = _take(pools, choice)
    best, swapped = float(_imbalance(cells)) - 1e-12, None
    for cell, (pool, rows) in enumerate(zip(pools, choice, strict=True)):
        # Rows are sorted, so that those which are kept come first.
        leaving = _first_of_equal(pool, np.array(rows[bisect_left(rows, kept[cell]) :], dtype=np.int64))
        joining = _first_of_equal(pool, np.setdiff1d(np.arange(len(pool)), rows))
        if not leaving.size or not joining.size:
            continue
        after = np.zeros((len(leaving), len(joining)))
        for k in range(len(COVARIATES)):
            # A swap changes a covariate's SMDs by its two values alone, of which there are few: ages in years, sexes,
            # numbers of notes. Each pair of values is computed once, which takes a tenth of the time.
            out, out_place = np.unique(pool[leaving, k], return_inverse=True)
            into, in_place = np.unique(pool[joining, k], return_inverse=True)
            gain, gain_of_squares = (of[:, None] - was[:, None, None] for of, was in ((into, out), (into**2, out**2)))
            after += _imbalance(cells, cell, gain, gain_of_squares, covariates=[k])[out_place][:, in_place]
        left, joined = np.unravel_index(int(after.argmin()), after.shape)
        if after[left, joined] < best:
            best, swapped = float(after[left, joined]), list(choice)
            swapped[cell] = sorted({*rows, int(joining[joined])} - {int(leaving[left])})
    return swapped


def _first_of_equal(pool: Covariates, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each set of equal covariates, in the order of rows: a tie then goes to the first."""
    return rows[np.sort(np.unique(pool[rows], axis=0, return_index=True)[1])]


def _drop_one_each(pools: Sequence[Covariates], choice: Sequence[Sequence[int]]) -> list[list[int]]:
    """Drop from each cell in turn the patient without whom imbalance is least."""
    left = [list(rows) for rows in choice]
    for cell in range(len(pools)):
        cells = _take(pools, left)
        after = _imbalance(cells, cell, -cells[cell], -(cells[cell] ** 2), fewer=1)
        del left[cell][int(after.argmin())]
    return left


def _imbalance(
    cells: Sequence[Covariates],
    cell: int = 0,
    gain: Numbers | int = 0,
    gain_of_squares: Numbers | int = 0,
    *,
    fewer: int = 0,
    covariates: Sequence[int] = (0, 1, 2),
) -> Numbers:
    """Return the sum over contrasts and some covariates of SMD⁴, a smooth proxy of the largest |SMD|.

    It is that with one cell's sums and sums of squares changed by a gain, `(..., covariates)`, and so many `fewer`
    patients: `(...)`.
    """
    moments = []
    for place, inside in enumerate(cells):
        sums, squares = (of.sum(axis=0)[list(covariates)] for of in (inside, inside**2))
        size = len(inside)
        if place == cell:
            sums, squares, size = sums + gain, squares + gain_of_squares, size - fewer
        means = sums / size
        moments.append((means, np.maximum(squares - size * means**2, 0) / max(size - 1, 1)))
    total = np.zeros(())
    for (mean, variance), (other_mean, other_variance) in contrast(moments).values():
        difference = mean - other_mean
        spread = np.sqrt((variance + other_variance) / 2)
        # Without variance the SMD of a difference is undefined: 10 is worse than any defined one.
        undefined = np.where(np.abs(difference) > 1e-9, 10.0, 0.0)
        total = total + np.divide(difference, spread, out=undefined, where=spread > 1e-9) ** 4
    return np.asarray(total.sum(axis=-1))


#: Groups are sampled at random (seeded) down to these multiples of the patients asked for: psmpy's time grows with the
#: square of the smaller group, and 27,000 controls took 103 s.
_POSITIVES_PER_ASKED: Final = 2
_CONTROLS_PER_ASKED: Final = 20


class MatchedSets(NamedTuple):
    """Matched sets: of each the rows of its patients, one of each cell in the order of `CELLS`."""

    #: `(sets, cells)`.
    rows: NDArray[np.int64]
    #: Likewise: each patient's propensity of the diagnosis, within its arm.
    propensities: NDArray[np.float64]


def choose_sets(cells: Sequence[Covariates], sets: int, *, preferred: Sequence[int]) -> MatchedSets:
    """Match train positives to nontrain positives, then each of them to a negative of its arm; so many `sets` at most.

    Of two cells, where nobody is outside the training data, train positives are matched to train negatives. `cells` are
    the covariates of all candidates, at least one row each, in random order. In cell i the first `preferred[i]` rows
    are matched with one another as far as they go, and the others used only where they are too few for all possible
    sets. Swaps and drops for balance follow the matching.
    """
    most = min(sets, *map(len, cells))
    pools = [len(cell) if few < most else few for cell, few in zip(cells, preferred, strict=True)]
    # Of the two of positives, the smaller one is cut to fewer.
    few, many = _POSITIVES_PER_ASKED * sets, _CONTROLS_PER_ASKED * sets
    limits = (few, many, many, many) if pools[0] <= pools[-2] else (many, many, few, many)
    pools = [min(size, limit) for size, limit in zip(pools, limits, strict=False)]
    # A row of a smaller group is never left over. So where preferred rows are too few, just enough others stand beside.
    first = [most if 0 < few < most else pool for few, pool in zip(preferred, pools, strict=True)]
    # In random order: taking the first sets favours no patient.
    rows = _match_cells([cell[:size] for cell, size in zip(cells, first, strict=True)]).rows
    chosen = improve_balance(
        [cell[:size] for cell, size in zip(cells, pools, strict=True)],
        rows[:sets].T.tolist(),
        kept=[few if few < most else 0 for few in preferred],
    )
    # Matched once more within the choice: this changes the pairs, but not the balance. `of_preferred`: how many sets
    # can be made of preferred rows alone; they are matched among themselves.
    of_preferred = min(bisect_left(own, few) for own, few in zip(chosen, preferred, strict=True))
    found = []
    for block in ([own[:of_preferred] for own in chosen], [own[of_preferred:] for own in chosen]):
        if block[0]:
            places, propensities = _match_cells([cell[own] for cell, own in zip(cells, block, strict=True)])
            found.append((np.take_along_axis(np.array(block).T, places, axis=0), propensities))
    return MatchedSets(*map(np.concatenate, zip(*found, strict=True)))


def _match_cells(cells: Sequence[Covariates]) -> MatchedSets:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The nontrain arm is matched for the sets that the train arm leaves. Sets are in the order of their train positives.
    """
    if len(cells) == 2:
        return match_pairs(*cells)
    train_positive, train_negative, nontrain_positive, nontrain_negative = cells
    across = match_pairs(train_positive, nontrain_positive).rows
    train = match_pairs(train_positive[across[:, 0]], train_negative)
    across = across[train.rows[:, 0]]
    nontrain = match_pairs(nontrain_positive[across[:, 1]], nontrain_negative)
    kept = nontrain.rows[:, 0]
    ends = [across[kept, 0], train.rows[kept, 1], across[kept, 1], nontrain.rows[:, 1]]
    return MatchedSets(np.column_stack(ends), np.hstack([train.propensities[kept], nontrain.propensities]))


def match_pairs(first: Covariates, second: Covariates) -> MatchedSets:
    """Match rows of `first` to rows of `second`, each at most once; `(rows, covariates)` each, at least one row each.

    Return the pairs in the order of `first`, with each row's propensity of being in it. psmpy (Kline and Luo 2022):
    logistic propensity of z-scored covariates, then a KD-tree on its logit. Every row of the smaller group gets a
    partner. Where scores tie, the pairs depend on the order of rows.
    """
    import pandas as pd

    count = len(first)
    if count == len(second) == 1:
        # psmpy fails on a single pair.
        return MatchedSets(np.zeros((1, 2), dtype=np.int64), np.full((1, 2), 0.5))
    both = np.vstack([first, second])
    # z-scores, since the model penalizes coefficients (L2), which depend on a covariate's unit. A constant stays 0.
    spread = both.std(axis=0)
    both = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1)
    frame = pd.DataFrame(both, columns=[f"x{i}" for i in range(both.shape[1])])
    frame["row"] = np.arange(len(frame))
    frame["first"] = (frame["row"] < count).astype(int)
    # psmpy pulls in scikit-learn, matplotlib and seaborn, and is imported here alone. It warns on import and on
    # unmatched rows, and prints: our users need neither.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        import matplotlib

        matplotlib.use("Agg")
        from psmpy import PsmPy

        psm = PsmPy(frame, treatment="first", indx="row", exclude=[])
        # balance=True crashes on small or equal groups and depends on the order of rows.
        psm.logistic_ps(balance=False)
        scores = psm.predicted_data.set_index("row").sort_index()
        psm.kdtree_matched(matcher="propensity_logit", replacement=False)
    found = psm.matched_ids[["row", "matched_ID"]].to_numpy(dtype=np.int64)
    found.sort(axis=1)
    found = found[found[:, 0].argsort()]
    return MatchedSets(found - [0, count], scores["propensity_score"].to_numpy(dtype=np.float64)[found])
