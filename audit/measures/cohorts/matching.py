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
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.measures.cohorts.balance import Covariates, improve_balance

#: Groups are sampled at random (seeded) down to these multiples of the patients asked for: psmpy's time grows with the
#: square of the smaller group, and 27,000 controls took 103 s.
_POSITIVES_PER_ASKED: Final = 2
_CONTROLS_PER_ASKED: Final = 20


class MatchedSet(NamedTuple):
    """One row of each cell, in the order that `balance.CONTRASTS` numbers them by, and their propensities."""

    rows: tuple[int, ...]
    propensities: tuple[float, ...]


def choose_sets(cells: Sequence[Covariates], sets: int, *, refined: bool, preferred: Sequence[int]) -> list[MatchedSet]:
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
    matched = _match_cells([cell[:size] for cell, size in zip(cells, first, strict=True)])[:sets]
    if not refined:
        return matched
    chosen = improve_balance(
        [cell[:size] for cell, size in zip(cells, pools, strict=True)],
        [[one.rows[cell] for one in matched] for cell in range(len(cells))],
        kept=[few if few < most else 0 for few in preferred],
    )
    # Matched once more within the choice: this changes the pairs, but not the balance. `of_preferred`: how many sets
    # can be made of preferred rows alone; they are matched among themselves.
    of_preferred = min(bisect_left(rows, few) for rows, few in zip(chosen, preferred, strict=True))
    blocks = [[rows[:of_preferred] for rows in chosen], [rows[of_preferred:] for rows in chosen]]
    return [
        MatchedSet(tuple(rows[place] for rows, place in zip(block, places, strict=True)), propensities)
        for block in blocks
        if block[0]
        for places, propensities in _match_cells([cell[rows] for cell, rows in zip(cells, block, strict=True)])
    ]


def _limit_pools(pools: Sequence[int], asked: int) -> list[int]:
    """Cut the size of each pool to what matching needs; of the two of positives, the smaller one to fewer."""
    few, many = _POSITIVES_PER_ASKED * asked, _CONTROLS_PER_ASKED * asked
    train, nontrain = (few, many) if pools[0] <= pools[-2] else (many, few)
    return [min(size, limit) for size, limit in zip(pools, (train, many, nontrain, many), strict=False)]


def _match_cells(cells: Sequence[Covariates]) -> list[MatchedSet]:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The train arm is matched first. The nontrain arm is matched for the sets that remain, so that both arms lose the
    same ones. Sets come in the order of their train positives' rows.
    """
    if len(cells) == 2:
        found = match_pairs(*cells)
        return [MatchedSet(pair, found.propensities_of(pair)) for pair in found.pairs]
    train_positive, train_negative, nontrain_positive, nontrain_negative = cells
    across = match_pairs(train_positive, nontrain_positive).pairs
    train = match_pairs(train_positive[[row for row, _ in across]], train_negative)
    across = tuple(across[place] for place, _ in train.pairs)
    nontrain = match_pairs(nontrain_positive[[row for _, row in across]], nontrain_negative)
    sets = []
    for nontrain_pair in nontrain.pairs:
        train_row, nontrain_row = across[nontrain_pair[0]]
        train_pair = train.pairs[nontrain_pair[0]]
        rows = (train_row, train_pair[1], nontrain_row, nontrain_pair[1])
        sets.append(MatchedSet(rows, train.propensities_of(train_pair) + nontrain.propensities_of(nontrain_pair)))
    return sets


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """Pairs (row of the first group, row of the second), and each row's propensity of being in the first group."""

    pairs: tuple[tuple[int, int], ...]
    first_propensity: NDArray[np.float64]
    second_propensity: NDArray[np.float64]

    def propensities_of(self, pair: tuple[int, int]) -> tuple[float, float]:
        """Return the propensities of a pair's two rows."""
        return float(self.first_propensity[pair[0]]), float(self.second_propensity[pair[1]])


def match_pairs(first: Covariates, second: Covariates) -> MatchedPairs:
    """Match rows of `first` to rows of `second`, each at most once; `(rows, covariates)` each, at least one row each.

    psmpy (Kline and Luo 2022): logistic propensity of z-scored covariates, then a KD-tree on its logit. Every row of
    the smaller group, whichever it is, gets a partner. Where scores tie, the pairs depend on the order of rows: give a
    fixed order.
    """
    import pandas as pd

    count = len(first)
    if count == len(second) == 1:
        # psmpy fails on a single pair.
        return MatchedPairs(((0, 0),), np.array([0.5]), np.array([0.5]))
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
    pairs = []
    for one, other in zip(psm.matched_ids["row"], psm.matched_ids["matched_ID"], strict=True):
        low, high = sorted((int(one), int(other)))
        pairs.append((low, high - count))
    propensity = scores["propensity_score"].to_numpy(dtype=np.float64)
    return MatchedPairs(tuple(sorted(pairs)), propensity[:count], propensity[count:])
