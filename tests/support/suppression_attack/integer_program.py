"""Other worlds that a reader cannot tell from one: an integer program over counts, their laws and what is published.

Owns the program. Knows nothing of which counts there are or how anything is published.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack, vstack
from support.results.random_worlds import Law, World

#: Seconds that a program may take: a limit on its search for a better world, once it has one.
_SECONDS = 20.0
#: What `milp` gives where there is no solution.
_INFEASIBLE = 2
#: No count moves further: with none, a program may have no least goal.
_FURTHEST = 1e6
_EXACT, _NEARLY = 1e-7, 1e-5

Numbers = NDArray[np.float64]


class OutOfTimeError(Exception):
    """Neither a world nor a proof that there is none was found in time."""


class Choice(NamedTuple):
    """Counts of which one row of numbers is to be taken: `(rows, names)`."""

    names: Sequence[str]
    rows: NDArray[np.int64]


class IntegerProgram:
    """All worlds of one shape that keep some laws, as a matrix over the counts' changes from one world."""

    def __init__(self, world: World, laws: Sequence[Law]) -> None:
        self._world = world
        self.names = list(world.counts)
        self._column = {name: i for i, name in enumerate(self.names)}
        self.truth = np.array([world.counts[name] for name in self.names], dtype=float)
        self._matrix = self.tabulate([law.sum for law in laws])
        start = self._matrix @ self.truth
        self._low = np.array([law.low for law in laws], dtype=float) - start
        self._high = np.array([law.high for law in laws], dtype=float) - start

    def broken_laws(self) -> list[int]:
        """Return the places of the laws that the world itself does not keep: a mistake in them."""
        return np.flatnonzero((self._low > _NEARLY) | (self._high < -_NEARLY)).tolist()

    def tabulate(self, sums: Sequence[Mapping[str, float]]) -> csr_array:
        """Return the matrix that makes these sums of counts."""
        entries = [
            (factor, row, self._column[name])
            for row, sum_ in enumerate(sums)
            for name, factor in sum_.items()
            if factor
        ]
        data, rows, columns = zip(*entries, strict=True)
        return csr_array((data, (rows, columns)), shape=(len(sums), len(self.names)), dtype=float)

    def solve(
        self,
        goal: Numbers,
        *,
        reach: Numbers | float = np.inf,
        besides: Sequence[Law] = (),
        choices: Sequence[Choice] = (),
        cost: Numbers | None = None,
    ) -> Numbers | None:
        """Return the changes of least goal in which no count moves further than its reach; None where there are none.

        `besides` are further laws for this once, and of each of the choices one row is taken. `cost` is what
        each step of a count adds to the goal, up or down. Raises `OutOfTimeError`.
        """
        most = np.minimum(np.broadcast_to(reach, self.truth.shape), _FURTHEST)
        rows = [(self._matrix, self._low, self._high)]
        if besides:
            matrix = self.tabulate([law.sum for law in besides])
            start = matrix @ self.truth
            low, high = np.array([law.low for law in besides]), np.array([law.high for law in besides])
            rows.append((matrix, low - start, high - start))
        options = sum(len(choice.rows) for choice in choices)
        matrix, low, high = (
            vstack([csr_array(hstack([own, csr_array((own.shape[0], options))])) for own, _, _ in rows], format="csr"),
            np.concatenate([own for _, own, _ in rows]),
            np.concatenate([own for _, _, own in rows]),
        )
        constraints = [LinearConstraint(matrix, low - _EXACT, high + _EXACT)]
        if choices:
            chosen, values = self._tabulate_choices(choices, options)
            constraints.append(LinearConstraint(chosen, values, values))
        down = np.minimum(self.truth, most)
        ends = Bounds(np.concatenate([-down, np.zeros(options)]), np.concatenate([most, np.ones(options)]))
        weights = np.concatenate([goal, np.zeros(options)])
        if cost is not None:
            # A count's change is that upwards less that downwards, which stand behind all others.
            constraints = [
                LinearConstraint(hstack([rows_.A, -rows_.A[:, : len(goal)]], format="csr"), rows_.lb, rows_.ub)
                for rows_ in constraints
            ]
            ends = Bounds(np.zeros(2 * len(goal) + options), np.concatenate([ends.ub, down]))
            weights = np.concatenate([goal + cost, np.zeros(options), cost - goal])
        solution = milp(
            weights,
            integrality=np.ones(len(weights)),
            bounds=ends,
            constraints=constraints,
            options={"time_limit": _SECONDS, "mip_rel_gap": 0.2},
        )
        if solution.x is None:
            if solution.status == _INFEASIBLE:
                return None
            raise OutOfTimeError
        moved: Numbers = np.round(solution.x[: len(goal)])
        if cost is not None:
            moved -= np.round(solution.x[-len(goal) :])
        inside = self._matrix @ moved
        if (inside < self._low - _NEARLY).any() or (inside > self._high + _NEARLY).any():
            raise OutOfTimeError
        return moved

    def _tabulate_choices(self, choices: Sequence[Choice], options: int) -> tuple[csr_array, Numbers]:
        """Return the equations that give the chosen counts the numbers of one row, and their right sides."""
        entries: list[tuple[float, int, int]] = []
        values: list[float] = []
        first = len(self.names)
        for choice in choices:
            columns = range(first, first + len(choice.rows))
            entries += [(1.0, len(values), column) for column in columns]
            values.append(1.0)
            for place, name in enumerate(choice.names):
                entries.append((1.0, len(values), self._column[name]))
                entries += [(-float(row[place]), len(values), c) for c, row in zip(columns, choice.rows, strict=True)]
                values.append(-float(self.truth[self._column[name]]))
            first += len(choice.rows)
        data, rows, columns_ = zip(*entries, strict=True)
        shape = (len(values), len(self.names) + options)
        return csr_array((data, (rows, columns_)), shape=shape, dtype=float), np.array(values)

    def world_with(self, moved: Numbers) -> World:
        """Return the world that the changes lead to."""
        return self._world.moved({self.names[i]: int(moved[i]) for i in np.flatnonzero(moved)})
