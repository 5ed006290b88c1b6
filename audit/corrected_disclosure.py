"""Disclosure with the judge's errors taken out: true verdicts simulated from its confusion matrix (docs/methods.md).

Owns the simulation. Knows nothing of texts or judges: it takes readings and a table of labelled texts. The matrix says
how often a judge gives each verdict *where the truth is known*, P(verdict | truth); how common each truth is among the
generations is estimated from the generations themselves, for each arm and each status of the patients apart. P(truth |
verdict) as it is in the labelled set was rejected: it holds only where the generations have the labelled set's mix.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from clinaudit.audit.exposure import OUTCOMES, Metric, compute_figures
from clinaudit.audit.intervals import percentile_interval
from clinaudit.audit.readings import Counts, Reading, count_outcomes, split_arms
from clinaudit.reports.judge_quality import VERDICT_CLASSES, CorrectedFigures, CorrectedPair
from clinaudit.reports.results import Estimate

METRICS: Final[tuple[Metric, ...]] = ("auroc_all", "sensitivity", "ppv")
#: Simulations; each draws the matrix and the class prevalences anew.
DRAWS = 1000
#: Jeffreys' prior: half a text a cell of the matrix, half a generation a class.
JEFFREYS_PRIOR = 0.5
#: Steps towards the likeliest prevalences, from which the sampler starts, and of the sampler (data augmentation):
#: twice as many moved no end of a delta's range by more than 0.004 at 100 a cell and 0.015 at 10 (8,000 draws).
_CLIMBING_STEPS = 30
_SAMPLING_STEPS = 12

_EMPTY = "no generation of one of the groups was judged"


class _Corrected(NamedTuple):
    """Simulated figures by metric, `(draws,)` each, and the number of generations behind them."""

    drawn: Mapping[Metric, Counts]
    judged: int


def correct_disclosure(readings: Sequence[Reading], confusion_matrix: Counts, *, seed: int) -> CorrectedPair:
    """Return the corrected figures of one (diagnosis, tier); the matrix counts texts, truth by verdict, `(4, 4)`."""
    # The same matrices for every arm, diagnosis and tier: the judge is one.
    errors = draw_error_rates(confusion_matrix, np.random.default_rng((seed, 4)), DRAWS)
    by_arm = split_arms(readings)
    train = _correct_arm(by_arm["train"], errors, np.random.default_rng((seed, 5)))
    nontrain = _correct_arm(by_arm["nontrain"], errors, np.random.default_rng((seed, 6)))
    delta = None
    if train is not None and nontrain is not None:
        differences = {metric: train.drawn[metric] - nontrain.drawn[metric] for metric in METRICS}
        delta = _Corrected(differences, train.judged + nontrain.judged)
    return CorrectedPair(train=_summarize(train), nontrain=_summarize(nontrain), delta=_summarize(delta))


def draw_error_rates(confusion_matrix: Counts, rng: np.random.Generator, draws: int) -> Counts:
    """Draw P(verdict | truth) from its posterior, a Dirichlet of each row's counts: `(draws, truth, verdict)`."""
    return _draw_dirichlet(np.broadcast_to(confusion_matrix + JEFFREYS_PRIOR, (draws, *confusion_matrix.shape)), rng)


def draw_class_prevalences(verdicts: Counts, errors: Counts, rng: np.random.Generator) -> Counts:
    """Draw how common each truth is in groups of generations, `(groups, verdict)` counts: `(draws, groups, truth)`.

    Each draw has its own matrix and its own Markov chain: given the prevalences, Bayes' rule tells of each verdict
    which truths may stand behind it, and these are drawn; given the drawn truths, prevalences are drawn from their
    Dirichlet posterior. Verdicts teach nothing about the matrix (its posterior is that of the labelled texts alone).
    """
    whole = verdicts.astype(np.int64)
    size = whole.sum(axis=-1)[:, np.newaxis]
    classes = verdicts.shape[-1]
    prevalences = np.full((len(errors), *verdicts.shape), 1 / classes)
    for _ in range(_CLIMBING_STEPS):
        expected = (_origins(errors, prevalences) * whole[..., np.newaxis]).sum(axis=-2)
        prevalences = (expected + JEFFREYS_PRIOR) / (size + classes * JEFFREYS_PRIOR)
    for _ in range(_SAMPLING_STEPS):
        truths = rng.multinomial(whole, _origins(errors, prevalences)).sum(axis=-2)
        prevalences = _draw_dirichlet(truths + JEFFREYS_PRIOR, rng)
    return prevalences


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
    prevalences = draw_class_prevalences(verdicts, errors, rng)
    # Expected counts at the drawn prevalences, so that PPV weighs the two groups as they are.
    present, absent = (_as_outcomes(prevalences[:, group] * sizes[group]) for group in range(2))
    figures = compute_figures(present, absent, prevalence=None)
    return _Corrected({metric: figures[metric] for metric in METRICS}, int(sizes.sum()))


def _verdicts(counts: Counts) -> Counts:
    """Return counts by `VERDICT_CLASSES` of counts by `OUTCOMES`; unjudged ones are left out, as in the raw figures."""
    return counts[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]]


def _as_outcomes(counts: Counts) -> Counts:
    by_outcome = np.zeros((*counts.shape[:-1], len(OUTCOMES)))
    by_outcome[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]] = counts
    return by_outcome


def _summarize(corrected: _Corrected | None) -> CorrectedFigures:
    if corrected is None:
        nothing = Estimate(value=None, reason=_EMPTY)
        return CorrectedFigures(auroc_all=nothing, sensitivity=nothing, ppv=nothing)
    return CorrectedFigures(**{metric: _describe(corrected.drawn[metric], corrected.judged) for metric in METRICS})


def _describe(drawn: Counts, judged: int) -> Estimate:
    low, high = percentile_interval(drawn)
    return Estimate(value=float(np.median(drawn)), low=low, high=high, n=judged)
