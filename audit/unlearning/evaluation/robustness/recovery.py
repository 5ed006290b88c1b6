"""How much of what a model was made to forget comes back, of what it had lost (docs/unlearning-scores.md).

Owns the ratio, when it is none, and its interval. Knows nothing of what was done to the model meanwhile: it is the same
ratio for a few steps of training and for rounded weights.
"""

from typing import Final

import numpy as np

from clinaudit.audit.statistics.intervals import interval_of_resamples, newcombe_difference, wider_of
from clinaudit.audit.unlearning.metrics.answer_means import (
    Places,
    Values,
    change_of_answers,
    resampled_means,
)
from clinaudit.reports.schema.numbers import Estimate

NOT_SCORED: Final = "no answer of this group has it each time"
NOTHING_LOST: Final = "the model had lost nothing of it against the baseline"
NO_BASELINE: Final = "the baseline was not evaluated"
NO_REFERENCE: Final = "no reference retrained without these patients was evaluated"


def recovery(before: Values, after: Values, baseline: Values, patients: Places, *, seed: int) -> Estimate:
    """Return (after - before) / (baseline - before), of means over the same answers: 1 where all is back, 0 where none.

    One value an answer each, not a number where it has none; an answer counts where it has all three. Below 0 the model
    lost more, above 1 it says more than the baseline. None where the baseline's mean is not above the one before: there
    is nothing that could come back.

    The interval unites the bootstrap over patients of the ratio with the interval of the gain over the observed loss.
    It is none where over 1% of the resamples have lost nothing: too few patients tell that anything was lost.
    """
    before, after, baseline = _where_all_are(before, after, baseline)
    gain = change_of_answers(before, after, patients, seed=seed, reason=NOT_SCORED)
    interval = (gain.low, gain.high)
    return _over_loss(after - before, interval, baseline - before, patients, seed=seed)


def recovery_beyond(
    tried: tuple[Values, Values], reference: tuple[Values, Values], baseline: Values, patients: Places, *, seed: int
) -> Estimate:
    """Return the recovery less what the same trial gave to a reference that never saw these patients.

    `tried` and `reference` are (before, after). The reference's gain is no memory: the form of the answers, say, is
    learned by anybody. It is subtracted from the model's gain, and the rest divided by what the model had lost:
    ((after - before) - (reference after - reference before)) / (baseline - before). The interval is as that of
    `recovery`; that of the difference of both gains is theirs joined by square-and-add.
    """
    before, after, knew, *other = _where_all_are(*tried, baseline, *reference)
    gain = change_of_answers(before, after, patients, seed=seed, reason=NOT_SCORED)
    theirs = change_of_answers(other[0], other[1], patients, seed=seed, reason=NOT_SCORED)
    interval = (None, None) if gain.value is None else newcombe_difference(gain, theirs)
    return _over_loss((after - before) - (other[1] - other[0]), interval, knew - before, patients, seed=seed)


def _where_all_are(*columns: Values) -> list[Values]:
    """Return the columns without what stands beside a gap in another."""
    has = np.isfinite(np.stack(columns)).all(axis=0)
    return [np.where(has, column, np.nan) for column in columns]


def _over_loss(
    gain: Values, interval: tuple[float | None, float | None], lost: Values, patients: Places, *, seed: int
) -> Estimate:
    """Return the mean gain over the mean loss; `interval` is that of the mean gain."""
    has = np.isfinite(lost)
    count = int(has.sum())
    if not count:
        return Estimate(value=None, n=0, reason=NOT_SCORED)
    mean_lost = float(lost[has].mean())
    if mean_lost <= 0:
        return Estimate(value=None, n=count, reason=NOTHING_LOST)
    value = float(gain[has].mean()) / mean_lost
    resampled = resampled_means([gain, lost], patients, seed=seed)
    of_resamples = interval_of_resamples(_ratio(resampled[:, 0], resampled[:, 1]))
    if of_resamples is None or interval[0] is None or interval[1] is None:
        return Estimate(value=value, n=count)
    low, high = wider_of(of_resamples, (interval[0] / mean_lost, interval[1] / mean_lost))
    return Estimate(value=value, low=low, high=high, n=count)


def _ratio(gain: Values, lost: Values) -> Values:
    ratio: Values = np.divide(gain, lost, out=np.full(gain.shape, np.nan), where=lost > 0)
    return ratio
