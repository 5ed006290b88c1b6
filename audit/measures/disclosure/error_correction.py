"""Disclosure corrected for misclassification by the judge (docs/methods.md, section 5).

Owns which metrics are corrected, and their intervals; the simulation is that of statistics/misclassification.py, with
four classes. Knows nothing of texts or judges: it takes readings and the confusion matrix of labelled texts. The matrix
gives the error rates P(verdict | truth). The prevalence of each truth among the generations is estimated from
the generations themselves, apart for each arm and each status of the patients. Predictive values, P(truth | verdict),
read off the labelled set were rejected: they carry over only where the generations have the labelled set's mix of
classes.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.measures.disclosure.metrics import (
    OUTCOMES,
    ArmCounts,
    Counts,
    Metric,
    Reading,
    compute_metrics,
    count_outcomes,
    split_sides,
)
from clinaudit.audit.statistics.intervals import percentile_interval
from clinaudit.audit.statistics.misclassification import (
    JEFFREYS_PRIOR,
    draw_dirichlet,
    draw_error_rates,
    draw_truths,
    measure_separation,
)
from clinaudit.reports.schema.disclosure import CorrectedMetrics, CorrectedPair, Side, compared_sides
from clinaudit.reports.schema.judge import VERDICT_CLASSES, VerdictClass
from clinaudit.reports.schema.numbers import Estimate
from clinaudit.reports.schema.record import ARMS

CORRECTED_METRICS: Final[tuple[Metric, ...]] = ("auroc_all", "sensitivity", "ppv")
#: Simulations; each draws the matrix and the class prevalences anew.
DRAWS = 1000
#: Least separation of the judge's matrix, at its lower 95% limit, at which metrics are corrected (docs/methods.md,
#: section 5). Separation is from 0 to 1 (0: two mixes of truths give the same verdicts; 1: verdicts tell truths apart
#: fully; see `measure_separation`). Below the least one the truths can hardly be told from the verdicts.
MINIMUM_SEPARATION = 0.15
#: Which random stream of the seed draws the error rates, and which the metrics of each arm.
_ERRORS_STREAM: Final = 4
_TRAIN_STREAM: Final = 5
_NONTRAIN_STREAM: Final = 6
_EMPTY = "no generation of one of the groups was judged"
_NOT_IDENTIFIABLE = (
    "by the labelled texts the judge mistakes what is said too often, or too few texts were labelled to know how often:"
    " the true verdicts cannot be told from its own"
)


class _Corrected(NamedTuple):
    """Posterior draws by metric, `(draws,)` each: for the point estimate, and for the lower and the upper limit."""

    middle: Mapping[Metric, Counts]
    low: Mapping[Metric, Counts]
    high: Mapping[Metric, Counts]
    #: Generations behind them.
    judged: int


def correct_disclosure(
    readings: Sequence[Reading],
    confusion_matrix: Counts,
    *,
    seed: int,
    draws: int = DRAWS,
    sides: Collection[Side] = ARMS,
) -> CorrectedPair:
    """Return the corrected metrics of the sides compared of one (diagnosis, tier); see `correct_counts`."""
    by_side = split_sides(readings)
    beside = compared_sides(sides)[-1]
    train, other = (count_outcomes(by_side[side]) for side in ("train", beside))
    pair = correct_counts(train, other, confusion_matrix, seed=seed, draws=draws)
    return pair if beside == "nontrain" else pair.model_copy(update={"nontrain": None, "control": pair.nontrain})


def correct_counts(
    train: ArmCounts, nontrain: ArmCounts, confusion_matrix: Counts, *, seed: int, draws: int = DRAWS
) -> CorrectedPair:
    """Return the corrected metrics of two arms; the matrix counts texts, truth by verdict, `(4, 4)`.

    Every estimate is null with a reason where the matrix does not identify the truths.
    """
    # The same matrices for every arm, diagnosis and tier: there is one judge.
    errors = draw_error_rates(confusion_matrix, np.random.default_rng((seed, _ERRORS_STREAM)), draws)
    if percentile_interval(measure_separation(errors))[0] < MINIMUM_SEPARATION:
        nothing = _explain(_NOT_IDENTIFIABLE)
        return CorrectedPair(train=nothing, nontrain=nothing, delta=nothing)
    first, second = (
        _correct_arm(counts, errors, np.random.default_rng((seed, stream)))
        for counts, stream in ((train, _TRAIN_STREAM), (nontrain, _NONTRAIN_STREAM))
    )
    delta = None if first is None or second is None else _subtract(first, second)
    return CorrectedPair(train=_summarize(first), nontrain=_summarize(second), delta=_summarize(delta))


def _correct_arm(counts: ArmCounts, errors: Counts, rng: np.random.Generator) -> _Corrected | None:
    """Return one arm's corrected metrics; None where no generation of one of its groups was judged."""
    verdicts = np.array([_verdicts(group) for group in counts])
    sizes = verdicts.sum(axis=-1)
    if not sizes.all():
        return None
    truths = draw_truths(verdicts, errors, rng)

    def draw_metrics(added: Counts | float) -> dict[Metric, Counts]:
        prevalences = draw_dirichlet(truths + added, rng)
        # Expected counts at the drawn prevalences, so that PPV weighs the two groups as they are.
        present, absent = (_as_outcomes(prevalences[:, group] * sizes[group]) for group in range(2))
        values = compute_metrics(present, absent, prevalence=None)
        return {metric: values[metric] for metric in CORRECTED_METRICS}

    stated, denied = _one_of("positive"), _one_of("negative")
    # For the lower limit each group gets one extra generation that counts against the metric, for the upper limit one
    # that counts for it. These are the bounds of Walley's imprecise Dirichlet model (1996). For a share they are those
    # of Clopper and Pearson. Jeffreys' prior alone never reaches 0 or 1, and covers less often where generations are
    # few.
    return _Corrected(
        middle=draw_metrics(JEFFREYS_PRIOR),
        low=draw_metrics(np.array([denied, stated])),
        high=draw_metrics(np.array([stated, denied])),
        judged=int(sizes.sum()),
    )


def _subtract(train: _Corrected, nontrain: _Corrected) -> _Corrected:
    return _Corrected(
        middle={metric: train.middle[metric] - nontrain.middle[metric] for metric in CORRECTED_METRICS},
        low={metric: train.low[metric] - nontrain.high[metric] for metric in CORRECTED_METRICS},
        high={metric: train.high[metric] - nontrain.low[metric] for metric in CORRECTED_METRICS},
        judged=train.judged + nontrain.judged,
    )


def _one_of(verdict: VerdictClass) -> Counts:
    return np.array([float(name == verdict) for name in VERDICT_CLASSES])


def _verdicts(counts: Counts) -> Counts:
    """Return counts by `VERDICT_CLASSES` of counts by `OUTCOMES`; unjudged ones are left out, as in the raw metrics."""
    return counts[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]]


def _as_outcomes(counts: Counts) -> Counts:
    by_outcome = np.zeros((*counts.shape[:-1], len(OUTCOMES)))
    by_outcome[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]] = counts
    return by_outcome


def _summarize(corrected: _Corrected | None) -> CorrectedMetrics:
    if corrected is None:
        return _explain(_EMPTY)
    return CorrectedMetrics(**{metric: _describe(corrected, metric) for metric in CORRECTED_METRICS})


def _explain(reason: str) -> CorrectedMetrics:
    nothing = Estimate(value=None, reason=reason)
    return CorrectedMetrics(auroc_all=nothing, sensitivity=nothing, ppv=nothing)


def _describe(corrected: _Corrected, metric: Metric) -> Estimate:
    value = float(np.median(corrected.middle[metric]))
    low, high = percentile_interval(corrected.low[metric])[0], percentile_interval(corrected.high[metric])[1]
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=corrected.judged)
