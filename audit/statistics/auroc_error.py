"""Error of an AUROC, and of the difference of two: DeLong's variance with Student's t (docs/methods.md, section 5).

Owns intervals, the one-sided test and the minimal detectable difference (power). Knows nothing of verdicts, arms or
diagnoses. It takes counts by score level as `clinaudit.audit.statistics.auroc` does, and is vectorized over leading
axes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from clinaudit.audit.statistics.auroc import Counts, add_pseudo_patients, auroc_of_counts, delong_variances
from clinaudit.audit.statistics.intervals import ALPHA

#: Numbers of any shape; of one cohort, a single number.
Values = NDArray[np.float64]
#: Power at which the minimal detectable difference is given: the probability that the test shows it.
POWER = 0.8
#: Significance level of the one-sided test.
TEST_LEVEL = 0.05


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

        Smoothing shrinks few patients' AUROC towards chance. An interval around either alone would miss the truth more
        often on one side. With 100 patients a class the two are within 0.01 of each other.
        """
        half = stdtrit(self.degrees_of_freedom, 1 - ALPHA / 2) * self.standard
        low, high = np.minimum(value, self.smoothed), np.maximum(value, self.smoothed)
        return np.maximum(floor, low - half), np.minimum(1.0, high + half)

    def p_value(self, difference: Values | float) -> Values:
        """Return the one-sided p-value against the null hypothesis that the difference is not above 0."""
        p_values: Values = np.asarray(stdtr(self.degrees_of_freedom, -difference / self.standard))
        return p_values

    def minimum_detectable_difference(self) -> Values:
        """Return the smallest true difference that the one-sided test at 5% would have shown with a power of 80%."""
        points = stdtrit(self.degrees_of_freedom, 1 - TEST_LEVEL) + stdtrit(self.degrees_of_freedom, POWER)
        difference: Values = np.asarray(points * self.standard)
        return difference


def measure_error(positive: Counts, negative: Counts) -> AurocError:
    """Return the error of the AUROC of patients counted by score level, `(..., levels)` each.

    The variance is that of the classes with pseudo-patients. It is itself estimated, from few patients where cells are
    small, so that the normal distribution's 1.96 would hold the truth less often than it says: in 91.7% at 10 patients
    a class. Hence Student's t with Welch and Satterthwaite's degrees of freedom; from 100 patients on they agree.
    """
    smoothed = add_pseudo_patients(positive), add_pseudo_patients(negative)
    degrees = [np.maximum(1, counts.sum(axis=-1) - 1) for counts in (positive, negative)]
    return _pool(delong_variances(*smoothed), degrees, auroc_of_counts(*smoothed))


def difference_error(first: AurocError, second: AurocError) -> AurocError:
    """Return the error of the difference of two independent AUROCs."""
    parts = (first.variance, second.variance)
    return _pool(parts, [first.degrees_of_freedom, second.degrees_of_freedom], first.smoothed - second.smoothed)


def _pool(variances: Sequence[Values], degrees_of_freedom: Sequence[Values], smoothed: Values) -> AurocError:
    """Add up independent variances, with Welch and Satterthwaite's degrees of freedom (1946)."""
    variance = sum(variances[1:], variances[0])
    terms = [part**2 / of for part, of in zip(variances, degrees_of_freedom, strict=True)]
    return AurocError(variance, variance**2 / sum(terms[1:], terms[0]), smoothed)
