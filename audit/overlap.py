"""Where the propensities of patients with and without a diagnosis overlap, before and after matching.

Owns the model of an arm's candidates and the bins. Knows nothing of diagnoses or how patients were matched. Bins are
cut at deciles of the candidates with the diagnosis: where it is rare, bins of equal width would hold all in one.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from clinaudit.reports.patient_groups import OverlapBin
from clinaudit.reports.results import Arm

#: `(patients, covariates)` of one cell.
Covariates = NDArray[np.float64]

_BINS: Final = 10
#: Edges are rounded to as many places: an edge is a patient's propensity, or lies between two.
_EDGE_PLACES: Final = 3
#: By arm: the cells with and without the diagnosis, as `clinaudit.audit.balance` numbers them.
_ARMS: Final[tuple[tuple[Arm, int, int], ...]] = (("train", 0, 1), ("nontrain", 2, 3))


def describe_overlap(candidates: Sequence[Covariates], chosen: Sequence[Sequence[int]]) -> list[OverlapBin]:
    """Return the bins of both arms; `candidates` by cell, at least one each, and the rows of them that were matched."""
    described = []
    for arm, positive, negative in _ARMS:
        scores = _fit_propensity(candidates[positive], candidates[negative])
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


def _fit_propensity(positive: Covariates, negative: Covariates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each row's propensity of having the diagnosis: logistic on z-scores, as the matchers fit it."""
    from sklearn.linear_model import LogisticRegression

    both = np.vstack([positive, negative])
    spread = both.std(axis=0)
    scaled = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1)
    has = np.arange(len(both)) < len(positive)
    scores = LogisticRegression(solver="liblinear").fit(scaled, has).predict_proba(scaled)[:, 1]
    return scores[: len(positive)], scores[len(positive) :]
