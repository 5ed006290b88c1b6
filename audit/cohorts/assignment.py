"""Optimal matching of a small group to a large one: the exact assignment of least total squared distance.

Optimal matching is Rosenbaum's (1989). Memory stays bounded. Owns which controls are candidates, and the dual
certificate that the others need not be. Knows nothing of patients or covariates: points in, row numbers out.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

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
