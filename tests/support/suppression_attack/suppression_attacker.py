"""An attacker on the published results: by integer programming, which values may a hidden count still have?

The attacker holds everything that is published and knows the program: how every figure is computed, which counts are
hidden and by which rule others beside them. A value is feasible where some world with it publishes to the very same
results. Worlds are found in two steps: an integer program over what is linear (who is counted where; counts, shares and
bands that are shown) proposes one, as near as can be to the true one; then it is measured, suppressed and compared,
which tests what is not linear: areas under curves, means, tests, the rule of hiding. One that comes out otherwise is
refused and the next is asked for. What the program cannot satisfy is proven to leak; what is refused again and again
counts as leaking, too.

Knowing the true world only makes the search short: whatever is found is found without it as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from support.results.random_worlds import Law, World, laws
from support.results.world_results import measure
from support.suppression_attack.blamed_blocks import NOWHERE, SCOPES, Path, blame, is_blamed, leaves_of
from support.suppression_attack.published_counts import list_places
from support.suppression_attack.published_places import Place, clues, secrets

from clinaudit.reports.schema.results import Results

#: Values that a hidden count must still be able to have.
ENOUGH = 3
#: Proposals that may be refused, for each hidden count.
_PATIENCE = 6
#: Rounds in which all counts change at once, at most; and how many in a row may be of no use.
_NUDGES, _IDLE_NUDGES = 30, 3
_SECONDS = 1.0
#: What `milp` gives where there is no solution.
_INFEASIBLE = 2
#: Whole worlds asked for before hidden counts are asked for one by one, and how far their counts may move in turn.
_POOLED, _REACHES = 24, (6.0, 40.0, np.inf)
#: No count moves further: with none, a program may have no least goal.
_FURTHEST = 1e5


@dataclass(frozen=True)
class Leak:
    """A hidden count with fewer feasible values than it should have."""

    name: str
    value: int
    feasible: tuple[int, ...]
    #: Whether the linear part alone excludes all others.
    proven: bool


@dataclass
class _Secret:
    place: Place
    truth: int
    values: set[int]
    proposals: int = 0
    #: How far changes may reach: the counts nearest to it, or those beside them as well.
    scope: int = 0
    refused: set[int] = field(default_factory=set)

    @property
    def is_open(self) -> bool:
        return len(self.values) < ENOUGH and self.proposals < _PATIENCE and self.scope < len(SCOPES)


class Attacker:
    """One attack on one set of results."""

    def __init__(
        self, world: World, publish: Callable[[Results], Results], *, seed: int = 0, only: Sequence[str] = ("",)
    ) -> None:
        """Attack the counts whose names begin with one of `only`."""
        self._world = world
        self._publish = publish
        self._rng = np.random.default_rng(seed)
        original = measure(world)
        published = publish(original)
        self._leaves = leaves_of(published)
        places, shares = list_places(world)
        self._names = list(world.counts)
        self._column = {name: i for i, name in enumerate(self._names)}
        self._truth = np.array([world.counts[name] for name in self._names], dtype=float)
        self._is_sum = np.array([name.endswith("_sum") or "/sum/" in name for name in self._names])
        self._blocks = [np.array([block_of(name) for name in self._names]) for block_of in SCOPES]
        everything = [*laws(world), *clues(places, shares, published)]
        self._matrix, self._low, self._high = self._tabulate(everything)
        self._rows_of = self._matrix.tocsc()
        self._secrets = [
            _Secret(place, world.value(place.sum), {world.value(place.sum)})
            for place in secrets(places, world, original, published)
            if place.name.startswith(tuple(only))
        ]
        #: Places of hidden counts of which some program had no answer in time.
        self._out_of_time: set[int] = set()
        self.refusals = 0
        self.worlds = 0

    @property
    def secret_count(self) -> int:
        """How many counts are hidden."""
        return len(self._secrets)

    def find_leaks(self) -> list[Leak]:
        """Return the hidden counts with fewer than three feasible values."""
        idle = 0
        for _ in range(_NUDGES):
            before = sum(secret.is_open for secret in self._secrets)
            if before and idle < _IDLE_NUDGES:
                self._nudge()
                idle = idle + 1 if sum(secret.is_open for secret in self._secrets) > 0.98 * before else 0
        while waiting := [secret for secret in self._secrets if secret.is_open]:
            taken = np.zeros(len(self._names), dtype=bool)
            proposals = []
            for secret in waiting:
                free = np.isin(self._blocks[secret.scope], list(self._blocks_of(secret)))
                if not (taken & free).any():
                    taken |= free
                    changes = self._propose(secret, free)
                    if changes is not None:
                        proposals.append((secret, changes))
            self._try(proposals)
        return [
            Leak(secret.place.name, secret.truth, tuple(sorted(secret.values)), proven=False)
            for secret in self._secrets
            if len(secret.values) < ENOUGH
        ]

    def find_narrow(self) -> list[Leak]:
        """Return the hidden counts to which whole worlds within what is linear leave fewer than three values.

        Each program proposes a whole world, in which most hidden counts have other values than in those before; those
        that are still narrow are then asked for one by one, below, above and between what is known.
        """
        wanted = np.array([[s.place.sum.get(name, 0) for name in self._names] for s in self._secrets], dtype=float)
        for round_ in range(_POOLED):
            narrow = [i for i, secret in enumerate(self._secrets) if len(secret.values) < ENOUGH]
            if not narrow:
                return []
            self._solve_whole(self._rng.normal(size=len(narrow)) @ wanted[narrow], wanted, reach=_REACHES[round_ % 3])
        for i, secret in enumerate(self._secrets):
            while len(secret.values) < ENOUGH and self._widen(i, wanted):
                pass
        return [
            Leak(secret.place.name, secret.truth, tuple(sorted(secret.values)), proven=i not in self._out_of_time)
            for i, secret in enumerate(self._secrets)
            if len(secret.values) < ENOUGH
        ]

    def _widen(self, place: int, wanted: np.ndarray) -> bool:
        """Ask for one hidden count below, above and between the values known; returns whether there is another."""
        secret = self._secrets[place]
        known = len(secret.values)
        for low, high in self._windows(secret):
            aim = LinearConstraint(wanted[[place]], low - secret.truth, high - secret.truth)
            drawn = self._rng.normal(size=len(self._names)) * ~self._is_sum
            # The solver's presolve has called programs infeasible that were not: no proof without the other two tries.
            for goal, presolves in ((0 * drawn, True), (drawn, True), (0 * drawn, False)):
                is_found = self._solve_whole(goal, wanted, aims=(aim,), presolves=presolves)
                if is_found:
                    break
                if is_found is None:
                    self._out_of_time.add(place)
        return len(secret.values) > known

    def _solve_whole(
        self,
        goal: np.ndarray,
        wanted: np.ndarray,
        *,
        reach: float = np.inf,
        aims: Sequence[LinearConstraint] = (),
        presolves: bool = True,
    ) -> bool | None:
        """Note the values in the whole world of least `goal` in which no count moves further than `reach`.

        Returns whether there is such a world, None where neither it nor a proof was found in time.
        """
        start = self._matrix @ self._truth
        most = np.where(self._is_sum, np.inf, np.minimum(reach, _FURTHEST))
        solution = milp(
            goal,
            integrality=np.ones(len(goal)),
            bounds=Bounds(-np.minimum(self._truth, most), most),
            constraints=[LinearConstraint(self._matrix, self._low - start - 1e-7, self._high - start + 1e-7), *aims],
            options={"time_limit": 2 * _SECONDS, "mip_rel_gap": 0.3, "presolve": presolves},
        )
        if solution.x is None:
            return False if solution.status == _INFEASIBLE else None
        moved = np.round(solution.x)
        inside = self._matrix @ (self._truth + moved)
        if (inside >= self._low - 1e-5).all() and (inside <= self._high + 1e-5).all():
            for secret, change in zip(self._secrets, wanted @ moved, strict=True):
                secret.values.add(secret.truth + round(change))
            return True
        return None

    def _blocks_of(self, secret: _Secret) -> set[str]:
        """Return the blocks that may change for a secret, those of the scope it is in."""
        names = self._blocks[secret.scope]
        return {str(names[self._column[name]]) for name in secret.place.sum}

    def _nudge(self) -> None:
        """Change all counts by little, in a direction drawn by lot: most hidden counts get other values at once."""
        names = self._blocks[0]
        proposals = []
        wanted = {name for secret in self._secrets if secret.is_open for name in secret.place.sum}
        for block in dict.fromkeys(names.tolist()):
            free = names == block
            if not wanted.intersection(name for name, is_free in zip(self._names, free, strict=True) if is_free):
                continue
            columns = np.flatnonzero(free)
            direction = self._rng.normal(size=len(columns))
            reach = np.where(
                self._is_sum[columns],
                3000,
                int(self._rng.integers(1, 4)),
            )
            changes = self._optimize(columns, np.concatenate([direction, -direction]), (), reach)
            if changes is not None and changes.any():
                proposals.append((block, changes))
        self._try_blocks(proposals)

    def _try_blocks(self, proposals: list[tuple[str, np.ndarray]]) -> None:
        """Publish the changes of all blocks together; those that show are left out, and the rest tried again."""
        for _ in range(4):
            if not proposals:
                return
            world = self._world_with(changes for _, changes in proposals)
            shown = self._differences(world)
            if not shown:
                self._note(world)
                return
            guilty = {block for path in shown for block in blame(path)}
            proposals = [(block, changes) for block, changes in proposals if not is_blamed(block, guilty)]

    def _propose(self, secret: _Secret, free: np.ndarray) -> np.ndarray | None:
        """Return changes that give the secret a new value, or None where there are none; then its scope widens."""
        secret.proposals += 1
        for low, high in self._windows(secret):
            changes = self._solve(secret.place.sum, secret.truth, low, high, free)
            if changes is not None:
                return changes
        secret.scope += 1
        secret.refused = set()
        return None

    def _windows(self, secret: _Secret) -> list[tuple[float, float]]:
        """Return the ranges of new values to ask for: below, above, between those that are known."""
        known = secret.values | secret.refused
        low, high = min(known), max(known)
        below = [(0, low - 1)] if low > 0 else []
        between = [(value, value) for value in range(low + 1, high) if value not in known]
        if between:
            between = [between[i] for i in sorted(self._rng.choice(len(between), min(3, len(between)), replace=False))]
            between.append((low + 1, high - 1))
        return [*below, (high + 1, np.inf), *between]

    def _solve(
        self, wanted: Mapping[str, int], truth: int, low: float, high: float, free: np.ndarray
    ) -> np.ndarray | None:
        """Return the nearest changes of free counts that bring the wanted sum between `low` and `high`."""
        columns = np.flatnonzero(free)
        goal = np.array([wanted.get(self._names[column], 0) for column in columns], dtype=float)
        if not goal.any():
            return None
        weights = np.where(self._is_sum[columns], 0.01, 1.0) * self._rng.uniform(0.8, 1.2, len(columns))
        aim = LinearConstraint(_twice(csr_array(goal[None, :])), low - truth, high - truth)
        return self._optimize(columns, np.concatenate([weights, weights]), (aim,), np.full(len(columns), np.inf))

    def _optimize(
        self, columns: np.ndarray, costs: np.ndarray, aims: Sequence[LinearConstraint], reach: np.ndarray
    ) -> np.ndarray | None:
        """Return whole changes of these counts at least cost, increases before decreases; None where there are none."""
        part = self._rows_of[:, columns].tocsr()
        rows = np.flatnonzero(np.diff(part.indptr))
        start = (self._matrix @ self._truth)[rows]
        both = LinearConstraint(_twice(part[rows]), self._low[rows] - start - 1e-7, self._high[rows] - start + 1e-7)
        for integrality in (0, 1):
            # Most of these programs have whole solutions without being asked for them, which is much quicker.
            solution = milp(
                costs,
                integrality=np.full(2 * len(columns), integrality),
                bounds=Bounds(0, np.concatenate([reach, np.minimum(reach, self._truth[columns])])),
                constraints=[both, *aims],
                options={"time_limit": _SECONDS, "mip_rel_gap": 0.5},
            )
            if solution.x is None:
                return None
            if np.abs(solution.x - np.round(solution.x)).max() < 1e-6:
                break
        moved = np.zeros(len(self._names))
        up, down = np.split(np.round(solution.x), 2)
        moved[columns] = up - down
        return moved

    def _try(self, proposals: Sequence[tuple[_Secret, np.ndarray]]) -> None:
        """Publish the proposals together; where it shows, those to blame are refused and the rest tried again."""
        while proposals:
            world = self._world_with(changes for _, changes in proposals)
            shown = self._differences(world)
            if not shown:
                self._note(world)
                return
            guilty = {block for path in shown for block in blame(path)}
            kept = []
            for secret, changes in proposals:
                blocks = {str(self._blocks[0][i]) for i in np.flatnonzero(changes)}
                if len(proposals) == 1 or any(is_blamed(block, guilty) for block in blocks):
                    self.refusals += 1
                    secret.refused.add(secret.truth + self._change_of(secret, changes))
                else:
                    kept.append((secret, changes))
            if len(kept) == len(proposals):
                raise AssertionError(f"nobody is to blame for {sorted(shown)[:3]}")
            proposals = kept

    def _change_of(self, secret: _Secret, changes: np.ndarray) -> int:
        return int(sum(factor * changes[self._column[name]] for name, factor in secret.place.sum.items()))

    def _world_with(self, proposals: Iterable[np.ndarray]) -> World:
        together = sum(proposals)
        return self._world.moved({self._names[i]: int(together[i]) for i in np.flatnonzero(together)})

    def _note(self, world: World) -> None:
        for secret in self._secrets:
            secret.values.add(world.value(secret.place.sum))

    def _differences(self, world: World) -> set[Path]:
        """Return where the world's published results are not those that the attacker holds."""
        self.worlds += 1
        moved = self._matrix @ np.array([world.counts[name] for name in self._names], dtype=float)
        broken = (moved < self._low - 1e-5) | (moved > self._high + 1e-5)
        if broken.any() or min(world.counts.values()) < 0:
            return {("laws",)}
        leaves = leaves_of(self._publish(measure(world)))
        return {
            path
            for path in leaves.keys() | self._leaves.keys()
            if leaves.get(path, NOWHERE) != self._leaves.get(path, NOWHERE)
        }

    def _tabulate(self, found: Iterable[Law]) -> tuple[csr_array, np.ndarray, np.ndarray]:
        found = list(found)
        entries = [
            (factor, row, self._column[name])
            for row, law in enumerate(found)
            for name, factor in law.sum.items()
            if factor
        ]
        data, rows, columns = zip(*entries, strict=True)
        matrix = csr_array((data, (rows, columns)), shape=(len(found), len(self._names)), dtype=float)
        return matrix, np.array([law.low for law in found], float), np.array([law.high for law in found], float)


def _twice(matrix: csr_array) -> csr_array:
    from scipy.sparse import hstack

    return hstack([matrix, -matrix], format="csr")
