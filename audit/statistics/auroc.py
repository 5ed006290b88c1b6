"""AUROC with ties, and the error of one AUROC or of the difference of two (docs/methods.md, section 5).

Formulas on counts of patients by score level, the levels ascending on the last axis, vectorized over leading axes. The
error is DeLong's variance with Student's t: intervals, the one-sided test and the minimal detectable difference.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import divide_or_nan
from clinaudit.reports.estimates.intervals import ALPHA
from clinaudit.reports.schema.record import Estimate

Counts = NDArray[np.float64]


def auroc_of_counts(positive: Counts, negative: Counts) -> Counts:
    """Return the AUROC, `(..., levels)` each to `(...)`, ties counting half; NaN where a class is empty."""
    beaten = np.cumsum(negative, axis=-1) - negative / 2
    wins = (positive * beaten).sum(axis=-1)
    return divide_or_nan(wins, positive.sum(axis=-1) * negative.sum(axis=-1))


def delong_variances(positive: Counts, negative: Counts) -> tuple[Counts, Counts]:
    """Return the variance components of AUROC, one a class: `(..., levels)` each to `(...)` each.

    DeLong, DeLong and Clarke-Pearson (1988). The variance of AUROC is their sum. Raises `ValueError` below two patients
    in a class.
    """
    positives, negatives = positive.sum(axis=-1), negative.sum(axis=-1)
    if np.any(positives < 2) or np.any(negatives < 2):
        raise ValueError("a variance needs at least two patients in each class")
    area = auroc_of_counts(positive, negative)
    beats, is_beaten = _placements(positive, negative)
    return _variance_of_mean(positive, beats, area), _variance_of_mean(negative, is_beaten, area)


def _placements(positive: Counts, negative: Counts) -> tuple[Counts, Counts]:
    """Return of each level the share of the other class that it beats, and that beats it, ties counting half."""
    beats = (np.cumsum(negative, axis=-1) - negative / 2) / negative.sum(axis=-1)[..., np.newaxis]
    is_beaten = 1 - (np.cumsum(positive, axis=-1) - positive / 2) / positive.sum(axis=-1)[..., np.newaxis]
    return beats, is_beaten


def add_pseudo_patients(counts: Counts) -> Counts:
    """Return the counts of a class with one more patient at the lowest level and one at the highest.

    Where every score ties, or the classes separate perfectly, DeLong's variance is 0: twenty patients would then read
    as certainty. Agresti and Caffo (2000) add one success and one failure to a proportion for the same reason. Here it
    keeps the variance near 1/n² at such ends, and changes it by about 2/n elsewhere. The AUROC itself is reported
    without it. The levels must span the whole scale, used or not.
    """
    smoothed = counts.copy()
    smoothed[..., 0] += 1
    smoothed[..., -1] += 1
    return smoothed


def _variance_of_mean(counts: Counts, placement: Counts, area: Counts) -> Counts:
    """Return the variance of a class's mean placement, which is the area."""
    patients = counts.sum(axis=-1)
    squares = (counts * (placement - area[..., np.newaxis]) ** 2).sum(axis=-1)
    variance: Counts = squares / (patients - 1) / patients
    return variance


#: Numbers of any shape; of one cohort, a single number.
Values = NDArray[np.float64]
#: Power at which the minimal detectable difference is given: the probability that the test shows it.
POWER = 0.8
#: Significance level of the one-sided test.
TEST_LEVEL = 0.05
#: In a group; below, there is no variance.
FEWEST: Final = 2


class AurocError(NamedTuple):
    """The sampling error of an AUROC, or of a difference of two."""

    variance: Values
    #: Of the estimated variance: Welch and Satterthwaite's.
    degrees_of_freedom: Values
    #: The AUROC (or difference) of the smoothed classes: between the plain one and chance.
    smoothed: Values

    @property
    def standard(self) -> Values:
        """The standard error."""
        return np.sqrt(self.variance)

    def interval(self, value: Values | float, *, floor: float) -> tuple[Values, Values]:
        """Return the 95% interval of `value`, cut at `floor` and 1: the union of those around `value` and `smoothed`.

        Smoothing shrinks few patients' AUROC towards chance: an interval around either alone would miss the truth more
        often on one side. With 100 patients a class the two are within 0.01 of each other.
        """
        half = scipy.special.stdtrit(self.degrees_of_freedom, 1 - ALPHA / 2) * self.standard
        low, high = np.minimum(value, self.smoothed), np.maximum(value, self.smoothed)
        return np.maximum(floor, low - half), np.minimum(1.0, high + half)

    def p_value(self, difference: Values | float) -> Values:
        """Return the one-sided p-value against the null hypothesis that the difference is not above 0."""
        p_values: Values = np.asarray(scipy.special.stdtr(self.degrees_of_freedom, -difference / self.standard))
        return p_values

    def minimum_detectable_difference(self) -> Values:
        """Return the smallest true difference that the one-sided test at 5% would have shown with a power of 80%."""
        of = self.degrees_of_freedom
        points = scipy.special.stdtrit(of, 1 - TEST_LEVEL) + scipy.special.stdtrit(of, POWER)
        difference: Values = np.asarray(points * self.standard)
        return difference


def measure_error(positive: Counts, negative: Counts) -> AurocError:
    """Return the error of the AUROC of patients counted by score level, `(..., levels)` each.

    The variance, that of the classes with pseudo-patients, is itself estimated: at 10 patients a class the normal
    distribution's 1.96 would hold the truth in 91.7%. Hence Student's t with Welch and Satterthwaite's degrees of
    freedom; from 100 patients on they agree.
    """
    smoothed = add_pseudo_patients(positive), add_pseudo_patients(negative)
    degrees = [np.maximum(1, counts.sum(axis=-1) - 1) for counts in (positive, negative)]
    return _pool(delong_variances(*smoothed), degrees, auroc_of_counts(*smoothed))


def difference_error(first: AurocError, second: AurocError) -> AurocError:
    """Return the error of the difference of two independent AUROCs."""
    parts = (first.variance, second.variance)
    return _pool(parts, [first.degrees_of_freedom, second.degrees_of_freedom], first.smoothed - second.smoothed)


def paired_difference_error(positive: Counts, negative: Counts) -> AurocError:
    """Return the error of the difference of two AUROCs of the same patients, scored twice: DeLong's with covariance.

    Each class is counted by both scores, `(levels + 1, levels + 1)`; the last row and column hold patients without the
    first or the second score, who enter the other AUROC alone. Pseudo-patients enter each variance and no covariance,
    so that two models which answer alike leave an error (Agresti and Min 2005 add theirs to matched pairs likewise).
    """
    ones, twos = ([counts.sum(axis=axis)[:-1] for counts in (positive, negative)] for axis in (1, 0))
    first, second = (tuple(map(add_pseudo_patients, classes)) for classes in (ones, twos))
    areas = auroc_of_counts(*first), auroc_of_counts(*second)
    variances, degrees = [], []
    for joint, of_first, of_second, parts in zip(
        (positive, negative),
        _placements(*first),
        _placements(*second),
        zip(delong_variances(*first), delong_variances(*second), strict=True),
        strict=True,
    ):
        products = np.outer(of_first - areas[0], of_second - areas[1])
        patients = max(joint[:-1].sum(), joint[:, :-1].sum()) + 2
        covariance = (joint[:-1, :-1] * products).sum() / (patients - 1) / patients
        variances.append(parts[0] + parts[1] - 2 * covariance)
        degrees.append(np.maximum(1, patients - 3))
    return _pool(variances, degrees, areas[0] - areas[1])


def _pool(variances: Sequence[Values], degrees_of_freedom: Sequence[Values], smoothed: Values) -> AurocError:
    """Add up independent variances, with Welch and Satterthwaite's degrees of freedom (1946)."""
    variance = sum(variances[1:], variances[0])
    terms = [part**2 / of for part, of in zip(variances, degrees_of_freedom, strict=True)]
    return AurocError(variance, variance**2 / sum(terms[1:], terms[0]), smoothed)


class GroupAuroc(NamedTuple):
    """How far a number tells two groups apart."""

    #: The probability that one of the first group has more of it than one of the second; `n` counts both groups.
    auroc: Estimate
    #: Two-sided, against groups that are alike; None where `auroc` is null.
    p_value: float | None


def auroc_of_values(first: Sequence[float], second: Sequence[float], *, fewest: int, reason: str) -> GroupAuroc:
    """Return Mann-Whitney's AUROC, ties counting half, with DeLong's interval and the test against chance.

    Null with the reason where a group has fewer than `fewest` (two at least) numbers. In the interval each class has
    two pseudo-patients, one below all numbers and one above. The test is Mann and Whitney's (1947): exact where a group
    has at most eight and none tie, else the normal approximation with its correction for ties. It asks whether the
    groups could be one, and so may show a difference where the interval still holds 0.5.
    """
    from scipy.stats import mannwhitneyu

    if min(len(first), len(second)) < max(fewest, FEWEST):
        return GroupAuroc(Estimate(value=None, n=len(first) + len(second), reason=reason), None)
    levels = np.unique([*first, *second])
    # On each level, and nobody on a level below all others and on one above.
    positive, negative = (
        np.bincount(np.searchsorted(levels, own) + 1, minlength=len(levels) + 2).astype(np.float64)
        for own in (first, second)
    )
    area = float(auroc_of_counts(positive, negative))
    low, high = measure_error(positive, negative).interval(area, floor=0.0)
    p_value = 1.0 if len(levels) == 1 else float(mannwhitneyu(first, second, alternative="two-sided").pvalue)
    return GroupAuroc(Estimate(value=area, low=float(low), high=float(high), n=len(first) + len(second)), p_value)
