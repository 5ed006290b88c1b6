"""Misclassification: the true classes behind verdicts that err, drawn by Bayesian data augmentation (docs/methods.md).

This is Rogan and Gladen's problem (1978), prevalence from an imperfect test, with any number of classes. The true
classes are latent; they are drawn from their posterior by a Gibbs sampler (data augmentation, Tanner and Wong 1987).

Owns the simulation. Knows nothing of what errs: a judge that reads texts, or a detector of identifiers.
"""

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.float64]

#: Jeffreys' prior, Dirichlet(½, …): half a text a cell of the matrix, half a generation a class.
JEFFREYS_PRIOR = 0.5
#: EM steps (with the posterior mean in place of the mode), from whose prevalences the Gibbs sampler starts, and steps
#: of the sampler: its burn-in. Each leaves about (1 - s²)² of the variance to come, s the separation: 30 leave 2% at
#: 0.25. Coverage was tried down to a separation of 0.15.
_EM_STEPS = 30
_SAMPLING_STEPS = 30


def measure_separation(errors: Counts) -> Counts:
    """Return the separation of each matrix: `(..., truth, verdict)` rates to `(...,)`, 0 to 1.

    It is the least total variation distance between the verdicts of two mixes of truths that share no class; of two
    classes it is Youden's J (1950), sensitivity + specificity - 1. At 0 two mixes give the same verdicts: the truths
    are not identifiable, however many generations there are. The inverse of the matrix maps a difference of verdicts to
    one of truths. It stretches a difference most that moves all its weight from one verdict to one other. Raises
    numpy's `LinAlgError` on a singular matrix.
    """
    inverse = np.linalg.inv(errors)
    stretches = np.abs(inverse[..., :, np.newaxis, :] - inverse[..., np.newaxis, :, :]).sum(axis=-1) / 2
    separation: Counts = 1 / stretches.max(axis=(-2, -1))
    return separation


def draw_error_rates(confusion_matrix: Counts, rng: np.random.Generator, draws: int) -> Counts:
    """Draw P(verdict | truth) from its posterior, a Dirichlet of each row's counts: `(draws, truth, verdict)`."""
    return draw_dirichlet(np.broadcast_to(confusion_matrix + JEFFREYS_PRIOR, (draws, *confusion_matrix.shape)), rng)


def draw_truths(verdicts: Counts, errors: Counts, rng: np.random.Generator) -> Counts:
    """Draw the true classes of groups of generations: `(groups, verdict)` counts to `(draws, groups, truth)` counts.

    Data augmentation (Tanner and Wong 1987). Each draw has its own matrix and its own Markov chain, which alternates
    two steps. Given the prevalences, the truths behind each verdict are drawn by Bayes' rule. Given the truths, the
    prevalences are drawn from their Dirichlet posterior. The matrix is drawn from the posterior of the labelled texts
    alone: verdicts of the run do not update it (a cut posterior).
    """
    whole = verdicts.astype(np.int64)
    size = whole.sum(axis=-1)[:, np.newaxis]
    classes = verdicts.shape[-1]
    prevalences = np.full((len(errors), *verdicts.shape), 1 / classes)
    for _ in range(_EM_STEPS):
        expected = (_truths_given_verdicts(errors, prevalences) * whole[..., np.newaxis]).sum(axis=-2)
        prevalences = (expected + JEFFREYS_PRIOR) / (size + classes * JEFFREYS_PRIOR)
    truths = np.zeros_like(prevalences)
    for _ in range(_SAMPLING_STEPS):
        truths = rng.multinomial(whole, _truths_given_verdicts(errors, prevalences)).sum(axis=-2).astype(np.float64)
        prevalences = draw_dirichlet(truths + JEFFREYS_PRIOR, rng)
    return truths


def _truths_given_verdicts(errors: Counts, prevalences: Counts) -> Counts:
    """Return P(truth | verdict) by Bayes' rule: `(draws, groups, verdict, truth)`."""
    joint = np.swapaxes(errors, -2, -1)[:, np.newaxis] * prevalences[..., np.newaxis, :]
    shares: Counts = joint / joint.sum(axis=-1, keepdims=True)
    return shares


def draw_dirichlet(weights: Counts, rng: np.random.Generator) -> Counts:
    """Draw shares of classes from Dirichlets of `weights`, along the last axis; none is ever 0."""
    # Never 0, so that no quotient of a later step is 0 / 0.
    drawn = np.maximum(rng.standard_gamma(weights), 1e-200)
    shares: Counts = drawn / drawn.sum(axis=-1, keepdims=True)
    return shares
