"""The AUROC of a number without a scale of its own, such as a loss, between two groups, with its interval and test.

Owns how numbers become score levels, for auroc.py and auroc_error.py. Knows nothing of what the numbers are.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.statistics.auroc import Counts, auroc_of_counts
from clinaudit.audit.statistics.auroc_error import measure_error
from clinaudit.reports.exact.estimate import Estimate

#: In a group; below, there is no variance.
FEWEST: Final = 2


class GroupAuroc(NamedTuple):
    """How far a number tells two groups apart."""

    #: The probability that one of the first group has more of it than one of the second; `n` counts both groups.
    auroc: Estimate
    #: Two-sided, against groups that are alike; None where `auroc` is null.
    p_value: float | None


def auroc_of_values(first: Sequence[float], second: Sequence[float], *, fewest: int, reason: str) -> GroupAuroc:
    """Return Mann-Whitney's AUROC, ties counting half, with DeLong's interval and the test against chance.

    Null with the reason where a group has fewer than `fewest` (two at least) numbers. In the interval each class has
    two pseudo-patients, one below all numbers and one above: so few that are told apart perfectly make no certainty.
    The test is Mann and Whitney's (1947): exact where a group has at most eight and none tie, else the normal
    approximation with its correction for ties. It asks whether the groups could be one, and so may show a difference
    where the interval still holds 0.5.
    """
    from scipy.stats import mannwhitneyu

    if min(len(first), len(second)) < max(fewest, FEWEST):
        return GroupAuroc(Estimate(value=None, n=len(first) + len(second), reason=reason), None)
    levels = np.unique([*first, *second])
    positive, negative = (_count(own, levels) for own in (first, second))
    area = float(auroc_of_counts(positive, negative))
    error = measure_error(positive, negative)
    low, high = error.interval(area, floor=0.0)
    has_one_level = len(levels) == 1
    p_value = 1.0 if has_one_level else float(mannwhitneyu(first, second, alternative="two-sided").pvalue)
    return GroupAuroc(Estimate(value=area, low=float(low), high=float(high), n=len(first) + len(second)), p_value)


def _count(values: Sequence[float], levels: Counts) -> Counts:
    """Return how many stand on each level, and nobody on a level below all others and on one above."""
    counts = np.zeros(len(levels) + 2)
    np.add.at(counts, np.searchsorted(levels, values) + 1, 1)
    return counts
