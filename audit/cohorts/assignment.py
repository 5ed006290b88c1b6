"""Optimal assignment of a small group to a large one: least total squared distance, exactly, in bounded memory.

Owns which controls have to be looked at, and the proof that the others need not be. Knows nothing of patients or
covariates: points in, row numbers out (Rosenbaum 1989).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
#: Controls a case up to which every distance is computed: pruning would cost more than it spares.
_FEW_CONTROLS: Final = 4
#: Nearest controls of each case that are looked at first, and the factor by which they grow where that proves nothing.
_FIRST_LOOK: Final = 8
_GROWTH: Final = 3


def assign_optimally(cases: Points, controls: Points) -> NDArray[np.int64]:
    """Return a control for each case, all different, of least total squared distance; `(rows, dimensions)` each.

    Needs at least as many controls as cases. Every distance of 1,000 cases and 27,000 controls takes 216 MB; here the
    candidates are the nearest controls of each case alone. Nothing is lost once each case has a candidate that is left
    free. The assignment is best among the candidates, so there are dual values u of cases and v of controls, v = 0 for
    a free one, of which u + v is at most the distance of every pair. A case's u is then at most the distance to its
    free candidate, and so at most that to any control further away, whose v may be 0: the same dual values prove the
    assignment best among all. A case without a free candidate gets more of them, at most as many as there are cases:
    in some best assignment it has one of these, since the others cannot take them all.

    Which of several best assignments is returned depends on the order of rows alone.
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
            # Too few for all cases: looked at as far as each other's, they are enough at the latest.
            unproven = looks < most
        looks[unproven] = np.minimum(looks[unproven] * _GROWTH, most)


def _assign_among(candidates: NDArray[np.int64], cases: Points, controls: Points) -> NDArray[np.int64]:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    _, columns = linear_sum_assignment(cdist(cases, controls[candidates], "sqeuclidean"))
    chosen: NDArray[np.int64] = candidates[columns].astype(np.int64)
    return chosen
