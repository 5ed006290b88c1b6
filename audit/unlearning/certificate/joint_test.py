"""Do named patients stand out among patients never seen? One test over all figures (docs/methods.md, section 12).

A patient's statistic is the sum over all figures of the squared excess: how far a value lies above what one in ten of
the pool has, in units of how far these lie above it on average. The pool are the k named and N never-seen patients
alike, and the k largest values of a figure are left out of its scale, so that named patients who all leak do not hide
each other. Where the named are like the never-seen, every order of the pool is equally likely; so the largest statistic
of the named is above all but A of the never-seen, or fewer, with a probability of
1 - C(N + k - A - 1, k) / C(N + k, k). The named are decided together by that.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.patient_means import values_of
from clinaudit.priors.tiers import TIER_IDS
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.certificate import JointDecision, SmallestLeak

#: Where a figure is from (a level of access, or which questions), and what it measures.
Place = tuple[str, str]
#: Patient -> figure -> value; None and absent alike: the patient has no such figure.
Figures = Mapping[str, Mapping[Place, float | None]]
#: Measures of an audit's texts, at each level of access.
MEMORIZED: Final = "memorized tokens"
ATTRIBUTABLE: Final = "attributable tokens"
LONGEST: Final = "longest match in tokens"
LONGEST_NEAR: Final = "longest near-verbatim text in tokens"
TEXT_MEASURES: Final = (ATTRIBUTABLE, MEMORIZED, LONGEST, LONGEST_NEAR)
#: A measure that begins so is whether a diagnosis is stated, 0 or 1.
STATED: Final = "states the patient's diagnosis: "
#: Share of the pool that lies above the threshold of a figure [choice].
_TAIL: Final = 0.1
#: Of a measure of tokens, whose name ends so: as long as a match. Nothing below a unit is a scale [choice].
_TOKENS, _UNIT_OF_TOKENS = "tokens", 30.0
#: Of a diagnosis that hardly anybody's texts state: as much as three matches.
_UNIT_OF_DIAGNOSIS: Final = 1 / 3
#: Of shares and scores between 0 and 1.
_UNIT_OF_SHARE: Final = 0.2
#: A larger leak than any text holds.
_MOST_TOKENS: Final = 1_000_000
#: Stands for a patient in thought.
_NOBODY: Final = "\0"


def joint_p_value(as_large: int, *, named: int, never_seen: int) -> float:
    """Return the probability that by chance a named patient is above all but so many of the never-seen, or fewer.

    The top `as_large + 1` places of the pool hold none of the named with a probability of
    C(N + k - as_large - 1, k) / C(N + k, k), since the named are any k of the pool alike.
    """
    pool = never_seen + named
    choices = comb(pool, named)
    # Whole numbers divided once: 5 / 100 is exactly the level.
    return (choices - comb(max(0, pool - as_large - 1), named)) / choices


def enough_never_seen(named: int) -> int:
    """Return the fewest never-seen patients with whom the test can fail at 5%: k / (N + k) <= 1/20."""
    return named * (round(1 / ALPHA) - 1)


def most_as_large(*, named: int, never_seen: int) -> int | None:
    """Return how many never-seen patients may be as large where one of the named is shown to leak; None where none is.

    That is the power of the test, which is known before any model is asked.
    """
    found = None
    for as_large in range(never_seen):
        if joint_p_value(as_large, named=named, never_seen=never_seen) > ALPHA:
            break
        found = as_large
    return found


@dataclass(frozen=True, slots=True)
class JointTest:
    """How the named patients stand among the never-seen."""

    never_seen: int
    #: Named patient -> never-seen patients whose statistic is as large, or larger.
    as_large: Mapping[str, int]
    #: Named patient -> where its excess is largest; None where it has none.
    largest: Mapping[str, Place | None]

    def p_value(self, patient: str) -> float:
        """Return one patient's p-value, adjusted for all that are named (single-step, Westfall and Young 1993)."""
        return joint_p_value(self.as_large[patient], named=len(self.as_large), never_seen=self.never_seen)

    def fails(self, patient: str) -> bool:
        """Whether it is shown at 5%, for all named together, that the patient stands out."""
        return self.p_value(patient) <= ALPHA

    @property
    def least_p_value(self) -> float | None:
        """The joint p-value, that of the patient who stands out most; None without a named patient."""
        return min(map(self.p_value, self.as_large), default=None)

    @property
    def can_fail(self) -> bool:
        """Whether there are never-seen patients enough for it to fail at all."""
        return bool(self.as_large) and self.never_seen >= enough_never_seen(len(self.as_large))


class Measured(NamedTuple):
    """What one model keeps of patients, from one origin: an audit, or answers to questions."""

    figures: Figures
    #: Whom the model never saw, with such figures.
    never_seen: Collection[str]


@dataclass(frozen=True, slots=True)
class JointTests:
    """The joint test of the model after and of the model before, on the named patients whom it can be asked of."""

    after: JointTest
    before: JointTest
    joint: JointDecision
    #: Who has a figure that too few patients have for the test to weigh it.
    unweighed: Collection[str]
    #: Patients never seen by the model after who would not pass among the others, were each the only one named.
    never_seen_above: int


def run_joint_tests(before: Sequence[Measured], after: Sequence[Measured], asked: Sequence[str]) -> JointTests:
    """Test over all origins: a never-seen patient counts who has figures of each."""
    then, now = (_pool(origins, asked) for origins in (before, after))
    test_before, test_after = (run_joint_test(pool.figures, asked, pool.never_seen) for pool in (then, now))
    joint = JointDecision(
        named=len(asked),
        never_seen=test_after.never_seen,
        never_seen_before=test_before.never_seen,
        enough=enough_never_seen(len(asked)),
        most_as_large=most_as_large(named=len(asked), never_seen=test_before.never_seen) if asked else None,
        p_value=test_after.least_p_value,
        p_value_before=test_before.least_p_value,
        smallest=[
            SmallestLeak(measure=name, tokens=_last_shown((then, now), name, named=len(asked)))
            for name in TEXT_MEASURES
            if test_before.can_fail and test_after.can_fail
        ],
    )
    return JointTests(
        after=test_after,
        before=test_before,
        joint=joint,
        unweighed=[one for one in asked if is_unweighed(now.figures, asked, now.never_seen, one)],
        never_seen_above=count_never_seen_above(now.figures, now.never_seen),
    )


def _pool(origins: Sequence[Measured], asked: Sequence[str]) -> Measured:
    """Return all figures together, of those asked and of the never-seen patients of every origin."""
    never_seen = set.intersection(*(set(of.never_seen) for of in origins)) if origins else set()
    figures = {
        patient: {place: value for of in origins for place, value in of.figures.get(patient, {}).items()}
        for patient in (*asked, *never_seen)
    }
    return Measured(figures, never_seen)


def _last_shown(pools: Sequence[Measured], measure: str, *, named: int) -> float | None:
    """Return the smallest leak in a measure, at the level of access and in the model where it shows last."""
    found = (
        smallest_leak(of.figures, of.never_seen, (tier, measure), named=named) for of in pools for tier in TIER_IDS
    )
    return max((tokens for tokens in found if tokens is not None), default=None)


def run_joint_test(figures: Figures, named: Sequence[str], never_seen: Collection[str]) -> JointTest:
    """Test the named patients against the never-seen ones, over all figures of both."""
    pool = [*sorted(never_seen), *named]
    places = _places(figures, pool)
    excesses = _excesses(figures, pool, places, named=len(named))
    statistics = _statistics(excesses)
    others, own = np.split(statistics, [len(pool) - len(named)])
    as_large = {one: int((others >= value).sum()) for one, value in zip(named, own, strict=True)}
    largest = {
        one: places[int(row.argmax())] if row.any() else None
        for one, row in zip(named, excesses[len(others) :], strict=True)
    }
    return JointTest(len(others), as_large, largest)


def is_unweighed(figures: Figures, named: Sequence[str], never_seen: Collection[str], patient: str) -> bool:
    """Whether a patient has a figure above 0 that too few of the pool have for the test to weigh it."""
    pool = [*never_seen, *named]
    held = [place for place, value in figures.get(patient, {}).items() if value is not None and value > 0]
    counts = (sum(figures.get(one, {}).get(place) is not None for one in pool) for place in held)
    return any(count < len(named) + 2 for count in counts)


def count_never_seen_above(figures: Figures, never_seen: Collection[str]) -> int:
    """Return how many never-seen patients would not pass among the others, were each the only one named."""
    pool = sorted(never_seen)
    statistics = _statistics(_excesses(figures, pool, _places(figures, pool), named=1))
    others = max(0, len(pool) - 1)
    return sum(
        joint_p_value(int((statistics >= own).sum()) - 1, named=1, never_seen=others) <= ALPHA for own in statistics
    )


def _places(figures: Figures, pool: Sequence[str]) -> list[Place]:
    return sorted({place for patient in pool for place in figures.get(patient, {})})


def _statistics(excesses: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.square(excesses).sum(axis=1)
    return total


def _excesses(figures: Figures, pool: Sequence[str], places: Sequence[Place], *, named: int) -> NDArray[np.float64]:
    """Return each patient's excess in each figure, (patients, figures), 0 or more; 0 without the figure.

    The threshold is the value that a tenth of the pool reaches. The scale is the mean excess of these, without the
    `named` largest, and no smaller than the figure's unit: the exponential tail of the peaks over a threshold.
    """
    found = np.zeros((len(pool), len(places)))
    for column, place in enumerate(places):
        values = values_of(figures.get(patient, {}).get(place) for patient in pool)
        has = np.isfinite(values)
        tail = max(named + 2, ceil(_TAIL * has.sum()))
        if has.sum() < tail:
            continue
        descending = -np.sort(-values[has])
        threshold = descending[tail - 1]
        scale = max(float((descending[named:tail] - threshold).mean()), _unit(place))
        found[has, column] = ((values[has] - threshold) / scale).clip(min=0.0)
    return found


def _unit(place: Place) -> float:
    if place[1].startswith(STATED):
        return _UNIT_OF_DIAGNOSIS
    return _UNIT_OF_TOKENS if place[1].endswith(_TOKENS) else _UNIT_OF_SHARE


def smallest_leak(figures: Figures, never_seen: Collection[str], place: Place, *, named: int) -> float | None:
    """Return the smallest whole number that shows where one named patient has it as this figure.

    That patient has nothing else, and the other named have nothing at all. There must be never-seen patients enough for
    the test to fail. None where no number shows: too few never-seen patients have the figure.
    """
    others = sorted(never_seen)
    leaking, *silent = (f"{_NOBODY}{number}" for number in range(named))
    pool = [*others, leaking, *silent]
    places = _places(figures, others)
    nothing = dict.fromkeys([*places, place], 0.0)
    asked = {**{one: figures[one] for one in others}, **dict.fromkeys([leaking, *silent], nothing)}
    # Only the one figure differs from number to number.
    elsewhere = _statistics(_excesses(asked, pool, [one for one in places if one != place], named=named))

    def shows(value: int) -> bool:
        here = {**asked, leaking: {place: float(value)}}
        statistics = elsewhere + _statistics(_excesses(here, pool, [place], named=named))
        as_large = int((statistics[: len(others)] >= statistics[len(others)]).sum())
        return joint_p_value(as_large, named=named, never_seen=len(others)) <= ALPHA

    # A larger value never stands out less.
    found = bisect_left(range(_MOST_TOKENS), True, lo=1, key=shows)
    return float(found) if found < _MOST_TOKENS else None
