"""Inter-rater agreement beyond chance: Cohen's kappa and Krippendorff's alpha, both for nominal classes.

Owns formulas on contingency tables: one rater's classes in the rows, the other's in the columns; and alpha of any
number of ratings of each text. Knows nothing of judges: one rater may be the truth. A text that either rater could not
rate is not in the table.
"""

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.statistics.intervals import RESAMPLES, divide_or_nan, interval_of_resamples, wilson
from clinaudit.reports.schema.judge import Agreement
from clinaudit.reports.schema.numbers import Estimate

Table = NDArray[np.float64]
_ONE_CLASS = "both raters gave one and the same class throughout, so that chance cannot be told from agreement"
_NO_INTERVAL = "too few texts bear on it for an interval, or every resample gives the same"


def cohen_kappa(tables: Table) -> Table:
    """Return kappa (Cohen 1960) of `(..., k, k)` counts as `(...)`; NaN where both raters use one class only.

    (p - e) / (1 - e): p is the observed agreement, e the agreement expected of independent raters with these margins.
    """
    count = tables.sum(axis=(-2, -1))
    alike = np.trace(tables, axis1=-2, axis2=-1)
    by_chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
    # Multiplied by count² throughout, which keeps whole numbers whole.
    return divide_or_nan(count * alike - by_chance, count**2 - by_chance)


def krippendorff_alpha(tables: Table) -> Table:
    """Return nominal alpha (Krippendorff 2011) of `(..., k, k)` counts as `(...)`; NaN where one class is used.

    1 - observed / expected disagreement. The 2 N ratings are pooled: alpha takes the raters to be exchangeable.
    """
    return _alpha_of_coincidences(tables + np.swapaxes(tables, -2, -1))


def _alpha_of_coincidences(coincidences: Table) -> Table:
    """Return alpha of `(..., k, k)` coincidences: ordered pairs of ratings of a text, which sum to its ratings."""
    totals = coincidences.sum(axis=-1)
    ratings = totals.sum(axis=-1)
    observed = ratings - np.trace(coincidences, axis1=-2, axis2=-1)
    expected = ratings**2 - (totals**2).sum(axis=-1)
    return 1 - divide_or_nan((ratings - 1) * observed, expected)


def measure_agreement(table: Table, *, seed: int) -> Agreement:
    """Return the agreement of two raters, `(k, k)` counts, with 95% intervals.

    Wilson's score interval for the observed agreement; the percentile bootstrap over texts for kappa and alpha.
    """
    table = np.asarray(table, dtype=np.float64)
    count = int(table.sum())
    share = wilson(int(np.trace(table)), count)
    if not count:
        nothing = Estimate(value=None, n=0, reason="there was nothing to count")
        return Agreement(agreement=share, kappa=nothing, alpha=nothing)
    rng = np.random.default_rng((seed, 3))
    drawn = rng.multinomial(count, (table / count).ravel(), size=RESAMPLES).reshape(-1, *table.shape)
    resampled = drawn.astype(np.float64)
    return Agreement(
        agreement=share,
        kappa=_estimate(float(cohen_kappa(table)), cohen_kappa(resampled), count),
        alpha=_estimate(float(krippendorff_alpha(table)), krippendorff_alpha(resampled), count),
    )


def measure_alpha(ratings: Table, *, seed: int) -> Estimate:
    """Return Krippendorff's alpha of `(texts, k)` counts of the ratings of each text by class, with its 95% interval.

    A text with one rating or none says nothing of agreement and is left out; `n` counts the others. The interval is the
    percentile bootstrap over texts.
    """
    ratings = np.asarray(ratings, dtype=np.float64)
    ratings = ratings[ratings.sum(axis=1) > 1]
    count = len(ratings)
    if not count:
        return Estimate(value=None, n=0, reason="there was nothing to count")
    kinds, of_kind = np.unique(ratings, axis=0, return_counts=True)
    pairs = kinds[:, :, None] * kinds[:, None, :] - kinds[:, :, None] * np.eye(kinds.shape[1])
    pairs /= (kinds.sum(axis=1) - 1)[:, None, None]
    drawn = np.random.default_rng((seed, 4)).multinomial(count, of_kind / count, size=RESAMPLES)
    coincidences = (np.asarray(np.tensordot(texts, pairs, axes=1), dtype=np.float64) for texts in (of_kind, drawn))
    value, resampled = map(_alpha_of_coincidences, coincidences)
    return _estimate(float(value), resampled, count)


def _estimate(value: float, resampled: Table, count: int) -> Estimate:
    if np.isnan(value):
        return Estimate(value=None, n=count, reason=_ONE_CLASS)
    interval = interval_of_resamples(resampled)
    if interval is None or interval[0] == interval[1]:
        return Estimate(value=value, n=count, reason=_NO_INTERVAL)
    return Estimate(value=value, low=interval[0], high=interval[1], n=count)
