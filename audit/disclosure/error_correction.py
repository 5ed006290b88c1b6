"""Disclosure with the judge's errors taken out: true verdicts simulated from its confusion matrix (docs/methods.md).

Owns the simulation. Knows nothing of texts or judges: it takes readings and a table of labelled texts. The matrix says
how often a judge gives each verdict *where the truth is known*, P(verdict | truth); how common each truth is among the
generations is estimated from the generations themselves, for each arm and each status of the patients apart. P(truth |
verdict) as it is in the labelled set was rejected: it holds only where the generations have the labelled set's mix.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.disclosure.metrics import OUTCOMES, Metric, compute_figures
from clinaudit.audit.disclosure.readings import Counts, Reading, count_outcomes, split_arms
from clinaudit.audit.statistics.intervals import percentile_interval
from clinaudit.reports.schema.estimate import Arm, Estimate
from clinaudit.reports.schema.judge import VERDICT_CLASSES, CorrectedMetrics, CorrectedPair, VerdictClass

CORRECTED_METRICS: Final[tuple[Metric, ...]] = ("auroc_all", "sensitivity", "ppv")
#: Simulations; each draws the matrix and the class prevalences anew.
DRAWS = 1000
#: Jeffreys' prior: half a text a cell of the matrix, half a generation a class.
JEFFREYS_PRIOR = 0.5
#: Steps towards the likeliest prevalences, from which the sampler starts, and of the sampler (data augmentation). Each
#: leaves about (1 - s²)² of the variance to come, s the separation: 30 leave 2% at 0.25. Coverage was tried down to the
#: limit below.
_CLIMBING_STEPS = 30
_SAMPLING_STEPS = 30
#: Least separation of the judge's matrix, at the lower 95% end, at which figures are corrected (docs/methods.md).
MINIMUM_SEPARATION = 0.15
_EMPTY = "no generation of one of the groups was judged"
_NOT_TOLD_APART = (
    "by the labelled texts the judge mistakes what is said too often, or too few texts were labelled to know how often:"
    " the true verdicts cannot be told from its own"
)


class _Corrected(NamedTuple):
    """Simulated figures by metric, `(draws,)` each: in the middle, and the two that the range's ends are read from."""

    middle: Mapping[Metric, Counts]
    low: Mapping[Metric, Counts]
    high: Mapping[Metric, Counts]
    #: Generations behind them.
    judged: int


def correct_disclosure(
    readings: Sequence[Reading], confusion_matrix: Counts, *, seed: int, draws: int = DRAWS
) -> CorrectedPair:
    """Return the corrected figures of one (diagnosis, tier); the matrix counts texts, truth by verdict, `(4, 4)`."""
    # The same matrices for every arm, diagnosis and tier: the judge is one.
    errors = draw_error_rates(confusion_matrix, np.random.default_rng((seed, 4)), draws)
    by_arm = split_arms(readings)
    if percentile_interval(separate_classes(errors))[0] < MINIMUM_SEPARATION:
        nothing = _explain(_NOT_TOLD_APART)
        return CorrectedPair(train=nothing, nontrain=nothing, delta=nothing)
    arms: tuple[tuple[Arm, int], ...] = (("train", 5), ("nontrain", 6))
    train, nontrain = (_correct_arm(by_arm[arm], errors, np.random.default_rng((seed, number))) for arm, number in arms)
    delta = None if train is None or nontrain is None else _subtract(train, nontrain)
    return CorrectedPair(train=_summarize(train), nontrain=_summarize(nontrain), delta=_summarize(delta))


def separate_classes(errors: Counts) -> Counts:
    """Return how far apart verdicts keep two mixes of truths without a class in common, at least: `(...,)`, 0 to 1.

    That is the least total variation distance of their verdicts; of two classes it is sensitivity + specificity - 1
    (Youden 1950). At 0 some two mixes give the same verdicts, and no number of generations tells which is true. A
    difference of verdicts goes back to one of truths by the inverse, which stretches most where it goes from one
    verdict to another alone.
    """
    inverse = np.linalg.inv(errors)
    stretches = np.abs(inverse[..., :, np.newaxis, :] - inverse[..., np.newaxis, :, :]).sum(axis=-1) / 2
    separation: Counts = 1 / stretches.max(axis=(-2, -1))
    return separation


def draw_error_rates(confusion_matrix: Counts, rng: np.random.Generator, draws: int) -> Counts:
    """Draw P(verdict | truth) from its posterior, a Dirichlet of each row's counts: `(draws, truth, verdict)`."""
    return _draw_dirichlet(np.broadcast_to(confusion_matrix + JEFFREYS_PRIOR, (draws, *confusion_matrix.shape)), rng)


def draw_truths(verdicts: Counts, errors: Counts, rng: np.random.Generator) -> Counts:
    """Draw the truths behind groups of generations, `(groups, verdict)` counts: `(draws, groups, truth)` counts.

    Each draw has its own matrix and its own Markov chain: given how common each truth is, Bayes' rule tells of each
    verdict which truths may stand behind it, and these are drawn; given the drawn truths, how common each is follows
    from its Dirichlet posterior. Verdicts teach nothing about the matrix (its posterior is that of the labelled texts
    alone).
    """
    whole = verdicts.astype(np.int64)
    size = whole.sum(axis=-1)[:, np.newaxis]
    classes = verdicts.shape[-1]
    prevalences = np.full((len(errors), *verdicts.shape), 1 / classes)
    for _ in range(_CLIMBING_STEPS):
        expected = (_origins(errors, prevalences) * whole[..., np.newaxis]).sum(axis=-2)
        prevalences = (expected + JEFFREYS_PRIOR) / (size + classes * JEFFREYS_PRIOR)
    truths = np.zeros_like(prevalences)
    for _ in range(_SAMPLING_STEPS):
        truths = rng.multinomial(whole, _origins(errors, prevalences)).sum(axis=-2).astype(np.float64)
        prevalences = _draw_dirichlet(truths + JEFFREYS_PRIOR, rng)
    return truths


def _origins(errors: Counts, prevalences: Counts) -> Counts:
    """Return P(truth | verdict) by Bayes' rule: `(draws, groups, verdict, truth)`."""
    joint = np.swapaxes(errors, -2, -1)[:, np.newaxis] * prevalences[..., np.newaxis, :]
    shares: Counts = joint / joint.sum(axis=-1, keepdims=True)
    return shares


def _draw_dirichlet(weights: Counts, rng: np.random.Generator) -> Counts:
    # Never 0, so that no quotient of a later step is 0 / 0.
    drawn = np.maximum(rng.standard_gamma(weights), 1e-200)
    shares: Counts = drawn / drawn.sum(axis=-1, keepdims=True)
    return shares


def _correct_arm(readings: Sequence[Reading], errors: Counts, rng: np.random.Generator) -> _Corrected | None:
    """Return one arm's corrected figures; None where no generation of one of its groups was judged."""
    verdicts = np.array([_verdicts(group) for group in count_outcomes(readings)])
    sizes = verdicts.sum(axis=-1)
    if not sizes.all():
        return None
    truths = draw_truths(verdicts, errors, rng)

    def draw_figures(added: Counts | float) -> dict[Metric, Counts]:
        prevalences = _draw_dirichlet(truths + added, rng)
        # Expected counts at the drawn prevalences, so that PPV weighs the two groups as they are.
        present, absent = (_as_outcomes(prevalences[:, group] * sizes[group]) for group in range(2))
        figures = compute_figures(present, absent, prevalence=None)
        return {metric: figures[metric] for metric in CORRECTED_METRICS}

    stated, denied = _one_of("positive"), _one_of("negative")
    # One generation more that speaks against the figure, or for it, in each group: Walley's bounds (1996), of a share
    # those of Clopper and Pearson. Jeffreys' prior alone never reaches 0 and misses the truth more often in few.
    return _Corrected(
        middle=draw_figures(JEFFREYS_PRIOR),
        low=draw_figures(np.array([denied, stated])),
        high=draw_figures(np.array([stated, denied])),
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
    """Return counts by `VERDICT_CLASSES` of counts by `OUTCOMES`; unjudged ones are left out, as in the raw figures."""
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
