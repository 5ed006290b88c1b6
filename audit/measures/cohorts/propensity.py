"""Propensity scores (Rosenbaum and Rubin 1983), and the overlap of those with and without a diagnosis.

P(first of two groups) by logistic regression on z-scored covariates, which the matchers share. Common support
(positivity): propensities before and after matching, in bins cut at deciles of the candidates with the diagnosis: where
it is rare, one bin of equal width would hold all of them (docs/methods.md, section 4). Knows nothing of diagnoses or of
how patients were matched. scikit-learn is imported where it is used.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.schema.corpus import OverlapBin
from clinaudit.reports.schema.record import Arm

#: `(patients, covariates)` of one group.
Covariates = NDArray[np.float64]
#: `(patients,)`.
Scores = NDArray[np.float64]
_BINS: Final = 10
#: Decimal places that edges are rounded to (privacy): an unrounded edge is a patient's propensity, or lies between two.
_EDGE_PLACES: Final = 3
#: By arm: the cells with and without the diagnosis, as `clinaudit.audit.measures.cohorts.balance` numbers them.
_ARMS: Final[tuple[tuple[Arm, int, int], ...]] = (("train", 0, 1), ("nontrain", 2, 3))


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


def describe_overlap(candidates: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> list[OverlapBin]:
    """Return the bins of both arms, counted for candidates and for the matched.

    `candidates` are the covariates by cell, at least one row each; `chosen` the rows of them that were matched.
    """
    described = []
    for arm, positive, negative in _ARMS:
        model = fit_propensity(*standardize(candidates[positive], candidates[negative]))
        scores = (model.first, model.second)
        edges = np.quantile(scores[0], np.linspace(0, 1, _BINS + 1)).round(_EDGE_PLACES)
        edges = np.unique([0.0, *edges[1:-1], 1.0])
        matched = (scores[0][list(chosen[positive])], scores[1][list(chosen[negative])])
        counts = [np.histogram(values, edges)[0].tolist() for values in (*scores, *matched)]
        for low, high, *of_bin in zip(edges[:-1], edges[1:], *counts, strict=True):
            described.append(
                OverlapBin(
                    arm=arm,
                    low=float(low),
                    high=float(high),
                    positive_candidates=of_bin[0],
                    negative_candidates=of_bin[1],
                    positive_matched=of_bin[2],
                    negative_matched=of_bin[3],
                )
            )
    return described
