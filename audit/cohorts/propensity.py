"""Propensity scores (Rosenbaum and Rubin 1983): P(first of two groups), by logistic regression on z-scored covariates.

Owns the scaling and the model, which the matchers and the overlap share. Knows nothing of diagnoses or arms: rows of
covariates in, one score a row out. scikit-learn is imported where it is used.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: `(patients, covariates)` of one group.
Covariates = NDArray[np.float64]
#: `(patients,)`.
Scores = NDArray[np.float64]


class Propensity(NamedTuple):
    """Each row's probability of being in the first group, and its logit, by group."""

    first: Scores
    second: Scores
    first_logit: Scores
    second_logit: Scores


def standardize(first: Covariates, second: Covariates) -> tuple[Covariates, Covariates]:
    """Return z-scores over both groups together; a constant covariate stays 0.

    Both users depend on a covariate's unit: the model penalizes coefficients (L2), and distances add covariates up.
    """
    both = np.vstack([first, second])
    spread = both.std(axis=0)
    scaled: Covariates = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled[: len(first)], scaled[len(first) :]


def fit_propensity(first: Covariates, second: Covariates) -> Propensity:
    """Return the propensities of two standardized groups: L2-penalized logistic regression, psmpy's solver."""
    from sklearn.linear_model import LogisticRegression

    both = np.vstack([first, second])
    model = LogisticRegression(solver="liblinear").fit(both, np.arange(len(both)) < len(first))
    scores, logits = model.predict_proba(both)[:, 1], model.decision_function(both)
    return Propensity(scores[: len(first)], scores[len(first) :], logits[: len(first)], logits[len(first) :])
