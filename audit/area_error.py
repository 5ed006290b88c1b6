"""The error of an AUROC, and of the difference of two: DeLong's variance with Student's t (contract, section 5).

Owns intervals, the one-sided test and the smallest difference that would have shown. Knows nothing of verdicts, arms or
diagnoses: tables of scores as in `clinaudit.audit.auroc`, one row a patient.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from clinaudit.audit.auroc import Table, class_variances, smoothed_auroc
from clinaudit.audit.intervals import ALPHA

#: Chance of showing a difference, at which the smallest one is given.
POWER = 0.8
#: Level of the one-sided test.
TEST_LEVEL = 0.05


class AreaError(NamedTuple):
    """The error of an AUROC, or of a difference of two."""

    variance: float
    #: Degrees of freedom that the variance was estimated with.
    freedom: float
    #: The AUROC (or difference) of the smoothed classes: between the figure itself and chance.
    smoothed: float

    @property
    def standard(self) -> float:
        """The standard error."""
        return float(np.sqrt(self.variance))

    def interval(self, value: float, *, floor: float) -> tuple[float, float]:
        """Return the 95% interval of the figure `value`, cut at `floor` and 1: around it and around the smoothed one.

        Smoothing draws few patients towards chance; an interval around either alone misses the truth more often on one
        side. With 100 patients a class the two are within 0.01 of each other.
        """
        half = float(stdtrit(self.freedom, 1 - ALPHA / 2)) * self.standard
        low, high = min(value, self.smoothed), max(value, self.smoothed)
        return max(floor, low - half), min(1.0, high + half)

    def p_value(self, difference: float) -> float:
        """Return the one-sided p-value that a difference is above 0."""
        return float(stdtr(self.freedom, -difference / self.standard))

    def detectable(self, *, level: float = TEST_LEVEL) -> float:
        """Return the smallest true difference that the test at `level` would have shown with a chance of 80%."""
        points = float(stdtrit(self.freedom, 1 - level)) + float(stdtrit(self.freedom, POWER))
        return points * self.standard


def measure_error(positive: Table, negative: Table) -> AreaError:
    """Return the error of the AUROC of those patients who have a generation in these tables.

    The variance is smoothed (`smoothed_delong_variance`). It is itself estimated, from few patients where cells are
    small, so that the normal distribution's 1.96 would hold the truth less often than it says: in 91.7% at 10 patients
    a class. Hence Student's t with Welch and Satterthwaite's degrees of freedom; from 100 patients on they agree.
    """
    positive, negative = (table[table.sum(axis=1) > 0] for table in (positive, negative))
    parts = class_variances(positive, negative, smoothed=True)
    smoothed = smoothed_auroc(positive, negative)
    return _pool(parts, [max(1, len(table) - 1) for table in (positive, negative)], smoothed)


def difference_error(first: AreaError, second: AreaError) -> AreaError:
    """Return the error of the difference of two independent AUROCs."""
    parts = (first.variance, second.variance)
    return _pool(parts, [first.freedom, second.freedom], first.smoothed - second.smoothed)


def _pool(variances: Sequence[float], freedoms: Sequence[float], smoothed: float) -> AreaError:
    """Add up independent variances, with Welch and Satterthwaite's degrees of freedom (1946)."""
    variance = sum(variances)
    freedom = variance**2 / sum(part**2 / of for part, of in zip(variances, freedoms, strict=True))
    return AreaError(variance, freedom, smoothed)
