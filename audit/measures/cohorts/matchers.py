"""Cohort matching of two groups, 1:1 without replacement: by propensity (psmpy, as in the paper), or optimal.

Optimal matching (Rosenbaum 1989) is the exact assignment of least total squared distance, in bounded memory: a dual
certificate says which controls need not be candidates. Matched sets, one patient of each of the four cells, come from
pairs across arms and within them, the refined choice, and the last matching within it (docs/methods.md, section 4).
Rows in, rows out. psmpy pulls in scikit-learn, matplotlib and seaborn, and is imported where it is used.
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

from clinaudit.audit.measures.cohorts.balance import Covariates, fit_propensity, improve_balance, standardize
from clinaudit.audit.runtime.choices import Matcher

Points = NDArray[np.float64]
#: Up to so many controls a case every distance is computed: pruning would cost more than it saves.
_FEW_CONTROLS: Final = 4
#: Nearest controls of each case that are its first candidates, and the factor by which they grow until optimality is
#: proved.
_FIRST_LOOK: Final = 8
_GROWTH: Final = 3


def assign_optimally(cases: Points, controls: Points) -> NDArray[np.int64]:
    """Return the row of a control for each case, all different, of least total squared distance: `(cases,)`.

    `cases` and `controls` are `(rows, dimensions)` each. The full distance matrix of 1,000 cases and 27,000 controls
    takes 216 MB. Here the candidates are the nearest controls of each case alone.

    The result is optimal once each case has a candidate that stays unassigned (free), by linear programming duality.
    The assignment is optimal among the candidates. So there are dual values u of cases and v of controls, with v = 0
    for a free control, and u + v at most the distance of every pair. A case's u is then at most the distance to its
    free candidate, and so at most that to any control further away, whose v may be 0. Hence the same dual values prove
    the assignment optimal among all controls. A case without a free candidate gets more of them, at most as many as
    there are cases: in some optimal assignment it has one of these, since the other cases cannot take them all.

    Which of several optimal assignments is returned depends on the order of rows alone. Raises `ValueError` where there
    are fewer controls than cases.
    """
    from scipy.spatial import KDTree

    most = len(cases)
    if len(controls) < most:
        raise ValueError("there must be at least as many controls as cases")
    if len(controls) <= _FEW_CONTROLS * most:
        return _assign_among(np.arange(len(controls)), cases, controls)
    tree = KDTree(controls)
    looks = np.full(most, min(_FIRST_LOOK, most))
    while True:
        near = np.asarray(tree.query(cases, k=[*range(1, int(looks.max()) + 1)])[1])
        seen = np.arange(near.shape[1])[None, :] < looks[:, None]
        candidates = np.unique(near[seen])
        free = np.ones(len(controls), dtype=bool)
        if len(candidates) >= most:
            chosen = _assign_among(candidates, cases, controls)
            free[chosen] = False
            unproven = ~(free[near] & seen).any(axis=1) & (looks < most)
            if not unproven.any():
                return chosen
        else:
            # Too few candidates for all cases. With as many for each case as there are cases, they are enough.
            unproven = looks < most
        looks[unproven] = np.minimum(looks[unproven] * _GROWTH, most)


def _assign_among(candidates: NDArray[np.int64], cases: Points, controls: Points) -> NDArray[np.int64]:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    _, columns = linear_sum_assignment(cdist(cases, controls[candidates], "sqeuclidean"))
    chosen: NDArray[np.int64] = candidates[columns].astype(np.int64)
    return chosen


@dataclass(frozen=True, slots=True)
class MatchedPairs:
    """Pairs (row of the first group, row of the second), and each row's propensity of being in the first group."""

    pairs: tuple[tuple[int, int], ...]
    first_propensity: NDArray[np.float64]
    second_propensity: NDArray[np.float64]


def match_pairs(
    first: Covariates, second: Covariates, *, matcher: Matcher, caliper: float | None = None
) -> MatchedPairs:
    """Match rows of `first` to rows of `second`, each at most once; `(rows, covariates)` each, at least one row each.

    Every row of the smaller group, whichever it is, gets a partner, unless a caliper is given: then no pair is farther
    apart than `caliper` standard deviations of the propensity's logit over both groups (Austin 2011). Where scores tie,
    the pairs depend on the order of rows: give a fixed order.
    """
    if len(first) == len(second) == 1:
        # psmpy fails on a single pair. There is nothing to choose, and no standard deviation to measure a caliper in:
        # a caliper keeps the pair only where the two rows are equal.
        if caliper is not None and not np.array_equal(first, second):
            return MatchedPairs((), np.array([0.5]), np.array([0.5]))
        return MatchedPairs(((0, 0),), np.array([0.5]), np.array([0.5]))
    scaled = standardize(first, second)
    if matcher == "psm":
        return _match_by_propensity(*scaled, caliper)
    return _match_optimally(*scaled, caliper)


def _match_by_propensity(first: Covariates, second: Covariates, caliper: float | None) -> MatchedPairs:
    """psmpy (Kline and Luo 2022): logistic propensity, then a KD-tree on its logit, smaller group to larger."""
    import pandas as pd

    count = len(first)
    frame = pd.DataFrame(np.vstack([first, second]), columns=[f"x{i}" for i in range(first.shape[1])])
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
        # No caliper by default: Austin's 0.2 SD of the logit lost a third of a demo cohort and still left |SMD| of
        # 0.39. `balance` restores balance afterwards; it lost a tenth and left at most 0.1.
        # psmpy takes the caliper as a distance on the logit.
        distance = None if caliper is None else caliper * float(scores["propensity_logit"].std())
        psm.kdtree_matched(matcher="propensity_logit", replacement=False, caliper=distance)
    pairs = []
    for one, other in zip(psm.matched_ids["row"], psm.matched_ids["matched_ID"], strict=True):
        low, high = sorted((int(one), int(other)))
        pairs.append((low, high - count))
    propensity = scores["propensity_score"].to_numpy(dtype=np.float64)
    return MatchedPairs(tuple(sorted(pairs)), propensity[:count], propensity[count:])


def _match_optimally(first: Covariates, second: Covariates, caliper: float | None) -> MatchedPairs:
    """Least total squared distance on z-scored covariates (Rosenbaum 1989); propensity by the same logistic model."""
    if len(first) <= len(second):
        pairs = [(row, int(column)) for row, column in enumerate(assign_optimally(first, second))]
    else:
        pairs = sorted((int(row), column) for column, row in enumerate(assign_optimally(second, first)))
    propensity = fit_propensity(first, second)
    if caliper is not None:
        # After the assignment: what remains is the optimal matching of these rows.
        logits = propensity.first_logit, propensity.second_logit
        distance = caliper * float(np.concatenate(logits).std(ddof=1))
        pairs = [pair for pair in pairs if abs(logits[0][pair[0]] - logits[1][pair[1]]) <= distance]
    return MatchedPairs(tuple(pairs), propensity.first, propensity.second)


#: For psmpy alone, groups are sampled at random (seeded) down to these multiples of the patients asked for: its time
#: grows with the square of the smaller group, and 27,000 controls took 103 s. The optimal matcher takes everyone.
_POSITIVES_PER_ASKED: Final = 2
_CONTROLS_PER_ASKED: Final = 20


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """How many sets are asked for at most, and how they are matched."""

    sets: int
    matcher: Matcher
    #: In SD of the propensity's logit; None: no caliper. With one, the choice is never refined.
    caliper: float | None = None
    #: Whether exchanges and drops for balance follow the matching, and some rows may be preferred.
    refined: bool = True


class MatchedSet(NamedTuple):
    """One row of each cell, in the order that `balance.CONTRASTS` numbers them by, and their propensities."""

    rows: tuple[int, ...]
    propensities: tuple[float, ...]


class MatchedSets(NamedTuple):
    """The sets, and how many had been found before some were left out for balance."""

    sets: list[MatchedSet]
    found: int


def choose_sets(cells: Sequence[Covariates], request: MatchRequest, *, preferred: Sequence[int] = ()) -> MatchedSets:
    """Match train positives to nontrain positives, then each of them to a negative of its arm.

    Of two cells, where nobody is outside the training data, train positives are matched to train negatives.
    `cells` are the covariates of all candidates, at least one row each, in random order. In cell i
    the first `preferred[i]` rows are preferred. The other rows are used only if these are too few for all possible
    sets; then the preferred ones are all in play too. Preferred rows are matched with one another as far as they go.
    """
    preferred = preferred or [0] * len(cells)
    most = min(request.sets, *map(len, cells))
    pools = [len(cell) if few < most else few for cell, few in zip(cells, preferred, strict=True)]
    if request.matcher == "psm":
        pools = _limit_pools(pools, request.sets)
    # A row of a smaller group is never left over. So where preferred rows are too few, just enough others stand beside.
    first = [most if 0 < few < most else pool for few, pool in zip(preferred, pools, strict=True)]
    # Rows are in random order, so that taking the first sets favours no patient.
    sets = _match_cells([cell[:size] for cell, size in zip(cells, first, strict=True)], request)[: request.sets]
    if not sets or request.caliper is not None or not request.refined:
        return MatchedSets(sets, len(sets))
    chosen = improve_balance(
        [cell[:size] for cell, size in zip(cells, pools, strict=True)],
        [[matched.rows[cell] for matched in sets] for cell in range(len(cells))],
        kept=[few if few < most else 0 for few in preferred],
    )
    # Matched once more within the selection: this changes the pairs, but not the balance. `of_preferred`: how many sets
    # can be made of preferred rows alone; they are matched among themselves.
    of_preferred = min(bisect_left(rows, few) for rows, few in zip(chosen, preferred, strict=True))
    blocks = [[rows[:of_preferred] for rows in chosen], [rows[of_preferred:] for rows in chosen]]
    return MatchedSets(
        [matched for block in blocks if block[0] for matched in _rematch(cells, block, request)], len(sets)
    )


def _limit_pools(pools: Sequence[int], asked: int) -> list[int]:
    """Cut the size of each pool to what matching needs; of the two of positives, the smaller one to fewer."""
    few, many = _POSITIVES_PER_ASKED * asked, _CONTROLS_PER_ASKED * asked
    train, nontrain = (few, many) if pools[0] <= pools[-2] else (many, few)
    return [min(size, limit) for size, limit in zip(pools, (train, many, nontrain, many), strict=False)]


def _rematch(cells: Sequence[Covariates], block: Sequence[Sequence[int]], request: MatchRequest) -> list[MatchedSet]:
    """Match some rows of each cell, equally many, among themselves."""
    sets = _match_cells([cell[list(rows)] for cell, rows in zip(cells, block, strict=True)], request)
    return [
        MatchedSet(tuple(cell[row] for cell, row in zip(block, rows, strict=True)), propensities)
        for rows, propensities in sets
    ]


def _match_cells(cells: Sequence[Covariates], request: MatchRequest) -> list[MatchedSet]:
    """Match positives across arms, then each arm's positives to its negatives; a set without a full match is dropped.

    The train arm is matched first. The nontrain arm is matched for the sets that remain, so that both arms lose the
    same ones. Sets come in the order of their train positives' rows.
    """
    matcher, caliper = request.matcher, request.caliper
    if len(cells) == 2:
        found = match_pairs(*cells, matcher=matcher, caliper=caliper)
        own = (found.first_propensity, found.second_propensity)
        return [MatchedSet(rows, (float(own[0][rows[0]]), float(own[1][rows[1]]))) for rows in found.pairs]
    train_positive, train_negative, nontrain_positive, nontrain_negative = cells
    across = match_pairs(train_positive, nontrain_positive, matcher=matcher, caliper=caliper).pairs
    if not across:
        return []
    train = match_pairs(train_positive[[row for row, _ in across]], train_negative, matcher=matcher, caliper=caliper)
    across = tuple(across[i] for i, _ in train.pairs)
    if not across:
        return []
    nontrain = match_pairs(
        nontrain_positive[[row for _, row in across]], nontrain_negative, matcher=matcher, caliper=caliper
    )
    sets = []
    for i, nontrain_control in nontrain.pairs:
        train_row, nontrain_row = across[i]
        train_index, train_control = train.pairs[i]
        sets.append(
            MatchedSet(
                (train_row, train_control, nontrain_row, nontrain_control),
                (
                    float(train.first_propensity[train_index]),
                    float(train.second_propensity[train_control]),
                    float(nontrain.first_propensity[i]),
                    float(nontrain.second_propensity[nontrain_control]),
                ),
            )
        )
    return sets
