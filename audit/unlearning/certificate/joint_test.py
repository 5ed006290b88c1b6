"""Do named patients stand out among patients never seen? One rank test over all figures (docs/methods.md, section 12).

A patient's statistic is its largest rank over all figures; of equal ones the next largest decides, and so on. Ranks are
within the pool of k named and N never-seen patients alike, and N at most: the k largest of a figure are equals, so that
named patients who all leak do not hide each other; where all of these are equal, ranks without that end decide. Where
the named are like the never-seen, every order of the pool is equally likely; so the largest statistic of the named is
above all but A of the never-seen, or fewer, with a probability of 1 - C(N + k - A - 1, k) / C(N + k, k). The named are
decided together by that.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import ALPHA

#: Where a figure is from (a level of access, or which questions), and what it measures.
Place = tuple[str, str]
#: Patient -> figure -> value; None and absent alike: the patient has no such figure.
Figures = Mapping[str, Mapping[Place, float | None]]
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
    #: Named patient -> where its rank is largest; None where all of its figures are the lowest there are.
    largest: Mapping[str, Place | None]
    #: Never-seen patients who would not pass among the others, were each the only one named.
    never_seen_above: int

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


def run_joint_test(figures: Figures, named: Sequence[str], never_seen: Collection[str]) -> JointTest:
    """Test the named patients against the never-seen ones, over all figures of both."""
    pool = [*sorted(never_seen), *named]
    places, ranks = _places(figures, pool), _ranks(figures, pool)
    order = _order(ranks, most=len(pool) - len(named))
    others, own = order[: len(pool) - len(named)], order[len(pool) - len(named) :]
    as_large = {patient: int((others >= at).sum()) for patient, at in zip(named, own, strict=True)}
    rows = ranks[len(others) :]
    largest = {
        patient: places[int(row.argmax())] if row.size and row.max() > 0 else None
        for patient, row in zip(named, rows, strict=True)
    }
    return JointTest(len(others), as_large, largest, _never_seen_above(figures, never_seen))


def _never_seen_above(figures: Figures, never_seen: Collection[str]) -> int:
    """Return how many never-seen patients stand out among the others; a function of them alone, whoever is named."""
    others = max(0, len(never_seen) - 1)
    order = _order(_ranks(figures, sorted(never_seen)), most=others)
    return sum(joint_p_value(int((order >= at).sum()) - 1, named=1, never_seen=others) <= ALPHA for at in order)


def _order(ranks: NDArray[np.int64], *, most: int) -> NDArray[np.int64]:
    """Return the place of each statistic: by the largest rank, of `most` at most, then by the next largest."""
    statistics = np.hstack([-np.sort(-ranks.clip(max=most), axis=1), -np.sort(-ranks, axis=1)])
    # Distinct rows come in ascending order, compared as words are.
    _, order = np.unique(statistics, axis=0, return_inverse=True)
    return order.reshape(-1)


def _places(figures: Figures, pool: Sequence[str]) -> list[Place]:
    return sorted({place for patient in pool for place in figures.get(patient, {})})


def _ranks(figures: Figures, pool: Sequence[str]) -> NDArray[np.int64]:
    """Return for each patient and figure how many of the pool have less of it, (patients, figures); 0 without one.

    Equal values are below none of each other: a figure that many never-seen patients have in full ranks nobody high.
    """
    places = _places(figures, pool)
    ranks = np.zeros((len(pool), max(1, len(places))), dtype=np.int64)
    for column, place in enumerate(places):
        found = (figures.get(patient, {}).get(place) for patient in pool)
        values = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
        has = np.isfinite(values)
        ranks[has, column] = np.searchsorted(np.sort(values[has]), values[has], side="left")
    return ranks


def smallest_leak(
    figures: Figures, never_seen: Collection[str], places: Sequence[Place], *, named: int
) -> float | None:
    """Return the smallest whole number that shows where one named patient has it at all these places.

    That patient has nothing else, and the other named have nothing at all.

    None where no number does: other figures of never-seen patients stand out more.
    """
    known = {figures[patient].get(place) for patient in never_seen for place in places}
    candidates = [1.0, *sorted({float(int(value)) + 1 for value in known if value})]

    pool = [f"{_NOBODY}{number}" for number in range(named)]
    nothing = dict.fromkeys(_places(figures, sorted(never_seen)), 0.0)

    def shows(value: float) -> bool:
        asked = {**figures, **dict.fromkeys(pool, nothing), pool[0]: {**nothing, **dict.fromkeys(places, value)}}
        return run_joint_test(asked, pool, never_seen).fails(pool[0])

    # A larger value never ranks lower.
    at = bisect_left(candidates, True, key=shows)
    return candidates[at] if at < len(candidates) else None


def vouched_for(figures: Figures, reference: Figures, named: Sequence[str], never_seen: Collection[str]) -> Figures:
    """Return the figures without what a retrained model keeps of a named patient as well: that is no memory.

    It vouches for a patient where its own test can fail, and does not: one in which the patient stands out among those
    it never saw was hardly trained without this one.
    """
    test = run_joint_test(reference, [one for one in named if one in reference], never_seen)
    if not test.can_fail:
        return figures
    return {
        patient: own
        if patient not in test.as_large or test.fails(patient)
        else {place: value for place, value in own.items() if not _is_kept(value, reference[patient].get(place))}
        for patient, own in figures.items()
    }


def _is_kept(value: float | None, reference: float | None) -> bool:
    return value is not None and reference is not None and value <= reference
