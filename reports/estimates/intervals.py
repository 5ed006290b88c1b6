"""The 95% interval of a share of patients, and of a mean over patients of values from 0 to 1."""

from typing import Final

import scipy

#: Probability outside a two-sided interval.
ALPHA: Final = 0.05
#: Ends of an interval.
Ends = tuple[float, float]


def beta_bounds(total: float, of: int) -> Ends:
    """Return the ends of the interval of `total / of`: the Beta quantiles of Clopper and Pearson (1934).

    `total` is a number of patients, or the sum of a value from 0 to 1 over them. Of a sum the quantiles are those at
    the sum: simulated on twelve shapes at 40 to 500 patients they hold the mean in at least 96% of samples
    (docs/methods.md, section 7). Raises `ValueError` where `total` lies outside 0 to `of`, or `of` is 0.

    Example::

        beta_bounds(0, 130)  # (0.0, 0.028)
    """
    if not 0 <= total <= of or not of:
        raise ValueError("a total lies outside 0 to the number of patients")
    # The library loads this part when it is first named: no command waits for it before its work.
    low = 0.0 if total == 0 else float(scipy.special.betaincinv(total, of - total + 1, ALPHA / 2))
    high = 1.0 if total == of else float(scipy.special.betaincinv(total + 1, of - total, 1 - ALPHA / 2))
    return low, high
