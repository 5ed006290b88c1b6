"""Matched sets, one patient of each of the four cells: 1:1 by propensity, without replacement (psmpy, as in the paper).

Owns the pairs across arms and within them, the refined choice, and the last matching within it (docs/methods.md,
section 4). Rows in, rows out. Propensity (Rosenbaum and Rubin 1983) is P(first of two groups). psmpy pulls in
scikit-learn, matplotlib and seaborn, and is imported where it is used.
"""

import contextlib
import io
import warnings
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.cohorts.balance import Covariates, improve_balance

#: Groups are sampled at random (seeded) down to these multiples of the patients asked for: psmpy's time grows with the
#: square of the smaller group, and 27,000 controls took 103 s.
_POSITIVES_PER_ASKED: Final = 2
_CONTROLS_PER_ASKED: Final = 20


class MatchedSets(NamedTuple):
    """Matched sets: of each the rows of its patients, one of each cell in the order of `balance.CELLS`."""

    #: `(sets, cells)`.
    rows: NDArray[np.int64]
    #: Likewise: each patient's propensity of the diagnosis, within its arm.
    propensities: NDArray[np.float64]


def choose_sets(cells: Sequence[Covariates], sets: int, *, refined: bool, preferred: Sequence[int]) -> MatchedSets:
    """Match train positives to nontrain positives, then each of them to a negative of its arm; so many `sets` at most.

    Of two cells, where nobody is outside the training data, train positives are matched to train negatives. `cells` are
    the covariates of all candidates, at least one row each, in random order. In cell i the first `preferred[i]` rows
    are preferred. The other rows are used only if these are too few for all possible sets; then the preferred ones are
    all in play too. Preferred rows are matched with one another as far as they go. `refined`: swaps and drops for
    balance follow the matching.
    """
    most = min(sets, *map(len, cells))
    pools = [len(cell) if few < most else few for cell, few in zip(cells, preferred, strict=True)]
    pools = _limit_pools(pools, sets)
    # A row of a smaller group is never left over. So where preferred rows are too few, just enough others stand beside.
    first = [most if 0 < few < most else pool for few, pool in zip(preferred, pools, strict=True)]
    # Rows are in random order, so that taking the first sets favours no patient.
    rows, propensities = _match_cells([cell[:size] for cell, size in zip(cells, first, strict=True)])
    if not refined:
        return MatchedSets(rows[:sets], propensities[:sets])
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


def _limit_pools(pools: Sequence[int], asked: int) -> list[int]:
    """Cut the size of each pool to what matching needs; of the two of positives, the smaller one to fewer."""
    few, many = _POSITIVES_PER_ASKED * asked, _CONTROLS_PER_ASKED * asked
    train, nontrain = (few, many) if pools[0] <= pools[-2] else (many, few)
    return [min(size, limit) for size, limit in zip(pools, (train, many, nontrain, many), strict=False)]


def _match_cells(cells: Sequence[Covariates]) -> MatchedSets:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The train arm is matched first. The nontrain arm is matched for the sets that remain, so that both arms lose the
    same ones. Sets come in the order of their train positives' rows.
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
    logistic propensity of z-scored covariates, then a KD-tree on its logit. Every row of the smaller group, whichever
    it is, gets a partner. Where scores tie, the pairs depend on the order of rows: give a fixed order.
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
    # psmpy warns on import and on unmatched rows, and prints: our users need neither.
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
