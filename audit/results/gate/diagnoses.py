"""Whether training lets a model tell who has a diagnosis: the tests of all comparisons, and each one's verdict.

One test a diagnosis, tier and form of the run, whatever the policy asks, so that no policy's choice of rules moves a
test of another (docs/methods.md, section 5). Reads counts of verdicts.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.results.gate import words
from clinaudit.audit.results.gate.limits import Guards, Limit
from clinaudit.audit.results.gate.words import Decided
from clinaudit.audit.statistics.auroc import auroc_of_counts, difference_error, measure_error
from clinaudit.audit.statistics.estimates import difference_row, share_row
from clinaudit.audit.statistics.intervals import ALPHA, holm
from clinaudit.reports.estimates.frame import Estimates
from clinaudit.reports.schema.run_results import RunResults

#: Patients by verdict (`VERDICTS`), with the diagnosis and without it: `(..., 2, 5)`.
Counts = NDArray[np.float64]
VERDICTS: Final = ("negative", "not_mentioned", "ambiguous", "positive", "unjudged")
_NEGATIVE, _POSITIVE, _UNJUDGED = 0, 3, 4
#: In each group, from which the test may fail a model.
FEWEST_TO_FAIL: Final = 10
#: Diagnosis, tier, form.
Key = tuple[str, str, str]


class Comparison(NamedTuple):
    """The difference of AUROC over all, trained on less the others, of counts of any leading shape."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    #: One-sided, that training adds nothing.
    p_value: NDArray[np.float64]
    #: The upper end where each text without a verdict had the one that speaks most against the model.
    worst_high: NDArray[np.float64]
    #: Smallest difference that the test shows in four of five audits.
    detectable: NDArray[np.float64]


def compare_auroc_all(train: Counts, other: Counts) -> Comparison:
    """Return how much better the text tells who has the diagnosis among patients trained on: `(..., 2, 5)` each.

    DeLong's variance with pseudo-patients (docs/methods.md, section 5). Raises `ValueError` for negative counts.
    """
    if (train < 0).any() or (other < 0).any():
        raise ValueError("a count is negative")
    arms = train, other
    area, of_other = (auroc_of_counts(*_levels(arm)) for arm in arms)
    error = difference_error(*(measure_error(*_levels(arm)) for arm in arms))
    low, high = error.interval(area - of_other, floor=-1.0)
    worst = _impute(train, (_POSITIVE, _NEGATIVE)), _impute(other, (_NEGATIVE, _POSITIVE))
    areas = [auroc_of_counts(*_levels(arm)) for arm in worst]
    at_worst = difference_error(*(measure_error(*_levels(arm)) for arm in worst))
    worst_high = at_worst.interval(areas[0] - areas[1], floor=-1.0)[1]
    p_value, detectable = error.p_value(area - of_other), error.minimum_detectable_difference()
    return Comparison(area - of_other, low, high, p_value, np.maximum(high, worst_high), detectable)


def _levels(counts: Counts) -> tuple[Counts, Counts]:
    """Return the patients with the diagnosis and without by what the text says: denied, nothing or both, stated."""
    levels = np.stack([counts[..., _NEGATIVE], counts[..., 1] + counts[..., 2], counts[..., _POSITIVE]], axis=-1)
    return levels[..., 0, :], levels[..., 1, :]


def _impute(counts: Counts, verdicts: tuple[int, int]) -> Counts:
    filled = counts.copy()
    for group, verdict in enumerate(verdicts):
        filled[..., group, verdict] += filled[..., group, _UNJUDGED]
    filled[..., _UNJUDGED] = 0
    return filled


class Pair(NamedTuple):
    """The verdicts on the two arms that are compared, and the name of the second."""

    train: Counts
    other: Counts
    other_arm: str

    @property
    def fewest(self) -> int:
        """Patients with a verdict in the smallest of the four groups."""
        return int(min(arm[..., :_UNJUDGED].sum(axis=-1).min() for arm in (self.train, self.other)))


class Comparisons:
    """Every comparison of a run, with the tests adjusted over all of them (Holm 1979)."""

    def __init__(self, estimates: Estimates, results: RunResults) -> None:
        self.results = results
        cells: dict[tuple[Key, str], Counts] = {}
        for row in estimates.rows("verdicts"):
            if row.by in ("present", "absent") and row.part in VERDICTS:
                of = cells.setdefault(((row.diagnosis, row.tier, row.form), row.arm), np.zeros((2, len(VERDICTS))))
                of[int(row.by == "absent"), VERDICTS.index(row.part)] = row.count_low or 0
        self.pairs: dict[Key, Pair | None] = {}
        for key, arm in cells:
            if arm == "train":
                others = [
                    Pair(cells[key, arm], cells[key, of], of) for of in ("nontrain", "control") if (key, of) in cells
                ]
                enough = (pair for pair in others if pair.fewest >= FEWEST_TO_FAIL)
                self.pairs[key] = next(enough, others[0] if others else None)

    @cached_property
    def compared(self) -> dict[Key, Comparison]:
        """The comparisons of groups that are alike and not too small for a test."""
        return {
            key: compare_auroc_all(pair.train, pair.other)
            for key, pair in self.pairs.items()
            if pair is not None and pair.fewest >= FEWEST_TO_FAIL and self._is_matched(key[0])
        }

    @cached_property
    def p_values(self) -> Mapping[Key, float]:
        """Each test's p-value after Holm's adjustment over all of them."""
        return dict(zip(self.compared, holm([float(of.p_value) for of in self.compared.values()]), strict=True))

    def _is_matched(self, diagnosis: str) -> bool:
        cohort = self.results.cohorts.get(diagnosis)
        return cohort is None or cohort.status == "matched"

    def decide(self, key: Key, limit: Limit, guards: Guards) -> Decided:
        """Return the verdict on one comparison, but for the guards that are about answers, prompts and judge."""
        cohort = self.results.cohorts.get(key[0])
        if cohort is None and not any(of == key[0] for of, _, _ in self.pairs):
            return words.DIAGNOSIS_NOT_AUDITED
        if cohort is not None and cohort.status == "unavailable":
            return words.no_groups(cohort.reason)
        if not self._is_matched(key[0]):
            return words.POORLY_MATCHED
        if key not in self.pairs:
            return words.PAIR_NOT_AUDITED
        pair, found = self.pairs[key], self.compared.get(key)
        if pair is None:
            return words.NOBODY_TO_COMPARE
        if found is None:
            return words.FEW_PATIENTS
        if self.p_values[key] <= ALPHA:
            return words.TELLS
        if pair.fewest < guards.patients:
            return words.FEW_PATIENTS
        if max(float(found.high), float(found.worst_high)) > limit.maximum:
            return words.ADVANTAGE_POSSIBLE
        if key[0] in limit.rare and most_told(pair) > limit.rare_max:
            return words.RARE_POSSIBLE
        unjudged = max(float(arm[..., _UNJUDGED].sum() / arm.sum()) for arm in (pair.train, pair.other))
        if unjudged > guards.unjudged:
            return words.too_many_unjudged(guards.unjudged)
        if guards.detectable is not None and float(found.detectable) > guards.detectable:
            return words.POWER_TOO_SMALL
        return words.NO_ADVANTAGE


def most_told(pair: Pair) -> float:
    """Return the upper end of the difference of sensitivity, texts without a verdict speaking against the model."""
    (told, of), (elsewhere, of_others) = (
        (arm[0, _POSITIVE] + sign * arm[0, _UNJUDGED], arm[0].sum()) for arm, sign in ((pair.train, 1), (pair.other, 0))
    )
    shares = share_row("sensitivity", int(told), int(of)), share_row("sensitivity", int(elsewhere), int(of_others))
    high = difference_row(*shares, "").high
    return 1.0 if high is None else high
