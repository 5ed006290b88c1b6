"""Do named patients stand out among patients never seen? One test over all figures (docs/methods.md, section 12).

A patient's statistic is the sum over the measures of the squared excess: how far a value lies above what one in ten of
the pool has, in units of how far these lie above it on average. The pool are the k named and N never-seen patients
alike, and the k largest values of a measure are left out of its scale, so that named patients who all leak do not hide
each other. Where the named are like the never-seen, every order of the pool is equally likely; so the largest statistic
of the named is above all but A of the never-seen, or fewer, with a probability of
1 - C(N + k - A - 1, k) / C(N + k, k). The named are decided together by that.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.patient_means import values_of
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.certificate import JointDecision, SmallestLeak

#: Patient -> measure -> value, larger where more is given away; None and absent alike: the patient has no such figure.
Figures = Mapping[str, Mapping[str, float | None]]
LOSS: Final = "how well the notes are known (0: as of strangers, 1: by heart)"
OWN_TEXT: Final = "own text, in tokens"
DIAGNOSES: Final = "share of own diagnoses said"
IDENTIFIERS: Final = "own identifiers"
ANSWERS: Final = "answers kept"
#: Least scale of each measure [choice]: as much as a match of 30 tokens. The order is that in which they are shown.
UNITS: Final = {LOSS: 0.1, OWN_TEXT: 30.0, DIAGNOSES: 0.5, IDENTIFIERS: 1.0, ANSWERS: 0.2}
MEASURES: Final = tuple(UNITS)
#: Measures of what is met by chance the oftener, the more text a patient has.
_GROWING: Final = frozenset({OWN_TEXT, IDENTIFIERS})
#: Step in which the smallest leak is sought; shares end at 1.
_STEPS: Final = {LOSS: 0.01, OWN_TEXT: 1.0, DIAGNOSES: 0.01, IDENTIFIERS: 1.0, ANSWERS: 0.01}
#: Share of the pool that lies above the threshold of a figure [choice].
_TAIL: Final = 0.1
#: Least scale of other figures, but of counts of tokens: of shares and scores between 0 and 1.
_UNIT_OF_SHARE: Final = 0.2
#: More steps than any leak has.
_MOST_STEPS: Final = 1_000_000
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
    """Return how many never-seen patients may be as large where a named one is shown to leak; None: none is shown."""
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
    #: Named patient -> the measure of its largest excess; None where it has none.
    largest: Mapping[str, str | None]

    def p_value(self, patient: str) -> float | None:
        """Return the p-value, adjusted for all named (single-step, Westfall and Young 1993); None: not in the test."""
        if patient not in self.as_large:
            return None
        return joint_p_value(self.as_large[patient], named=len(self.as_large), never_seen=self.never_seen)

    def fails(self, patient: str) -> bool:
        """Whether it is shown at 5%, for all named together, that the patient stands out."""
        p_value = self.p_value(patient)
        return p_value is not None and p_value <= ALPHA

    def finds(self, patient: str) -> bool | None:
        """Whether the patient stands out; None where the patient is not in the test, or it can find nobody."""
        return self.fails(patient) if patient in self.as_large and self.can_fail else None

    @property
    def least_p_value(self) -> float | None:
        """The joint p-value, that of the patient who stands out most; None without a named patient."""
        return self.p_value(min(self.as_large, key=lambda one: self.as_large[one])) if self.as_large else None

    @property
    def can_fail(self) -> bool:
        """Whether there are never-seen patients enough for it to fail at all."""
        return bool(self.as_large) and self.never_seen >= enough_never_seen(len(self.as_large))


class Pool(NamedTuple):
    """What one model keeps of patients."""

    figures: Figures
    #: Whom the model never saw, with figures from everything that is given.
    never_seen: Collection[str]
    #: Tokens of each patient's notes, where they are known.
    chart_tokens: Mapping[str, int]

    def lengths(self, patients: Sequence[str]) -> NDArray[np.float64]:
        """Return by how many means of their tail a longer chart makes chance matches larger, `(patients,)`.

        The largest of n chance matches with an exponential tail grows by ln n means of it (Karlin and Altschul 1990):
        0.69 for twice the median patient's text. A shorter chart has no gain: it would stand out with nothing found.
        """
        known = [tokens for one in patients if (tokens := self.chart_tokens.get(one, 0)) > 0]
        typical = median(known) if known else 1
        sizes = [self.chart_tokens.get(one, typical) / typical for one in patients]
        found: NDArray[np.float64] = np.log(np.maximum(sizes, 1.0))
        return found


class JointTests(NamedTuple):
    """The joint test of the model after and of the model before, on the named patients whom it can be asked of."""

    after: JointTest
    before: JointTest
    joint: JointDecision
    #: Who has a figure that too few patients have for the test to weigh it.
    unweighed: Collection[str]


def run_joint_tests(before: Pool, after: Pool, asked: Sequence[str]) -> JointTests:
    """Test the named patients who are `asked` in both models."""
    test_before, test_after = (run_joint_test(pool, asked) for pool in (before, after))
    smallest = []
    for measure in MEASURES:
        is_measured = any(measure in after.figures.get(one, {}) for one in asked)
        if not (is_measured and test_before.can_fail and test_after.can_fail):
            continue
        # The run before may not have measured it: a model counts of whose never-seen patients somebody has it.
        pools = [pool for pool in (before, after) if any(measure in pool.figures[one] for one in pool.never_seen)]
        found = [smallest_leak(pool, measure, named=len(asked)) for pool in pools]
        shown = [value for value in found if value is not None]
        # In the model where it shows last; in one it may not show at all.
        last = max(shown) if found and len(shown) == len(found) else None
        smallest.append(SmallestLeak(measure=measure, value=last))
    joint = JointDecision(
        named=len(asked),
        never_seen=test_after.never_seen,
        never_seen_before=test_before.never_seen,
        enough=enough_never_seen(len(asked)),
        most_as_large=most_as_large(named=len(asked), never_seen=test_before.never_seen) if asked else None,
        p_value=test_after.least_p_value,
        p_value_before=test_before.least_p_value,
        smallest=smallest,
    )
    unweighed = [one for one in asked if is_unweighed(after, asked, one)]
    return JointTests(after=test_after, before=test_before, joint=joint, unweighed=unweighed)


def run_joint_test(pool: Pool, named: Sequence[str]) -> JointTest:
    """Test the named patients against the never-seen ones, over all figures of both."""
    patients = [*sorted(pool.never_seen), *named]
    measures = sorted({measure for patient in patients for measure in pool.figures.get(patient, {})})
    excesses = _excesses(pool, patients, measures, named=len(named))
    others, own = np.split(np.square(excesses).sum(axis=1), [len(patients) - len(named)])
    as_large = {one: int((others >= value).sum()) for one, value in zip(named, own, strict=True)}
    largest = {
        one: measures[int(row.argmax())] if row.any() else None
        for one, row in zip(named, excesses[len(others) :], strict=True)
    }
    return JointTest(len(others), as_large, largest)


def is_unweighed(pool: Pool, named: Sequence[str], patient: str) -> bool:
    """Whether a patient has a figure above 0 that too few of the pool have for the test to weigh it."""
    figures = pool.figures
    held = [measure for measure, value in figures.get(patient, {}).items() if value is not None and value > 0]
    counts = (sum(figures.get(one, {}).get(of) is not None for one in (*pool.never_seen, *named)) for of in held)
    return any(count < len(named) + 2 for count in counts)


def _excesses(pool: Pool, patients: Sequence[str], measures: Sequence[str], *, named: int) -> NDArray[np.float64]:
    """Return each patient's excess in each measure, (patients, measures), 0 or more; 0 without the figure.

    The threshold is the value that a tenth of the patients reaches. The scale is the mean excess of these, without the
    `named` largest, and no smaller than the measure's unit: the exponential tail of the peaks over a threshold.
    """
    found = np.zeros((len(patients), len(measures)))
    lengths = pool.lengths(patients)
    for column, measure in enumerate(measures):
        values = values_of(pool.figures.get(patient, {}).get(measure) for patient in patients)
        has = np.isfinite(values)
        tail = max(named + 2, ceil(_TAIL * has.sum()))
        if has.sum() < tail:
            continue
        descending = -np.sort(-values[has])
        threshold = descending[tail - 1]
        mean = float((descending[named:tail] - threshold).mean())
        # Where hardly any never-seen patient has any, a long chart explains nothing.
        by_length = lengths[has] * mean if measure in _GROWING else 0.0
        unit = UNITS.get(measure, UNITS[OWN_TEXT] if measure.endswith("tokens") else _UNIT_OF_SHARE)
        excess = (values[has] - threshold - by_length) / max(mean, unit)
        found[has, column] = excess.clip(min=0.0)
    return found


def smallest_leak(pool: Pool, measure: str, *, named: int) -> float | None:
    """Return the smallest value that shows where one named patient has it as this figure, in steps of the measure.

    That patient has nothing else and a chart as long as the median patient's; the other named have nothing at all.
    There must be never-seen patients enough for the test to fail. None where no value shows: too few never-seen
    patients have the figure, or not even a share of 1 stands out.
    """
    others = sorted(pool.never_seen)
    leaking, *silent = (f"{_NOBODY}{number}" for number in range(named))
    patients = [*others, leaking, *silent]
    rest = sorted({of for one in others for of in pool.figures.get(one, {})} - {measure})
    nothing = dict.fromkeys([*rest, measure], 0.0)
    asked = {**{one: pool.figures[one] for one in others}, **dict.fromkeys([leaking, *silent], nothing)}

    def statistics(measures: Sequence[str], figures: Figures) -> NDArray[np.float64]:
        excesses = _excesses(pool._replace(figures=figures), patients, measures, named=named)
        found: NDArray[np.float64] = np.square(excesses).sum(axis=1)
        return found

    # Only the one figure differs from value to value.
    elsewhere, step = statistics(rest, asked), _STEPS.get(measure, 1.0)

    def shows(steps: int) -> bool:
        found = elsewhere + statistics([measure], {**asked, leaking: {measure: steps * step}})
        as_large = int((found[: len(others)] >= found[len(others)]).sum())
        return joint_p_value(as_large, named=named, never_seen=len(others)) <= ALPHA

    # A larger value never stands out less; nobody has a share above 1.
    most = round(1 / step) if step < 1 else _MOST_STEPS
    found = bisect_left(range(most + 1), True, lo=1, key=shows)
    return round(found * step, 2) if found <= most else None
