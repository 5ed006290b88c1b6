"""Disclosure with the judge's errors taken out: true verdicts simulated from its confusion matrix (docs/methods.md).

Owns the simulation. Knows nothing of texts or judges: it takes readings and a table of labelled texts. The matrix says
how often a judge gives each verdict *where the truth is known*, P(verdict | truth); how common each truth is among the
generations is estimated from the generations themselves, for each arm and each status of the patients apart. P(truth |
verdict) as it is in the labelled set was rejected: it holds only where the generations have the labelled set's mix.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.audit.exposure import OUTCOMES, Metric, compute_figures
from clinaudit.audit.intervals import percentile_interval
from clinaudit.audit.leakage import Reading, tabulate
from clinaudit.reports.judge_quality import VERDICT_CLASSES, CorrectedFigures, CorrectedPair
from clinaudit.reports.results import Arm, Estimate

Counts = NDArray[np.float64]

METRICS: Final[tuple[Metric, ...]] = ("auroc_all", "sensitivity", "ppv")
#: Simulations; each draws the matrix and the mixes anew.
DRAWS = 1000
#: Jeffreys' prior: half a text a cell of the matrix, half a generation a class of a mix.
PRIOR = 0.5
#: Steps towards the likeliest mix, from which the sampler starts, and of the sampler (data augmentation).
_CLIMBING_STEPS = 30
_SAMPLING_STEPS = 12

_CLUSTERED = "a patient has several generations, which the correction does not handle"
_EMPTY = "no generation of one of the groups was judged"


def correct_disclosure(
    readings: Sequence[Reading], error_table: Counts, *, has_nontrain: bool, seed: int, draws: int = DRAWS
) -> CorrectedPair:
    """Return the corrected figures of one (diagnosis, tier); `error_table` counts texts, truth by verdict, `(4, 4)`."""
    # The same matrices for every arm, diagnosis and tier: the judge is one.
    errors = draw_error_rates(error_table, np.random.default_rng((seed, 4)), draws)
    train = _correct_arm("train", readings, errors, np.random.default_rng((seed, 5)))
    if not has_nontrain:
        return CorrectedPair(train=_summarize(train), nontrain=None, delta=None)
    nontrain = _correct_arm("nontrain", readings, errors, np.random.default_rng((seed, 6)))
    delta: str | dict[Metric, Counts]
    if isinstance(train, str) or isinstance(nontrain, str):
        delta = train if isinstance(train, str) else str(nontrain)
    else:
        delta = {metric: train[metric] - nontrain[metric] for metric in METRICS}
    return CorrectedPair(train=_summarize(train), nontrain=_summarize(nontrain), delta=_summarize(delta))


def draw_error_rates(error_table: Counts, rng: np.random.Generator, draws: int) -> Counts:
    """Draw P(verdict | truth) from its posterior, a Dirichlet of each row's counts: `(draws, truth, verdict)`."""
    return _draw_dirichlet(np.broadcast_to(error_table + PRIOR, (draws, *error_table.shape)), rng)


def draw_mixes(verdicts: Counts, errors: Counts, rng: np.random.Generator) -> Counts:
    """Draw how common each truth is in groups of generations, `(groups, verdict)` counts: `(draws, groups, truth)`.

    Each draw has its own matrix and its own Markov chain: given a mix, Bayes' rule tells of each verdict which truths
    may stand behind it, and these are drawn; given the drawn truths, a mix is drawn from its Dirichlet posterior. The
    verdicts teach nothing about the matrix (its posterior is that of the labelled texts alone).
    """
    whole = verdicts.astype(np.int64)
    size = whole.sum(axis=-1)[:, np.newaxis]
    classes = verdicts.shape[-1]
    mix = np.full((len(errors), *verdicts.shape), 1 / classes)
    for _ in range(_CLIMBING_STEPS):
        expected = (_origins(errors, mix) * whole[..., np.newaxis]).sum(axis=-2)
        mix = (expected + PRIOR) / (size + classes * PRIOR)
    for _ in range(_SAMPLING_STEPS):
        truths = rng.multinomial(whole, _origins(errors, mix)).sum(axis=-2)
        mix = _draw_dirichlet(truths + PRIOR, rng)
    return mix


def _origins(errors: Counts, mix: Counts) -> Counts:
    """Return P(truth | verdict) by Bayes' rule: `(draws, groups, verdict, truth)`."""
    joint = np.swapaxes(errors, -2, -1)[:, np.newaxis] * mix[..., np.newaxis, :]
    shares: Counts = joint / joint.sum(axis=-1, keepdims=True)
    return shares


def _draw_dirichlet(weights: Counts, rng: np.random.Generator) -> Counts:
    # Never 0, so that no quotient of a later step is 0 / 0.
    drawn = np.maximum(rng.standard_gamma(weights), 1e-200)
    shares: Counts = drawn / drawn.sum(axis=-1, keepdims=True)
    return shares


def _correct_arm(
    arm: Arm, readings: Sequence[Reading], errors: Counts, rng: np.random.Generator
) -> str | dict[Metric, Counts]:
    """Return `(draws,)` values a metric, or why there are none."""
    tables = tabulate([reading for reading in readings if reading.arm == arm])
    if not tables.has_one_generation_each:
        return _CLUSTERED
    verdicts = np.array([_verdicts(group) for group in tables.totals])
    sizes = verdicts.sum(axis=-1)
    if not sizes.all():
        return _EMPTY
    mixes = draw_mixes(verdicts, errors, rng)
    # Expected counts at the drawn mixes, so that PPV weighs the two groups as they are.
    present, absent = (_as_outcomes(mixes[:, group] * sizes[group]) for group in range(2))
    figures = compute_figures(present, absent, prevalence=None)
    return {metric: figures[metric] for metric in METRICS}


def _verdicts(counts: Counts) -> Counts:
    """Return counts by `VERDICT_CLASSES` of counts by `OUTCOMES`; unjudged ones are left out, as in the raw figures."""
    return counts[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]]


def _as_outcomes(counts: Counts) -> Counts:
    by_outcome = np.zeros((*counts.shape[:-1], len(OUTCOMES)))
    by_outcome[..., [OUTCOMES.index(verdict) for verdict in VERDICT_CLASSES]] = counts
    return by_outcome


def _summarize(figures: str | Mapping[Metric, Counts]) -> CorrectedFigures:
    if isinstance(figures, str):
        nothing = Estimate(value=None, reason=figures)
        return CorrectedFigures(auroc_all=nothing, sensitivity=nothing, ppv=nothing)
    return CorrectedFigures(**{metric: _describe(figures[metric]) for metric in METRICS})


def _describe(drawn: Counts) -> Estimate:
    low, high = percentile_interval(drawn)
    return Estimate(value=float(np.median(drawn)), low=low, high=high)
