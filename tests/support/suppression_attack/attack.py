"""An attack on the coarse table by integer programming: which values may a small count still have?

The attacker holds the coarse table, the settings and the words of every diagnosis under every limit that a policy may
have, and knows the program. Every other word is a function of the coarse table. A value is feasible
where some world with it publishes the very same. Such worlds are asked for whole: an integer program over the laws and
all that is linear in what is published proposes one; then it is measured, and refused where its coarse table or its
verdict comes out otherwise. What no program allows is proven to leak; what is refused again and again counts as leaking
too. Knowing the true world only makes the search short: whatever is found is found without it as well.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from support.results import random_worlds as shape
from support.results.random_worlds import Law, Sum, World, add, minus
from support.results.world_laws import laws
from support.results.world_membership import membership_counts
from support.results.world_tally import count_world, tally_of
from support.suppression_attack.integer_program import Choice, IntegerProgram, Numbers, OutOfTimeError
from support.suppression_attack.sex_balance import keep_shares, list_like_numbers

from clinaudit.audit.results.gate.evaluation import Comparison
from clinaudit.audit.results.gate.policy import LIMITS
from clinaudit.audit.results.publication import run_verdict
from clinaudit.audit.results.ranges.results import derive
from clinaudit.reports.tally.tally import Tally, publishable

#: Values that a count must still be able to have, and the counts that must.
ENOUGH, SMALL = 3, 10
#: Whole worlds asked for before counts are asked for one by one, and how far counts may move in turn.
_ROUNDS, _REACHES = 24, (1.0, 2.0, 4.0, 8.0)
#: Counts that are to move in one of them, at least, and how many steps of others that is worth.
_TOGETHER, _GAIN = 8, 8.0
#: How many steps of others it is worth that what is near a count moves as well, in turn.
_GAINS = (0.0, 1.0, 4.0, 2.0)
#: Worlds asked for before one leak is looked for.
_FEW_ROUNDS = 8
#: Directions tried for one count above, below or between the values that are known.
_PATIENCE = 36


@dataclass(frozen=True)
class Leak:
    """A small count with fewer feasible values than it should have."""

    name: str
    value: int
    feasible: tuple[int, ...]
    #: Whether no world at all has another value; else none was found in time.
    proven: bool


class Attacker:
    """One attack on what is published of one world."""

    def __init__(self, world: World, *, seed: int = 0, measures: bool = True) -> None:
        """Attack with all words; where worlds are not measured, by what is linear alone."""
        self._world = world
        self._measures = measures
        self._rng = np.random.default_rng(seed)
        tally, leaves = count_world(world)
        self._coarse = publishable(tally)
        self._published = derive(self._coarse)
        self._find_test_ranges = _once(run_verdict.find_test_ranges)
        self._draw_tables = _once(run_verdict.draw_tables)
        self._verdict = self._words(tally)
        self._program = IntegerProgram(world, [*laws(world), *leaves.clues(tally, self._coarse)])
        secrets = [(name, sum_) for name, sum_ in list_counts(world) if 1 <= world.value(sum_) <= SMALL]
        self._names = [name for name, _ in secrets]
        self._sums = [sum_ for _, sum_ in secrets]
        self._truth = np.array([world.value(sum_) for sum_ in self._sums])
        self._wanted = self._program.tabulate(self._sums)
        self._values = [{int(value)} for value in self._truth]
        self._is_number = np.array([_is_number(name) for name in self._program.names])
        self._shares = keep_shares(world)
        self._together = len(self._names)
        #: Worlds that were measured, and those of them that publish something else.
        self.worlds = 0
        self.refused = 0

    @property
    def count(self) -> int:
        """How many counts from 1 to 10 there are."""
        return len(self._names)

    @property
    def fewest(self) -> int:
        """Of how many values the count has been found that has fewest; the search stops at enough."""
        return min((len(values) for values in self._values), default=ENOUGH)

    def find_leaks(self) -> list[Leak]:
        """Return the small counts to which fewer than three values are left."""
        for round_ in range(_ROUNDS):
            narrow = self._narrow()
            if not narrow:
                return []
            self._move_together(narrow, reach=_REACHES[round_ // 2 % len(_REACHES)], keeps_shares=round_ % 2 == 0)
        for secret in self._narrow():
            while len(self._values[secret]) < ENOUGH and self._widen(secret):
                pass
        return [
            Leak(self._names[i], int(self._truth[i]), tuple(sorted(self._values[i])), proven=self._is_proven(i))
            for i in self._narrow()
        ]

    def has_proven_leak(self) -> bool:
        """Whether any small count surely has fewer than three values: quicker than to list all of them."""
        for _ in range(_FEW_ROUNDS):
            self._move_together(self._narrow(), reach=_REACHES[-1], keeps_shares=True)
        return any(self._is_proven(secret) for secret in self._narrow())

    def _move_together(self, narrow: Sequence[int], *, reach: float, keeps_shares: bool) -> None:
        """Ask for a world in which many counts have other values; for fewer, where one published other things."""
        some = self._rng.permutation(narrow)[: self._together]
        goal = self._rng.normal(size=len(some)) @ self._wanted[some].toarray()
        cost = self._draw_cost(self._measures)
        is_alike = self._ask(_GAIN * goal, reach=reach, keeps_shares=keeps_shares, cost=cost)
        self._together = self._together * 2 if is_alike else max(_TOGETHER, min(self._together, len(some)) // 2)

    def _draw_cost(self, moves_little: bool) -> Numbers | None:
        """Return what each step costs, where little is to move: it leaves the verdict as it is."""
        if not moves_little:
            return None
        costs: Numbers = self._rng.uniform(1, 2, len(self._program.names)) * np.where(self._is_number, 0.01, 1.0)
        return costs

    def _narrow(self) -> list[int]:
        return [i for i, values in enumerate(self._values) if len(values) < ENOUGH]

    def _windows(self, secret: int) -> Iterator[Law]:
        """Yield the values to ask for: below, above and between those that are known."""
        known, sum_ = self._values[secret], self._sums[secret]
        if min(known) > 0:
            yield Law(sum_, 0, min(known) - 1)
        yield Law(sum_, max(known) + 1)
        yield from (Law(sum_, value, value) for value in range(min(known) + 1, max(known)) if value not in known)

    def _widen(self, secret: int) -> bool:
        """Ask for one count below, above and between the values known; returns whether there is another."""
        before = len(self._values[secret])
        for attempt in range(_PATIENCE):
            for window in list(self._windows(secret)):
                # By turns little moves, and whatever may; then what is near as well, which may make up for the verdict.
                cost = self._draw_cost(attempt % 3 < 2)
                goal = self._rng.normal(size=len(self._program.names)) * ~self._is_number
                if cost is not None:
                    goal *= self._near(secret) * _GAINS[attempt % len(_GAINS)]
                reach = _REACHES[attempt // 2 % len(_REACHES)] + SMALL * (attempt >= _PATIENCE // 2)
                if self._ask(goal, [window], reach=reach, keeps_shares=attempt // 2 % 2 == 0, cost=cost):
                    return len(self._values[secret]) > before
        return False

    def _near(self, secret: int) -> Numbers:
        """Return 1 for counts of the secret's own table, split or category, else 0."""
        places = ["/".join(name.split("/")[:2]) for name in self._program.names]
        own = {places[i] for i in self._wanted[[secret]].indices}
        return np.array([float(place in own) for place in places])

    def _is_proven(self, secret: int) -> bool:
        """Whether all that is linear excludes every other value."""
        for window in self._windows(secret):
            try:
                if self._program.solve(np.zeros(len(self._program.names)), besides=[window]) is not None:
                    return False
            except OutOfTimeError:
                return False
        return True

    def _ask(
        self,
        goal: Numbers,
        besides: Sequence[Law] = (),
        *,
        reach: float,
        keeps_shares: bool,
        cost: Numbers | None = None,
    ) -> bool:
        """Note the values in a world of least goal; returns whether there is one that publishes the same.

        The balance of sexes is kept by the cells' shares of women, or by other numbers of women. `cost`: of each
        step of a count.
        """
        laws_: Sequence[Law] = ()
        choices: Sequence[Choice] = ()
        if self._measures:
            if keeps_shares:
                laws_ = self._shares
            else:
                choices = list_like_numbers(self._world, self._rng)
        most = np.where(self._is_number, np.inf, reach)
        try:
            moved = self._program.solve(goal, reach=most, besides=[*laws_, *besides], choices=choices, cost=cost)
        except OutOfTimeError:
            return False
        if moved is None:
            return False
        self.worlds += 1
        if self._measures and not self._is_alike(tally_of(self._program.world_with(moved))):
            self.refused += 1
            return False
        for values, value in zip(self._values, self._truth + self._wanted @ moved, strict=True):
            values.add(round(value))
        return True

    def _is_alike(self, tally: Tally) -> bool:
        return publishable(tally) == self._coarse and self._words(tally) == self._verdict

    def _words(self, tally: Tally) -> dict[Comparison, tuple[bool | None, ...]]:
        """Return the word of every comparison under every limit: fail, pass (True) or neither."""
        # Drawn within the classes alone, which are always the same.
        with (
            patch.object(run_verdict, "draw_tables", self._draw_tables),
            patch.object(run_verdict, "find_test_ranges", self._find_test_ranges),
        ):
            outcomes = run_verdict.find_outcomes(derive(Tally(disclosure=tally.disclosure)), self._published)
        return {
            compared: (True,) if shown.shows_excess else (False, *(shown.is_within[limit] for limit in LIMITS))
            for compared, shown in outcomes.items()
        }


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is asked once for each first argument, which is the same object every time."""
    known: dict[int, Any] = {}

    def ask(first: object, *others: object) -> Any:
        if id(first) not in known:
            known[id(first)] = function(first, *others)
        return known[id(first)]

    return ask


def list_counts(world: World) -> Iterator[tuple[str, Sum]]:
    """Yield every count of patients (or of a site's labelled texts) that nobody may learn, published or not."""
    for name in world.counts:
        is_invented = name.startswith("judge/") and not world.fixed["judge/site"]
        if not _is_number(name) and not is_invented and not name.startswith("judges/"):
            yield name, {name: 1}
    yield from membership_counts(world)
    for arm in shape.ARMS:
        yield f"patients/{arm}", world.all_patients(arm)
        yield f"targets/{arm}", world.all_targets(arm)
        for tier in world.tiers:
            yield from _tier_counts(world, tier, arm)
        for place, patients in world.identified_places(arm).items():
            yield f"{place}/patients", patients
            for rate in shape.RATES:
                yield f"{place}/any {rate}", world.having(place, rate)
                yield f"{place}/none {rate}", minus(patients, world.having(place, rate))
            for kind in shape.OWNER_KINDS:
                yield f"{place}/no {kind}", minus(patients, f"{place}/{kind}")
        for partition, groups in shape.GROUPS.items():
            for group in groups:
                yield f"{partition}/{arm}/targets/{group}", world.targets(arm, partition, group)
                if partition != "notes":
                    yield f"{partition}/{arm}/patients/{group}", world.split(arm, partition, group)
    for diagnosis in world.diagnoses:
        for tier in world.tiers:
            for side in world.sides:
                for row in shape.ROWS:
                    undecided = world.table(diagnosis, tier, side, (row,), ("ambiguous", "not_mentioned"))
                    yield f"table/{diagnosis}/{tier}/{side}/{row}/undecided", undecided
            yield f"sets/{diagnosis}/{tier}", world.table(diagnosis, tier, "train", ("1",), shape.OUTCOMES)


def _tier_counts(world: World, tier: str, arm: str) -> Iterator[tuple[str, Sum]]:
    patients = world.patients(tier, arm)
    yield f"mem/{tier}/{arm}/patients", patients
    yield f"mem/{tier}/{arm}/questioned", add(patients, f"mem/{tier}/{arm}/refused")
    for fraction in shape.FRACTIONS:
        any_ = world.above(tier, arm, fraction)
        yield f"mem/{tier}/{arm}/{fraction}/any", any_
        yield f"mem/{tier}/{arm}/{fraction}/none", minus(patients, any_)
    for partition, cells in world.guarded(tier, arm).items():
        for cell, sum_ in cells.items():
            yield f"mem/{tier}/{arm}/guard/{partition}/{cell}", sum_
    fitting = world.fitting(tier, arm)
    yield f"prompts/{tier}/{arm}/fitting", fitting
    yield f"prompts/{tier}/{arm}/not fitting", minus(patients, fitting)
    for kind in shape.PROMPTS:
        yield f"prompts/{tier}/{arm}/not {kind}", minus(patients, f"prompts/{tier}/{arm}/{kind}")
    yield f"mem/{tier}/{arm}/not owners", minus(world.all_patients("train"), f"mem/{tier}/{arm}/owners")
    short, empty = (f"mem/{tier}/{arm}/{kind}" for kind in ("short", "empty"))
    yield f"mem/{tier}/{arm}/short and not empty", minus(short, empty)
    for partition, groups in shape.GROUPS.items():
        for group in groups:
            here = world.at_tier(tier, arm, partition, group)
            place = f"{partition}/{arm}/{{}}/{tier}/{group}".format
            yield place("here"), here
            yield place("not attributable"), minus(here, place("attributable"))
            yield place("not exposed"), minus(place("asked"), place("exposed"))
    yield f"mem/{tier}/{arm}/not asked", minus(patients, f"mem/{tier}/{arm}/asked")


def _is_number(name: str) -> bool:
    """Whether a world's number counts no patients: tokens, pieces, notes, years."""
    return name.endswith(("sum", "units", "regions", "source_notes")) or name.startswith(
        ("notes/", "tokens/", "age/sum")
    )
